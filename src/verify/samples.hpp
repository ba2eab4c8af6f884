#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <softmax_dispatch/problem.hpp>
#include <span>
#include <vector>

namespace softmax_dispatch::verify {

/// One row of each of the first `rows` inputs at one length, with its reference. The rows of every matrix of that
/// length are drawn from it, whatever M is.
struct Samples {
  DType dtype = DType::f32;
  std::int64_t N = 0;
  std::int64_t rows = 0;
  // Of f32, rows x N.
  std::vector<float> x;
  std::vector<double> ref;
  // Of a 16-bit type, rows x N.
  std::vector<std::byte> elements;   ///< The input: its values rounded to the type.
  std::vector<std::uint16_t> right;  ///< The reference of these, rounded once.

  /// The row's input as elements in memory.
  std::span<const std::byte> row(std::int64_t index) const;
};

/// Made once and kept, since many kernels are verified at the same lengths. Thread-safe.
std::shared_ptr<const Samples> samples(DType dtype, std::int64_t N, std::int64_t rows);

/// Forgets what was not used for longest until at most `bytes` are kept.
void trim_samples(std::size_t bytes);

}  // namespace softmax_dispatch::verify
