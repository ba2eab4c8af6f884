#include "variants/row_kernel.hpp"

namespace softmax_dispatch::variants {

const Variant& v8() {
  static const RowKernel variant({
      .id = "v8",
      .summary = "one warp per row, no shared memory",
      .needs = "N < 2^31",
      .scans = 2,
      .complexity = 6,
      .owner = RowOwner::warp,
      .accurate_elements_per_thread = kLongestChain,
  });
  return variant;
}

}  // namespace softmax_dispatch::variants
