#include "variants/part_kernel.hpp"

namespace softmax_dispatch::variants {

const Variant& map_merge() {
  static const PartKernel variant({
      .id = "map_merge",
      .summary = "a row over blocks in two launches, the second reads it from the caches",
      .needs = "N below 2^31 - 2^20; M * PARTS slots of workspace",
      .scans = 2,
      .complexity = 13,
      .exchange = Exchange::launches,
      .most_parts = 1024,
  });
  return variant;
}

}  // namespace softmax_dispatch::variants
