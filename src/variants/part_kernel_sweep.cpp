// What a sweep tries of the kernels that take a row in parts.
#include <algorithm>

#include "support/error.hpp"
#include "variants/axes.hpp"
#include "variants/part_kernel.hpp"

namespace softmax_dispatch {

bool PartKernel::worthwhile_block(DType dtype, const Constants& constants) const {
  const std::int64_t threads = value_of(constants, "THREADS");
  const std::int64_t in_registers = value_of(constants, "VEC_ITEMS");
  const std::int64_t in_shared = value_of(constants, "SHARED_ITEMS");
  if (threads < 64) return false;
  // Shared memory is for what the registers hold too little of.
  constexpr std::int64_t kLongRowBytes = 1 << 14, kMostBeside = 4;
  const std::int64_t bytes = threads * (in_registers + in_shared) * 16;
  if (in_shared > 0 && (bytes < kLongRowBytes || in_registers > kMostBeside)) return false;
  // Few threads that hold much, or many that hold little, where half as much would do.
  return in_registers > 1 || in_shared > 0 || threads <= 512 || dtype == DType::f32;
}

/// False where another configuration serves the same rows at least as well, by the measurements on an H200.
bool PartKernel::worthwhile(DType dtype, const Constants& constants, const Target& target) const {
  const std::int64_t threads = value_of(constants, "THREADS");
  const std::int64_t parts = this->parts(constants);
  const std::int64_t items = value_of(constants, "VEC_ITEMS");
  const std::int64_t shared = has("SHARED_ITEMS") ? value_of(constants, "SHARED_ITEMS") : 0;
  constexpr std::int64_t kMostElements = 64;  // of a thread
  if ((items + shared) * vector_elements(dtype) > kMostElements) return false;
  if (traits_.exchange == Exchange::none) return worthwhile_block(dtype, constants);
  // Shorter rows are for one block. Odd numbers of vectors lie within a fifth of an even one.
  constexpr std::int64_t kShortestRow = 8192;
  const bool usual_items = items == 1 || items % 2 == 0;
  if (capacity_N(dtype, constants) < kShortestRow || parts < 4 || !usual_items) return false;
  const bool usual_threads = threads == 256 || threads == 512;
  switch (traits_.exchange) {
    case Exchange::none:
      break;
    case Exchange::cluster:
      return (usual_threads || (threads == 128 && parts == traits_.most_parts)) &&
             (shared == 0 || (shared == 2 && items >= 4));
    case Exchange::slots:
      return (usual_threads || (threads == 1024 && items >= 4)) && parts >= 16 && shared == 0;
    case Exchange::ring: {
      // The SM's shared memory is the pipeline: what leaves half of it unused has too little on its way.
      const std::int64_t used = (shared_bytes(constants) + kOtherSharedBytes) * value_of(constants, "BLOCKS");
      return items == 4 && (threads == 128 || threads == 256) && 2 * used > target.limits.shared_bytes_per_sm;
    }
    case Exchange::launches:
      return usual_threads && parts >= 8;
  }
  return false;
}

std::vector<Constants> PartKernel::enumerate(DType dtype, const Ladders& ladders, const Target& target) const {
  std::vector<Constants> configs{{}};
  for (const Axis& axis : axes_) {
    if (axis.name == "BLOCKS" || axis.name == "KEEP" || axis.name == "GRID" || axis.name == "STREAM") continue;
    if (traits_.exchange == Exchange::launches && axis.name == "VEC_ITEMS") continue;
    const auto ladder = ladders.find(axis.name);
    if (ladder == ladders.end()) {
      throw_error(StatusCode::invalid_argument, "the sweep has no values for the axis {} of {}: add them under `axes`",
                  axis.name, id());
    }
    std::vector<Constants> longer;
    for (const Constants& config : configs)
      for (const std::int64_t value : ladder->second)
        if (axis.holds(value)) (longer.emplace_back(config))[axis.name] = value;
    configs = std::move(longer);
  }
  std::vector<Constants> result;
  for (Constants& config : configs) {
    config = with_derived(dtype, std::move(config), target);
    if (supports(dtype, config, target) && worthwhile(dtype, config, target)) result.push_back(std::move(config));
  }
  return result;
}

}  // namespace softmax_dispatch
