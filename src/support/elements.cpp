#include "support/elements.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace softmax_dispatch {
namespace {

/// How a 16-bit type splits its bits.
struct Format {
  int fraction_bits = 0;
  int least_exponent = 0;  ///< Of a normal number.
  std::uint16_t infinity = 0;
};

constexpr Format format_of(DType dtype) {
  return dtype == DType::f16 ? Format{10, -14, 0x7c00} : Format{7, -126, 0x7f80};
}

}  // namespace

std::uint16_t round_to(DType dtype, double value) noexcept {
  constexpr int kFractionBits = 52, kBias = 1023;
  const Format format = format_of(dtype);
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 63 << 15);
  if (std::isnan(value)) return sign | format.infinity | static_cast<std::uint16_t>(1 << (format.fraction_bits - 1));
  if (std::isinf(value)) return sign | format.infinity;
  const int exponent = static_cast<int>(bits >> kFractionBits & 0x7ff) - kBias;
  const bool subnormal = exponent < format.least_exponent;
  // The value in units of the type's last place is the significand shifted right.
  const int shift = kFractionBits - format.fraction_bits + (subnormal ? format.least_exponent - exponent : 0);
  if (shift > kFractionBits + 2) return sign;  // less than half a unit
  const std::uint64_t significand = (bits & ((std::uint64_t{1} << kFractionBits) - 1)) | std::uint64_t{1}
                                                                                             << kFractionBits;
  const std::uint64_t odd = significand >> shift & 1;
  const std::uint64_t units = (significand + (std::uint64_t{1} << (shift - 1)) - 1 + odd) >> shift;
  // A carry out of the fraction counts the exponent up, and out of the largest number gives infinity.
  const std::uint64_t below =
      subnormal ? 0 : static_cast<std::uint64_t>(exponent - format.least_exponent) << format.fraction_bits;
  const std::uint64_t magnitude = below + units;
  return sign | (magnitude >= format.infinity ? format.infinity : static_cast<std::uint16_t>(magnitude));
}

float value_of(DType dtype, std::uint16_t bits) noexcept {
  if (dtype == DType::bf16) return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  const float sign = (bits & 0x8000) != 0 ? -1.0f : 1.0f;
  const int exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
  if (exponent == 0x1f) return fraction == 0 ? sign * std::numeric_limits<float>::infinity() : std::nanf("");
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
  // The same number with the exponent of FP32.
  return std::bit_cast<float>((static_cast<std::uint32_t>(bits & 0x8000) << 16) |
                              static_cast<std::uint32_t>(exponent + 112) << 23 |
                              static_cast<std::uint32_t>(fraction) << 13);
}

bool is_nan(DType dtype, std::uint16_t bits) noexcept {
  return (bits & 0x7fff) > format_of(dtype).infinity;
}

float largest(DType dtype) noexcept {
  if (dtype == DType::f32) return std::numeric_limits<float>::max();
  return value_of(dtype, static_cast<std::uint16_t>(format_of(dtype).infinity - 1));
}

float held_by(DType dtype, float value) noexcept {
  if (dtype == DType::f32) return value;
  const float rounded = value_of(dtype, round_to(dtype, value));
  return std::isinf(rounded) && std::isfinite(value) ? std::copysign(largest(dtype), value) : rounded;
}

std::vector<std::byte> to_elements(DType dtype, std::span<const float> values) {
  if (dtype == DType::f32) {
    const auto bytes = std::as_bytes(values);
    return {bytes.begin(), bytes.end()};
  }
  std::vector<std::byte> result(values.size() * sizeof(std::uint16_t));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint16_t bits = round_to(dtype, values[i]);
    std::memcpy(result.data() + i * sizeof bits, &bits, sizeof bits);
  }
  return result;
}

std::vector<float> to_values(DType dtype, std::span<const std::byte> elements) {
  std::vector<float> result(elements.size() / size_of(dtype));
  if (dtype == DType::f32) {
    std::memcpy(result.data(), elements.data(), result.size() * sizeof(float));
    return result;
  }
  for (std::size_t i = 0; i < result.size(); ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, elements.data() + i * sizeof bits, sizeof bits);
    result[i] = value_of(dtype, bits);
  }
  return result;
}

}  // namespace softmax_dispatch
