#include "variants/part_kernel.hpp"

namespace softmax_dispatch::variants {

const Variant& split() {
  static const PartKernel variant({
      .id = "split",
      .summary = "a row over blocks anywhere on the device, one exchange through global memory",
      .needs = "cooperative launches; N below 1 + PARTS * THREADS * (VEC_ITEMS + SHARED_ITEMS) vectors",
      .complexity = 15,
      .exchange = Exchange::slots,
      .most_parts = 256,
  });
  return variant;
}

}  // namespace softmax_dispatch::variants
