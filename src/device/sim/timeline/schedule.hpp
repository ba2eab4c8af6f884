#pragma once

#include <cstdint>
#include <vector>

#include "device/sim/program/program.hpp"
#include "device/sim/timeline/costs.hpp"

namespace softmax_dispatch::sim {

inline constexpr std::uint32_t kNoOp = 0xffffffff;

/// An instruction of a segment, in the order in which the hardware issues them.
struct ScheduledInstruction {
  double slots = 1, latency = 4;
  double stall = 1;                         ///< Cycles until the warp issues its next instruction, whatever that needs.
  std::uint32_t load = kNoOp;               ///< Index of the step, of a load from global memory.
  std::uint32_t first_need = 0, needs = 0;  ///< Of SegmentSchedule::needs.
  std::uint32_t first_made = 0, made = 0;   ///< Of SegmentSchedule::made.
};

struct SegmentSchedule {
  std::vector<ScheduledInstruction> instructions;
  /// What an instruction waits for: an instruction of the segment before it, by its place in the order, or with
  /// kFromOutside a register that an earlier segment has written.
  std::vector<std::uint32_t> needs;
  std::vector<std::uint32_t> made;  ///< Registers whose last value in the segment it is.
  /// A loop of this segment alone without stores: ptxas unrolls it, and the loads of kUnrolled rounds are one batch.
  bool unrolled = false;
};
inline constexpr std::uint32_t kUnrolled = 4;
inline constexpr std::uint32_t kFromOutside = 0x80000000;

/// The program as ptxas would order it: within a segment freely, but for data and the order of loads and stores; never
/// across segments. (Loads move up in a straight line of code, past no store that might change them.)
struct Schedule {
  Schedule(const Program& program, const InstructionCosts& costs);

  std::vector<SegmentSchedule> segments;
  std::vector<double> slots;  ///< Per instruction of the program: issue slots.
  std::uint32_t registers = 0;
  double barrier_latency = 0;
  MemoryLatencies memory;
};

}  // namespace softmax_dispatch::sim
