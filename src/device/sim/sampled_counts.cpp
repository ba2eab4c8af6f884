#include "device/sim/sampled_counts.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace softmax_dispatch::sim {
namespace {

constexpr std::int64_t kSectorBytes = 32, kVectorBytes = 16;
/// From here on a sector more or less at the ends of a row does not matter.
constexpr std::int64_t kLongRow = 1024;
/// Rows of a block in the three runs: so many, twice and three times as many.
constexpr std::int64_t kFewRows = 2;

/// Rows after which positions relative to sectors (of long rows: vectors) repeat themselves.
std::int64_t period_of(const Launch& launch) {
  const std::int64_t N = launch.N;
  const std::int64_t elements = (N < kLongRow ? kSectorBytes : kVectorBytes) / launch.element_bytes;
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
    for (auto path : {&LaunchCounts::path, &LaunchCounts::longest_path})
      (made.*path).*field = (one.*path).*field + ((two.*path).*field - (one.*path).*field) * position;
  made.live_bytes = two.live_bytes;
  made.code_slots = two.code_slots;
  made.issue_slots = one.issue_slots + (two.issue_slots - one.issue_slots) * position;
  return made;
}

/// Totals times `factor`; what is a mean of blocks stays.
LaunchCounts scaled(const LaunchCounts& counts, double factor) {
  LaunchCounts none;
  none.path = counts.path;
  none.longest_path = counts.longest_path;
  LaunchCounts made = on_line(none, counts, factor);
  made.blocks = counts.blocks;
  made.sampled_blocks = counts.sampled_blocks;
  return made;
}

/// Rows that the whole launch would have by its sampled blocks: every kernel stores each element of the output once.
double rows_of(const LaunchCounts& counts, const Launch& launch) {
  return static_cast<double>(counts.bytes_store) / static_cast<double>(launch.N * launch.element_bytes);
}

/// Whether the blocks share any number of rows evenly, and each row costs them the same.
bool walk_evenly(const std::array<std::shared_ptr<const LaunchCounts>, 3>& few, const Launch& launch) {
  for (std::size_t i = 0; i < few.size(); ++i) {
    const double rows = static_cast<double>(static_cast<std::int64_t>(i + 1) * kFewRows * launch.geometry.grid);
    if (std::abs(rows_of(*few[i], launch) - rows) > 0.01 * rows) return false;
  }
  const auto instructions = [&](std::size_t i) { return static_cast<double>(few[i]->warp_instructions); };
  const double first = instructions(1) - instructions(0), second = instructions(2) - instructions(1);
  return first > 0 && std::abs(second - first) < 0.02 * first;
}

/// The first blocks have as many rows as any; where others have fewer, the totals are too high.
std::shared_ptr<const LaunchCounts> of_all_rows(const std::shared_ptr<const LaunchCounts>& counts,
                                                const Launch& launch) {
  const double factor = static_cast<double>(launch.M) / std::max(1.0, rows_of(*counts, launch));
  if (counts->sampled_blocks == counts->blocks || factor > 1 || factor < 0.25) return counts;
  LaunchCounts made = scaled(*counts, factor);
  made.warps = counts->warps;
  return std::make_shared<const LaunchCounts>(std::move(made));
}

}  // namespace

std::int64_t blocks_of_row(const Launch& launch) {
  return launch.M > 0 && launch.geometry.grid % launch.M == 0 ? launch.geometry.grid / launch.M : 1;
}

std::shared_ptr<const LaunchCounts> SampledCounts::of(std::uint64_t kernel, int phase, const Launch& launch,
                                                      const Run& run) {
  const std::int64_t grid = launch.geometry.grid;
  if (launch.geometry.together() > 1 || launch.geometry.workspace_bytes > 0) return once(kernel, phase, launch, run);
  if (grid == launch.M) {
    Launch fewer = launch;
    fewer.geometry.grid = fewer.M = std::min(launch.M, 4 * kSectorBytes / launch.element_bytes);
    const auto counts = once(kernel, phase, fewer, run);
    if (fewer.M == launch.M) return counts;
    LaunchCounts all = scaled(*counts, static_cast<double>(launch.M) / static_cast<double>(fewer.M));
    all.blocks = static_cast<std::uint64_t>(launch.M);
    return std::make_shared<const LaunchCounts>(std::move(all));
  }
  if (launch.M / grid <= 4 * kFewRows) return of_all_rows(once(kernel, phase, launch, run), launch);
  std::array<std::shared_ptr<const LaunchCounts>, 3> few;
  for (std::int64_t i = 0; i < 3; ++i) {
    Launch one = launch;
    one.M = (i + 1) * kFewRows * grid;
    few[static_cast<std::size_t>(i)] = once(kernel, phase, one, run);
  }
  if (!walk_evenly(few, launch)) return of_all_rows(once(kernel, phase, launch, run), launch);
  const double rows = std::ceil(static_cast<double>(launch.M) / static_cast<double>(grid));
  LaunchCounts most = on_line(*few[0], *few[1], (rows - kFewRows) / static_cast<double>(kFewRows));
  most.longest_path = most.path;  // over many rows the blocks are alike
  most.sampled_blocks = 0;        // none has run so many
  return of_all_rows(std::make_shared<const LaunchCounts>(std::move(most)), launch);
}

std::shared_ptr<const LaunchCounts> SampledCounts::once(std::uint64_t kernel, int phase, const Launch& launch,
                                                        const Run& run) {
  // Where the buffers lie matters to what a sector or a vector holds, not which they are.
  constexpr DevicePtr kAlign = 256;
  const Geometry& shape = launch.geometry;
  const Key key{kernel,   phase,    shape.grid,        shape.block,       shape.parts,         shape.shared_bytes,
                launch.M, launch.N, launch.x % kAlign, launch.y % kAlign, launch.x == launch.y};
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
  }
  const auto group = static_cast<std::uint64_t>(blocks_of_row(launch) * period_of(launch));
  LaunchCounts counts = run(launch, group, group);
  counts.branches.clear();
  auto shared = std::make_shared<const LaunchCounts>(std::move(counts));
  const std::lock_guard lock(mutex_);
  return known_.emplace(key, std::move(shared)).first->second;
}

}  // namespace softmax_dispatch::sim
