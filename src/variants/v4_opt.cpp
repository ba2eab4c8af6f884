#include "variants/row_kernel.hpp"

namespace softmax_dispatch::variants {

const Variant& v4_opt() {
  static const RowKernel variant({
      .id = "v4_opt",
      .summary = "online softmax, one exponential per element",
      .needs = "N < 2^31",
      .scans = 2,
      .complexity = 5,
      .owner = RowOwner::block,
      .accurate_elements_per_thread = kLongestChain,
  });
  return variant;
}

}  // namespace softmax_dispatch::variants
