#include "variants/row_kernel.hpp"

namespace softmax_dispatch::variants {

const Variant& v10() {
  static const RowKernel variant({
      .id = "v10",
      .summary = "one warp per row, the row in registers",
      .needs = "N <= 128 * VEC_ITEMS + 3; 4 * VEC_ITEMS + 1 floats fit the registers",
      .scans = 1,
      .complexity = 7,
      .owner = RowOwner::warp,
      .capacity = Capacity::vectors,
      .capacity_most = 32,
      .row_in_registers = true,
      .accurate_elements_per_thread = 4 * kLongestChain,
  });
  return variant;
}

}  // namespace softmax_dispatch::variants
