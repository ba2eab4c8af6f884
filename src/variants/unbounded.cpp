#include "support/dtype.hpp"
#include "variants/row_kernel.hpp"

namespace softmax_dispatch::variants {

const Variant& unbounded() {
  static const RowKernel variant({
      .id = "unbounded",
      .summary = "any M and N: compensated sum, 64-bit indices, peeled to 16-byte loads",
      .needs = "nothing",
      .dtypes = {kDTypes.begin(), kDTypes.end()},
      .scans = 2,
      .complexity = 12,
      .owner = RowOwner::grid_walk,
      .wide_index = true,
      .accurate_elements_per_thread = kUnbounded,
  });
  return variant;
}

}  // namespace softmax_dispatch::variants
