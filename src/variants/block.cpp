#include "variants/vector_kernel.hpp"

namespace softmax_dispatch::variants {

const Variant& block() {
  static const VectorKernel variant({
      .id = "block",
      .summary = "one exponential per element and one barrier per row, the next row loaded ahead",
      .needs = "N <= THREADS * VEC_ITEMS vectors",
      .complexity = 6,
      .place = RowPlace::block,
  });
  return variant;
}

}  // namespace softmax_dispatch::variants
