#include "variants/row_kernel.hpp"

namespace softmax_dispatch::variants {

const Variant& v7() {
  static const RowKernel variant({
      .id = "v7",
      .summary = "the row in registers, 16-byte loads",
      .needs = "N <= 4 * VEC_ITEMS * THREADS + 3; 4 * VEC_ITEMS + 1 floats fit the registers",
      .scans = 1,
      .complexity = 10,
      .owner = RowOwner::block,
      .capacity = Capacity::vectors,
      .capacity_most = 32,
      .row_in_registers = true,
      .accurate_elements_per_thread = 4 * kLongestChain,
  });
  return variant;
}

}  // namespace softmax_dispatch::variants
