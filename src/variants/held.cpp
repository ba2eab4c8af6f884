#include "variants/part_kernel.hpp"

namespace softmax_dispatch::variants {

const Variant& held() {
  static const PartKernel variant({
      .id = "held",
      .summary = "one block per row, held as it was loaded: many rows on their way at once",
      .needs = "N below 1 + THREADS * (VEC_ITEMS + SHARED_ITEMS) vectors",
      .complexity = 9,
      .exchange = Exchange::none,
  });
  return variant;
}

}  // namespace softmax_dispatch::variants
