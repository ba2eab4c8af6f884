#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace softmax_dispatch::verify {

/// One row of each of the first `rows` inputs at one length, with its reference. The rows of every matrix of that
/// length are drawn from it, whatever M is.
struct Samples {
  std::int64_t N = 0;
  std::int64_t rows = 0;
  std::vector<float> x;     ///< rows x N
  std::vector<double> ref;  ///< rows x N
};

/// Made once and kept, since many kernels are verified at the same lengths. Thread-safe.
std::shared_ptr<const Samples> samples(std::int64_t N, std::int64_t rows);

/// Forgets what was not used for longest until at most `bytes` are kept.
void trim_samples(std::size_t bytes);

}  // namespace softmax_dispatch::verify
