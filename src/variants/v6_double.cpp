#include "variants/row_kernel.hpp"

namespace softmax_dispatch::variants {

const Variant& v6_double() {
  static const RowKernel variant({
      .id = "v6_double",
      .summary = "16-byte accesses in both scans",
      .needs = "N <= 4 * VEC_ITEMS * THREADS + 3",
      .scans = 2,
      .complexity = 8,
      .owner = RowOwner::block,
      .capacity = Capacity::vectors,
      .capacity_most = 48,
      .accurate_elements_per_thread = 4 * kLongestChain,
  });
  return variant;
}

}  // namespace softmax_dispatch::variants
