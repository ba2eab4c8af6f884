#include "variants/row_kernel.hpp"

namespace softmax_dispatch::variants {

const Variant& v6() {
  static const RowKernel variant({
      .id = "v6",
      .summary = "16-byte loads in the first scan",
      .needs = "N <= 4 * VEC_ITEMS * THREADS + 3",
      .scans = 2,
      .complexity = 7,
      .owner = RowOwner::block,
      .capacity = Capacity::vectors,
      .capacity_most = 48,
      .accurate_elements_per_thread = 4 * kLongestChain,
  });
  return variant;
}

}  // namespace softmax_dispatch::variants
