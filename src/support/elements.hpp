#pragma once

#include <cstddef>
#include <cstdint>
#include <softmax_dispatch/problem.hpp>
#include <span>
#include <vector>

/// Elements of matrices on the host: what the bits of f16 (IEEE binary16) and bf16 (the upper half of an FP32) stand
/// for.
namespace softmax_dispatch {

/// The 16-bit value nearest to `value`, ties to even: infinite beyond the largest finite one, a quiet NaN for NaN.
/// `dtype` is f16 or bf16.
std::uint16_t round_to(DType dtype, double value) noexcept;

/// What the bits stand for, exactly.
float value_of(DType dtype, std::uint16_t bits) noexcept;

/// The place of the bits in the order of the type's values: neighbours differ by 1, both zeros are 0. Not for NaN.
inline int order_of(std::uint16_t bits) noexcept {
  return (bits & 0x8000) != 0 ? -(bits & 0x7fff) : bits;
}

bool is_nan(DType dtype, std::uint16_t bits) noexcept;

/// The largest finite value.
float largest(DType dtype) noexcept;

/// The values as the type holds them: nearest, but a finite one stays finite. f32 holds every value.
float held_by(DType dtype, float value) noexcept;

/// Values as elements in memory, each rounded to the type.
std::vector<std::byte> to_elements(DType dtype, std::span<const float> values);
/// The values of elements in memory; a whole number of them.
std::vector<float> to_values(DType dtype, std::span<const std::byte> elements);

}  // namespace softmax_dispatch
