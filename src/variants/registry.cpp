#include "variants/registry.hpp"

#include <algorithm>

#include "support/error.hpp"
#include "support/text.hpp"

// One line per variant: SOFTMAX_DISPATCH_VARIANT(id). kernels_src/<id>.cu and src/variants/<id>.cpp are its other two
// places.
#define SOFTMAX_DISPATCH_VARIANTS      \
  SOFTMAX_DISPATCH_VARIANT(v1)         \
  SOFTMAX_DISPATCH_VARIANT(v2)         \
  SOFTMAX_DISPATCH_VARIANT(v3)         \
  SOFTMAX_DISPATCH_VARIANT(v4)         \
  SOFTMAX_DISPATCH_VARIANT(v4_branchy) \
  SOFTMAX_DISPATCH_VARIANT(v4_opt)     \
  SOFTMAX_DISPATCH_VARIANT(v5)         \
  SOFTMAX_DISPATCH_VARIANT(v6)         \
  SOFTMAX_DISPATCH_VARIANT(v6_double)  \
  SOFTMAX_DISPATCH_VARIANT(v6_fetch)   \
  SOFTMAX_DISPATCH_VARIANT(v7)         \
  SOFTMAX_DISPATCH_VARIANT(v8)         \
  SOFTMAX_DISPATCH_VARIANT(v9)         \
  SOFTMAX_DISPATCH_VARIANT(v10)        \
  SOFTMAX_DISPATCH_VARIANT(unbounded)  \
  SOFTMAX_DISPATCH_VARIANT(lanes)      \
  SOFTMAX_DISPATCH_VARIANT(tile)       \
  SOFTMAX_DISPATCH_VARIANT(held)       \
  SOFTMAX_DISPATCH_VARIANT(clusters)   \
  SOFTMAX_DISPATCH_VARIANT(split)      \
  SOFTMAX_DISPATCH_VARIANT(ring)       \
  SOFTMAX_DISPATCH_VARIANT(map_merge)

namespace softmax_dispatch {

#define SOFTMAX_DISPATCH_VARIANT(id) const Variant& id();
namespace variants {
SOFTMAX_DISPATCH_VARIANTS
}  // namespace variants
#undef SOFTMAX_DISPATCH_VARIANT

const Variant* Registry::find(std::string_view id) const noexcept {
  const auto found = std::find_if(variants_.begin(), variants_.end(), [id](const Variant* v) { return v->id() == id; });
  return found == variants_.end() ? nullptr : *found;
}

const Variant& Registry::at(std::string_view id) const {
  if (const Variant* variant = find(id)) return *variant;
  std::vector<std::string> ids;
  for (const Variant* variant : variants_) ids.emplace_back(variant->id());
  throw_error(StatusCode::invalid_argument, "there is no variant '{}': it must be one of {}", id, join(ids, ", "));
}

const Registry& registry() {
#define SOFTMAX_DISPATCH_VARIANT(id) &variants::id(),
  static const Registry instance({SOFTMAX_DISPATCH_VARIANTS});
#undef SOFTMAX_DISPATCH_VARIANT
  return instance;
}

const Variant& unbounded_variant() {
  for (const Variant* variant : registry().all()) {
    if (variant->serves_every_shape()) return *variant;
  }
  throw_error(StatusCode::internal, "no registered variant serves every shape");
}

}  // namespace softmax_dispatch
