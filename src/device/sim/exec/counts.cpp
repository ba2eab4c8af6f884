#include "device/sim/exec/counts.hpp"

#include <algorithm>
#include <cmath>

namespace softmax_dispatch::sim {
namespace {

void add_to(std::vector<std::uint64_t>& to, const std::vector<std::uint64_t>& from) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
}

/// Collects the counts of a sample and scales them to the launch.
class Summary {
 public:
  Summary(const Program& program, const Tally& tally, std::uint64_t blocks, const Schedule* schedule)
      : program_(program),
        schedule_(schedule),
        scale_(tally.blocks == 0 ? 0.0 : static_cast<double>(blocks) / static_cast<double>(tally.blocks)) {
    counts_.blocks = blocks;
    counts_.sampled_blocks = tally.blocks;
    counts_.repeated = tally.repeated;
  }

  std::uint64_t scaled(std::uint64_t count) const {
    return scale_ == 1.0 ? count : static_cast<std::uint64_t>(std::llround(static_cast<double>(count) * scale_));
  }

  void instruction(std::uint32_t index, std::uint64_t warps, std::uint64_t lanes) {
    const InstructionInfo& info = program_.instructions[index];
    const std::uint64_t scaled_warps = scaled(warps);
    counts_.warp_instructions += scaled_warps;
    if (schedule_ != nullptr) issue_slots_ += static_cast<double>(warps) * schedule_->slots[index];
    counts_.thread_instructions += scaled(lanes);
    counts_.by_class[static_cast<std::size_t>(info.op_class)] += scaled_warps;
    if (scaled_warps > 0) counts_.by_opcode[program_.opcodes[info.opcode]] += scaled_warps;
  }

  void branch(const Segment& segment, std::uint64_t executed, std::uint64_t diverged) {
    const InstructionInfo& info = program_.instructions[segment.end.instruction];
    counts_.diverged_branches += scaled(diverged);
    counts_.branches.push_back(
        {program_.describe(segment.end.instruction), info.line, scaled(executed), scaled(diverged)});
  }

  LaunchCounts& counts() { return counts_; }
  double issue_slots() const { return issue_slots_ * scale_; }

 private:
  const Program& program_;
  const Schedule* schedule_;
  double scale_, issue_slots_ = 0;
  LaunchCounts counts_;
};

}  // namespace

void Tally::add(const Tally& other) {
  add_to(segments, other.segments);
  add_to(segment_lanes, other.segment_lanes);
  add_to(diverged, other.diverged);
  add_to(guarded, other.guarded);
  add_to(guarded_lanes, other.guarded_lanes);
  sectors_load += other.sectors_load;
  sectors_store += other.sectors_store;
  bytes_load += other.bytes_load;
  bytes_store += other.bytes_store;
  blocks += other.blocks;
  warps += other.warps;
  repeated += other.repeated;
  for (std::size_t i = 0; i < times.size(); ++i) times[i] += other.times[i];
  for (std::size_t i = 0; i < longest.size(); ++i) longest[i] = std::max(longest[i], other.longest[i]);
  code_slots += other.code_slots;
  live_bytes += other.live_bytes;
}

void LaunchCounts::add(const LaunchCounts& other) {
  blocks += other.blocks;
  warps += other.warps;
  sampled_blocks += other.sampled_blocks;
  repeated += other.repeated;
  warp_instructions += other.warp_instructions;
  thread_instructions += other.thread_instructions;
  for (std::size_t i = 0; i < by_class.size(); ++i) by_class[i] += other.by_class[i];
  for (const auto& [opcode, count] : other.by_opcode) by_opcode[opcode] += count;
  sectors_load += other.sectors_load;
  sectors_store += other.sectors_store;
  bytes_load += other.bytes_load;
  bytes_store += other.bytes_store;
  diverged_branches += other.diverged_branches;
  for (const BranchCount& branch : other.branches) {
    const auto same = std::find_if(branches.begin(), branches.end(),
                                   [&](const BranchCount& own) { return own.ptx_line == branch.ptx_line; });
    if (same == branches.end()) {
      branches.push_back(branch);
    } else {
      same->executed += branch.executed;
      same->diverged += branch.diverged;
    }
  }
  issue_slots += other.issue_slots;
}

LaunchCounts summarise(const Program& program, const Tally& tally, std::uint64_t blocks, const Schedule* schedule) {
  Summary summary(program, tally, blocks, schedule);
  for (std::size_t i = 0; i < program.segments.size(); ++i) {
    const Segment& segment = program.segments[i];
    for (const std::uint32_t one : segment.counted) summary.instruction(one, tally.segments[i], tally.segment_lanes[i]);
    if (segment.end.is_instruction) summary.branch(segment, tally.segments[i], tally.diverged[i]);
  }
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    if (program.ops[i].counts)
      summary.instruction(program.ops[i].instruction, tally.guarded[i], tally.guarded_lanes[i]);
  }
  LaunchCounts& counts = summary.counts();
  counts.warps = summary.scaled(tally.warps);
  counts.sectors_load = summary.scaled(tally.sectors_load);
  counts.sectors_store = summary.scaled(tally.sectors_store);
  counts.bytes_load = summary.scaled(tally.bytes_load);
  counts.bytes_store = summary.scaled(tally.bytes_store);
  if (schedule != nullptr && tally.blocks > 0) {
    Timeline::Times mean = tally.times;
    for (double& one : mean) one /= static_cast<double>(tally.blocks);
    counts.path = Timeline::path(mean, schedule->memory);
    counts.longest_path = Timeline::path(tally.longest, schedule->memory);
    counts.issue_slots = summary.issue_slots();
    counts.live_bytes = tally.live_bytes / static_cast<double>(tally.blocks);
    counts.code_slots = tally.code_slots / static_cast<double>(tally.blocks);
  }
  return std::move(counts);
}

}  // namespace softmax_dispatch::sim
