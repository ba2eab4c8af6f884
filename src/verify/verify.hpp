#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "variants/variant.hpp"

namespace softmax_dispatch::verify {

/// Raised whenever the suite changes what it covers, so that older records count as missing.
inline constexpr int kSuite = 2;

struct Shape {
  std::int64_t M = 0, N = 0;
  friend bool operator==(const Shape&, const Shape&) = default;
};

/// How much to run. `full` is what a table's record needs; `brief` is the first-use check of a dispatcher in somebody's
/// process: the same rules on fewer shapes and inputs, within about a tenth of a second.
enum class Depth { brief, full };

/// The shapes the suite launches for a kernel with these constants, up to rows of N_to elements: every boundary of its
/// constants and its neighbours, N = 1..5 and N mod 4, M = 1 and values that don't fill the last block. On a simulated
/// device kernels with many blocks for a row get fewer rows.
std::vector<Shape> shapes(const Variant& variant, DType dtype, const Constants& constants, std::int64_t N_to,
                          Depth depth, bool simulated = false);

struct Outcome {
  bool passed = false;
  std::string reason;      ///< Why not: input, shape, placement (aligned, misaligned, in place), and what differed.
  std::int64_t cases = 0;  ///< Launches checked.
  std::int64_t N_to = 0;   ///< Rows up to this length are covered.
  double worst_error = 0;  ///< Largest error over its tolerance.
};

/// Runs the suite on the device: all inputs, shapes(), aligned and misaligned bases, in place, poisoned output, guard
/// bytes on both sides of input and output, the input left unchanged, the same bits on a second run. Stops at the first
/// failure. Device errors are not caught: after one the context is lost. `before_case` is told each case before it is
/// launched.
Outcome run(Device& device, const Variant& variant, DType dtype, const Constants& constants, const LoadedKernel& kernel,
            Depth depth, const std::function<void(const std::string&)>& before_case = {});

}  // namespace softmax_dispatch::verify
