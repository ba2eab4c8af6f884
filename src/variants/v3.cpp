#include "variants/row_kernel.hpp"

namespace softmax_dispatch::variants {

const Variant& v3() {
  static const RowKernel variant({
      .id = "v3",
      .summary = "the row in registers, scalar loads",
      .needs = "N <= ITEMS * THREADS; ITEMS floats fit the registers",
      .scans = 1,
      .complexity = 3,
      .owner = RowOwner::block,
      .capacity = Capacity::items,
      .capacity_most = 128,
      .row_in_registers = true,
      .accurate_elements_per_thread = 4 * kLongestChain,
  });
  return variant;
}

}  // namespace softmax_dispatch::variants
