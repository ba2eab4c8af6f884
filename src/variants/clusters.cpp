#include "variants/part_kernel.hpp"

namespace softmax_dispatch::variants {

const Variant& clusters() {
  static const PartKernel variant({
      .id = "clusters",
      .summary = "a row over the blocks of a cluster, one exchange through distributed shared memory",
      .needs = "sm_90; N below 1 + PARTS * THREADS * (VEC_ITEMS + SHARED_ITEMS) vectors",
      .complexity = 14,
      .exchange = Exchange::cluster,
      .most_parts = 16,
  });
  return variant;
}

}  // namespace softmax_dispatch::variants
