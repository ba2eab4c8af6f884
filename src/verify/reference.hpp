#pragma once

#include <cstddef>
#include <cstdint>
#include <softmax_dispatch/problem.hpp>
#include <span>
#include <string>
#include <vector>

namespace softmax_dispatch::verify {

/// Softmax of each row in FP64, stable: subtract the maximum, exponentiate, divide by the sum. x and the result are
/// row-major M x N. Values follow PyTorch: a row with NaN or +inf, or of -inf alone, is all NaN.
std::vector<double> reference(std::span<const float> x, std::int64_t M, std::int64_t N);

/// How far an output is from the reference.
struct Comparison {
  bool pass = true;
  std::string reason;      ///< The first element or row that fails: row, column, got, expected, tolerance.
  double worst_error = 0;  ///< Largest |error| / tolerance over all elements; NaN counts as infinite.
};

/// The pass rule for FP32, over all rows: |err| <= 4e-6 * ref * (1 + (max - x) / 32) + 1e-37, each row sums to 1 within
/// 1e-5, NaN exactly where the reference has it; with `published`, |err| <= 1e-6 as well. Relative to the reference, so
/// that it is as sharp for a row of a million as for a row of eight.
Comparison compare(std::span<const float> x, std::span<const float> y, std::span<const double> ref, std::int64_t M,
                   std::int64_t N, bool published);

/// The same for one row; the reason names the column alone.
Comparison compare_row(std::span<const float> x, std::span<const float> y, std::span<const double> ref, bool published);

/// The pass rule for a 16-bit type, for one row: each element at most one unit in the last place from `right`, the
/// correctly rounded reference, counted in the order of bit patterns, so that subnormal results are held to it too; NaN
/// exactly where `right` has it. `y` is the row's elements in memory. The reason names the column alone; worst_error is
/// in units.
Comparison compare_row(DType dtype, std::span<const std::byte> y, std::span<const std::uint16_t> right);

}  // namespace softmax_dispatch::verify
