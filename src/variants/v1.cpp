#include "variants/row_kernel.hpp"

namespace softmax_dispatch::variants {

const Variant& v1() {
  static const RowKernel variant({
      .id = "v1",
      .summary = "shared-memory tree reductions",
      .needs = "THREADS a power of two; N < 2^31",
      .scans = 3,
      .complexity = 1,
      .owner = RowOwner::block,
      .threads_power_of_two = true,
      .accurate_elements_per_thread = kLongestChain,
  });
  return variant;
}

}  // namespace softmax_dispatch::variants
