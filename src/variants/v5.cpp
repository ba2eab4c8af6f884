#include "variants/row_kernel.hpp"

namespace softmax_dispatch::variants {

const Variant& v5() {
  static const RowKernel variant({
      .id = "v5",
      .summary = "online states merged by shuffles",
      .needs = "N < 2^31",
      .scans = 2,
      .complexity = 6,
      .owner = RowOwner::block,
      .accurate_elements_per_thread = kLongestChain,
  });
  return variant;
}

}  // namespace softmax_dispatch::variants
