// What a sweep tries of the kernels that take a row in parts.
#include <algorithm>

#include "support/error.hpp"
#include "variants/axes.hpp"
#include "variants/part_kernel.hpp"

namespace softmax_dispatch {

/// Shared memory is for rows of which the registers hold too little: there most of it, so that a thread has as many
/// vectors as an SM full of threads can hold.
bool PartKernel::worthwhile_block(DType dtype, const Constants& constants) const {
  const std::int64_t threads = value_of(constants, "THREADS");
  const std::int64_t in_registers = value_of(constants, "VEC_ITEMS");
  const std::int64_t in_shared = value_of(constants, "SHARED_ITEMS");
  if (threads < 64) return false;
  constexpr std::int64_t kMostInRegisters = 8;
  // Between two powers of two, rows of a few vectors a thread are served as well by the next one. But some threads more
  // than a row of f32 has work for make it 3 % faster where each has two vectors: 16384x2048 by 320 threads.
  const bool power_of_two = (threads & (threads - 1)) == 0;
  const bool some_more = dtype == DType::f32 && in_registers == 2 && threads == 320;
  if (in_shared == 0) return in_registers <= kMostInRegisters && (power_of_two || in_registers >= 3 || some_more);
  constexpr std::int64_t kLongRowBytes = 1 << 15;
  const std::int64_t bytes = threads * (in_registers + in_shared) * 16;
  return bytes >= kLongRowBytes && (in_registers == 2 || in_registers == 3) && in_shared > in_registers;
}

/// False where another configuration serves the same rows at least as well, by the measurements on an H200.
bool PartKernel::worthwhile(DType dtype, const Constants& constants, const Target& target) const {
  const std::int64_t threads = value_of(constants, "THREADS");
  const std::int64_t parts = most_parts(constants);
  const std::int64_t items = value_of(constants, "VEC_ITEMS");
  const std::int64_t shared = has("SHARED_ITEMS") ? value_of(constants, "SHARED_ITEMS") : 0;
  // Whole rows of few that the device holds all at once.
  const bool most_of_it =
      traits_.exchange == Exchange::slots && dtype == DType::f32 && items == 4 && shared == 12 && threads == 512;
  constexpr std::int64_t kMostElements = 72;  // of a thread
  if (!most_of_it && (items + shared) * vector_elements(dtype) > kMostElements) return false;
  if (traits_.exchange == Exchange::none) {
    // Two vectors in registers beside those in shared memory need more registers than they leave; of f32 three serve
    // these rows as well, and of the others fewer threads.
    const bool full = threads * value_of(constants, "BLOCKS") == target.limits.max_threads_per_sm;
    if (shared > 0 && items == 2 && (dtype == DType::f32 || full)) return false;
    return worthwhile_block(dtype, constants);
  }
  // Shorter rows are for one block. Other numbers of vectors lie within a fifth of one of these.
  constexpr std::int64_t kShortestRow = 8192;
  const bool usual_items = items == 1 || items == 2 || items == 4 || items == 6 || items == 8;
  if (capacity_N(dtype, constants) < kShortestRow || !usual_items) return false;
  const bool usual_threads = threads == 256 || threads == 512;
  switch (traits_.exchange) {
    case Exchange::none:
      break;
    case Exchange::cluster:
      return (usual_threads || (threads == 128 && parts == traits_.most_parts)) &&
             (shared == 0 || (shared == 2 && items == 6));
    case Exchange::slots:
      return parts >= 8 && (most_of_it || (shared == 0 && items != 6 && (usual_threads || threads == 1024)));
    case Exchange::ring: {
      // The SM's shared memory is the pipeline: what leaves a quarter of it unused has too little there.
      const std::int64_t used = shared_bytes(constants) * value_of(constants, "BLOCKS");
      return threads >= 128 && items >= 4 && value_of(constants, "AHEAD") == usual_ahead(constants) &&
             4 * used > 3 * target.limits.shared_bytes_per_sm;
    }
    case Exchange::launches:
      return usual_threads && parts >= 8;
  }
  return false;
}

std::vector<Constants> PartKernel::enumerate(DType dtype, const Ladders& ladders, const Target& target) const {
  std::vector<Constants> configs{{}};
  for (const Axis& axis : axes_) {
    if (axis.name == "BLOCKS" || axis.name == "GRID") continue;
    // Of the others it made little difference.
    if (axis.name == "STREAM" && traits_.exchange != Exchange::ring) continue;
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
