#include "variants/row_kernel.hpp"

namespace softmax_dispatch::variants {

const Variant& v4_branchy() {
  static const RowKernel variant({
      .id = "v4_branchy",
      .summary = "control of v4_opt: its update as a branch, so that warps diverge",
      .needs = "N < 2^31; measured, never chosen",
      .scans = 2,
      .complexity = 4,
      .owner = RowOwner::block,
      .selectable = false,
      .accurate_elements_per_thread = kLongestChain,
  });
  return variant;
}

}  // namespace softmax_dispatch::variants
