#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "device/sim/program/op.hpp"

namespace softmax_dispatch::sim {

/// What one instruction of PTX takes of its warp, in cycles of the SM clock.
struct InstructionCost {
  double slots = 1;    ///< Issue slots: instructions that ptxas makes of it. 0: none are left.
  double latency = 4;  ///< Until a dependent instruction can issue.
};

/// Cycles that an access to global memory takes, by where it finds its data.
struct MemoryLatencies {
  double l1 = 32, l2 = 200, dram = 600;
};

/// The costs on one device. The defaults are those of no particular one.
class InstructionCosts {
 public:
  InstructionCosts();

  InstructionCost& of(OpClass op_class) noexcept { return classes_[static_cast<std::size_t>(op_class)]; }
  /// By opcode ("mul.wide.u32") and class. Memory latencies are not part of it.
  InstructionCost of(std::string_view opcode, OpClass op_class) const noexcept;

  MemoryLatencies memory;
  /// Of rcp.rn, div.rn and sqrt.rn: an approximation, its refinement and the test for special cases.
  InstructionCost rounded_reciprocal{8, 60};

 private:
  std::array<InstructionCost, kOpClasses> classes_{};
};

}  // namespace softmax_dispatch::sim
