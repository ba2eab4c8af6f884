#include "variants/part_kernel.hpp"

namespace softmax_dispatch::variants {

const Variant& block() {
  static const PartKernel variant({
      .id = "block",
      .summary = "the row held by one block, one exponential or two per element, one barrier",
      .needs = "N <= THREADS * (VEC_ITEMS + SHARED_ITEMS) vectors",
      .complexity = 6,
      .exchange = Exchange::none,
  });
  return variant;
}

}  // namespace softmax_dispatch::variants
