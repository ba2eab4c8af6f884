#include "variants/row_kernel.hpp"

namespace softmax_dispatch::variants {

const Variant& v6_fetch() {
  static const RowKernel variant({
      .id = "v6_fetch",
      .summary = "v6_double with the next load issued before the current vector is used",
      .needs = "N <= 4 * VEC_ITEMS * THREADS + 3",
      .scans = 2,
      .complexity = 9,
      .owner = RowOwner::block,
      .capacity = Capacity::vectors,
      .capacity_most = 48,
      .accurate_elements_per_thread = 4 * kLongestChain,
  });
  return variant;
}

}  // namespace softmax_dispatch::variants
