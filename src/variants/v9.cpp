#include "variants/row_kernel.hpp"

namespace softmax_dispatch::variants {

const Variant& v9() {
  static const RowKernel variant({
      .id = "v9",
      .summary = "blocks that walk over rows, grid tuned",
      .needs = "N <= 4 * VEC_ITEMS * THREADS + 3",
      .scans = 2,
      .complexity = 11,
      .owner = RowOwner::grid_walk,
      .capacity = Capacity::vectors,
      .capacity_most = 48,
      .accurate_elements_per_thread = kLongestChain,
  });
  return variant;
}

}  // namespace softmax_dispatch::variants
