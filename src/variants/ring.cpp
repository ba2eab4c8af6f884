#include "variants/part_kernel.hpp"

namespace softmax_dispatch::variants {

const Variant& ring() {
  static const PartKernel variant({
      .id = "ring",
      .summary = "parts of many long rows on their way through shared memory at once",
      .needs = "sm_90, cooperative launches; N <= GRID * STAGES * THREADS * VEC_ITEMS vectors",
      .complexity = 16,
      .exchange = Exchange::ring,
      .most_parts = 256,
  });
  return variant;
}

}  // namespace softmax_dispatch::variants
