#include "device/sim/sampled_counts.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace softmax_dispatch::sim {
namespace {

constexpr std::int64_t kSectorElements = 8, kVectorElements = 4;
/// From here on a sector more or less at the ends of a row does not matter.
constexpr std::int64_t kLongRow = 1024;
/// More than the warps of a block: a block with so many rows walks over them.
constexpr std::int64_t kManyRows = 33;
/// Rows of a block in the three runs: multiples of every period.
constexpr std::int64_t kFewRows = 8;

/// Rows after which positions relative to sectors (of long rows: vectors) repeat themselves.
std::int64_t period_of(std::int64_t N) {
  const std::int64_t elements = N < kLongRow ? kSectorElements : kVectorElements;
  return elements / std::gcd(N, elements);
}

std::uint64_t linear(std::uint64_t at_one, std::uint64_t at_two, double position) {
  const double first = static_cast<double>(at_one), step = static_cast<double>(at_two) - first;
  return static_cast<std::uint64_t>(std::llround(std::max(0.0, first + step * position)));
}

/// The counts on the line through `one` (position 0) and `two` (position 1).
LaunchCounts on_line(const LaunchCounts& one, const LaunchCounts& two, double position) {
  LaunchCounts made = one;
  for (auto field : {&LaunchCounts::warps, &LaunchCounts::warp_instructions, &LaunchCounts::thread_instructions,
                     &LaunchCounts::sectors_load, &LaunchCounts::sectors_store, &LaunchCounts::bytes_load,
                     &LaunchCounts::bytes_store, &LaunchCounts::diverged_branches})
    made.*field = linear(one.*field, two.*field, position);
  for (std::size_t i = 0; i < kOpClasses; ++i) made.by_class[i] = linear(one.by_class[i], two.by_class[i], position);
  made.by_opcode = two.by_opcode;
  for (auto& [opcode, count] : made.by_opcode) {
    const auto before = one.by_opcode.find(opcode);
    count = linear(before == one.by_opcode.end() ? 0 : before->second, count, position);
  }
  for (auto field : {&BlockPath::cycles, &BlockPath::first_trips, &BlockPath::again_trips})
    made.path.*field = one.path.*field + (two.path.*field - one.path.*field) * position;
  made.issue_slots = one.issue_slots + (two.issue_slots - one.issue_slots) * position;
  return made;
}

bool grows_evenly(const LaunchCounts& one, const LaunchCounts& two, const LaunchCounts& three) {
  const auto first = static_cast<double>(two.warp_instructions) - static_cast<double>(one.warp_instructions);
  const auto second = static_cast<double>(three.warp_instructions) - static_cast<double>(two.warp_instructions);
  return first > 0 && std::abs(second - first) < 0.02 * first;
}

}  // namespace

std::shared_ptr<const LaunchCounts> SampledCounts::of(std::uint64_t kernel, const Launch& launch, const Run& run) {
  const std::int64_t grid = launch.geometry.grid;
  if (grid == launch.M) {
    Launch fewer = launch;
    fewer.geometry.grid = fewer.M = std::min(launch.M, 4 * kSectorElements);
    const auto counts = once(kernel, fewer, run);
    if (fewer.M == launch.M) return counts;
    LaunchCounts all = on_line(*counts, *counts, 0);
    const double factor = static_cast<double>(launch.M) / static_cast<double>(fewer.M);
    LaunchCounts none;
    none.path = all.path;
    none.by_opcode = all.by_opcode;
    for (auto& [opcode, count] : none.by_opcode) count = 0;
    all = on_line(none, all, factor);
    all.blocks = static_cast<std::uint64_t>(launch.M);
    return std::make_shared<const LaunchCounts>(std::move(all));
  }
  if (launch.M / grid < std::max(kManyRows, 3 * kFewRows)) return once(kernel, launch, run);
  std::array<std::shared_ptr<const LaunchCounts>, 3> few;
  for (std::int64_t i = 0; i < 3; ++i) {
    Launch one = launch;
    one.M = (i + 1) * kFewRows * grid;
    few[static_cast<std::size_t>(i)] = once(kernel, one, run);
  }
  if (!grows_evenly(*few[0], *few[1], *few[2])) return once(kernel, launch, run);
  const double rows = static_cast<double>(launch.M) / static_cast<double>(grid);
  return std::make_shared<const LaunchCounts>(
      on_line(*few[0], *few[1], (rows - kFewRows) / static_cast<double>(kFewRows)));
}

std::shared_ptr<const LaunchCounts> SampledCounts::once(std::uint64_t kernel, const Launch& launch, const Run& run) {
  // Where the buffers lie matters to what a sector or a vector holds, not which they are.
  constexpr DevicePtr kAlign = 256;
  const Key key{kernel,   launch.geometry.grid, launch.geometry.block, launch.geometry.shared_bytes, launch.M,
                launch.N, launch.x % kAlign,    launch.y % kAlign,     launch.x == launch.y};
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
  }
  // A block with several rows has several positions in itself, unless it strides by a multiple of the period.
  const std::int64_t rows = launch.geometry.grid >= launch.M ? 1 : launch.M / launch.geometry.grid;
  const std::int64_t period = period_of(launch.N);
  const bool strides = rows > 1 && launch.M / launch.geometry.grid >= kFewRows;
  const auto group = static_cast<std::uint64_t>(strides ? period : std::max<std::int64_t>(1, period / rows));
  LaunchCounts counts = run(launch, group, group);
  counts.branches.clear();
  auto shared = std::make_shared<const LaunchCounts>(std::move(counts));
  const std::lock_guard lock(mutex_);
  return known_.emplace(key, std::move(shared)).first->second;
}

}  // namespace softmax_dispatch::sim
