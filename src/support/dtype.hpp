#pragma once

#include <array>
#include <optional>
#include <softmax_dispatch/problem.hpp>
#include <string_view>

namespace softmax_dispatch {

/// Every element type, in the order of their numbers.
inline constexpr std::array kDTypes{DType::f32, DType::f16, DType::bf16};

/// The type of that name; none for any other text.
inline std::optional<DType> dtype_of(std::string_view name) noexcept {
  for (const DType dtype : kDTypes)
    if (name == to_string(dtype)) return dtype;
  return std::nullopt;
}

}  // namespace softmax_dispatch
