#include "variants/vector_kernel.hpp"

namespace softmax_dispatch::variants {

const Variant& tile() {
  static const VectorKernel variant({
      .id = "tile",
      .summary = "rows of any alignment as one run of vectors through shared memory",
      .needs = "N <= LANES * ITEMS; TILE_ROWS such rows fit the shared memory",
      .complexity = 8,
      .place = RowPlace::tile,
  });
  return variant;
}

}  // namespace softmax_dispatch::variants
