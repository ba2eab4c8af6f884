#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "device/sim/program/program.hpp"
#include "device/sim/timeline/timeline.hpp"

namespace softmax_dispatch::sim {

/// A branch of the PTX with a guard: how often warps executed it, and how often their lanes parted.
struct BranchCount {
  std::string where;
  std::uint32_t ptx_line = 0;
  std::uint64_t executed = 0, diverged = 0;
};

/// What one launch executed. An instruction counts once per warp if at least one lane executes it; one whose guard is
/// false for every lane does not count. Of a sampled launch the counts are scaled to all its blocks.
struct LaunchCounts {
  std::uint64_t blocks = 0, warps = 0;
  std::uint64_t sampled_blocks = 0;  ///< Blocks that ran; all of them unless the launch was sampled.
  /// Blocks, and rounds of blocks that walk over rows, that were not executed: they did what another one had done.
  std::uint64_t repeated = 0;
  std::uint64_t warp_instructions = 0;
  std::uint64_t thread_instructions = 0;  ///< Summed over the lanes that executed them.
  std::array<std::uint64_t, kOpClasses> by_class{};
  std::map<std::string, std::uint64_t> by_opcode;     ///< "fma.rn.f32"
  std::uint64_t sectors_load = 0, sectors_store = 0;  ///< 32-byte sectors of global memory, per warp access.
  std::uint64_t bytes_load = 0, bytes_store = 0;      ///< Global, summed over the lanes.
  std::uint64_t diverged_branches = 0;
  std::vector<BranchCount> branches;
  /// Where a schedule was given, otherwise zero: issue slots, and the mean path of the blocks that ran.
  double issue_slots = 0;
  double live_bytes = 0;  ///< Of input that a block holds at once; see Timeline.
  double code_slots = 0;  ///< Of the instructions that a block runs, each counted once: the code that it fetches.
  BlockPath path;
  BlockPath longest_path;  ///< Of the slowest of them.

  /// Those of another launch of the same kernel too. Paths stay those of the first.
  void add(const LaunchCounts& other);

  std::uint64_t of(OpClass op_class) const noexcept { return by_class[static_cast<std::size_t>(op_class)]; }
  /// Share of the executed branches, guarded or not, whose lanes all went the same way; 1 where there was none.
  double branch_uniformity() const noexcept {
    const auto all = static_cast<double>(of(OpClass::branch));
    return all > 0 ? 1.0 - static_cast<double>(diverged_branches) / all : 1.0;
  }
};

/// What a host thread notes while it runs: plain counters by segment and step, turned into LaunchCounts at the end.
struct Tally {
  explicit Tally(const Program& program)
      : segments(program.segments.size()),
        segment_lanes(program.segments.size()),
        diverged(program.segments.size()),
        guarded(program.ops.size()),
        guarded_lanes(program.ops.size()) {}

  std::vector<std::uint64_t> segments, segment_lanes, diverged;
  std::vector<std::uint64_t> guarded, guarded_lanes;  ///< Only of guarded instructions.
  std::uint64_t sectors_load = 0, sectors_store = 0, bytes_load = 0, bytes_store = 0;
  std::uint64_t blocks = 0, warps = 0, repeated = 0;
  Timeline::Times times{}, longest{};     ///< Summed over the blocks; of the slowest.
  double code_slots = 0, live_bytes = 0;  ///< Summed over the blocks.

  void add(const Tally& other);
};

/// `blocks`: of the launch. `schedule`: of the timelines, null where there were none.
LaunchCounts summarise(const Program& program, const Tally& tally, std::uint64_t blocks, const Schedule* schedule);

}  // namespace softmax_dispatch::sim
