#include "variants/vector_kernel.hpp"

namespace softmax_dispatch::variants {

const Variant& lanes() {
  static const VectorKernel variant({
      .id = "lanes",
      .summary = "some lanes of a warp per row, several rows each, no barrier",
      .needs = "N below 1 + LANES * VEC_ITEMS vectors",
      .complexity = 5,
      .place = RowPlace::lanes,
  });
  return variant;
}

}  // namespace softmax_dispatch::variants
