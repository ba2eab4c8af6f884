#pragma once

#include <string_view>
#include <vector>

#include "variants/variant.hpp"

namespace softmax_dispatch {

/// A list of variants. The product's is registry(); tests make their own.
class Registry {
 public:
  explicit Registry(std::vector<const Variant*> variants) : variants_(std::move(variants)) {}

  const std::vector<const Variant*>& all() const noexcept { return variants_; }
  /// Null where there is no such variant.
  const Variant* find(std::string_view id) const noexcept;
  /// Throws Error(invalid_argument) with the ids there are.
  const Variant& at(std::string_view id) const;

 private:
  std::vector<const Variant*> variants_;
};

/// Every variant of the product, in the order of their numbers.
const Registry& registry();

/// The first variant without an upper bound on M or N, which answers every shape.
const Variant& unbounded_variant();

}  // namespace softmax_dispatch
