#include "device/sim/timeline/costs.hpp"

namespace softmax_dispatch::sim {
namespace {

bool has(std::string_view opcode, std::string_view part) {
  return opcode.find(part) != std::string_view::npos;
}

/// 64-bit integers are pairs of registers, and most instructions on them are two.
bool is_wide(std::string_view opcode) {
  return has(opcode, ".s64") || has(opcode, ".u64") || has(opcode, ".b64");
}

}  // namespace

InstructionCosts::InstructionCosts() {
  of(OpClass::parameter_load) = {0, 0};
  of(OpClass::move) = {0.2, 0};
  of(OpClass::compare) = {2, 12};  // computed again where predicates run out
  of(OpClass::special_function) = {1, 18};
  of(OpClass::shuffle) = {1, 24};
  of(OpClass::vote) = {1, 12};
  of(OpClass::shared_load) = {1, 24};
  of(OpClass::barrier) = {1, 24};
  of(OpClass::warp_barrier) = {0, 0};
  of(OpClass::branch) = {2, 12};  // with what sets up and ends a region of divergence
  of(OpClass::conversion) = {1, 6};
  of(OpClass::fp64) = {2, 40};
  of(OpClass::atomic) = {1, 200};
}

InstructionCost InstructionCosts::of(std::string_view opcode, OpClass op_class) const noexcept {
  InstructionCost cost = classes_[static_cast<std::size_t>(op_class)];
  if (opcode.starts_with("neg.f") || opcode.starts_with("abs.f") || opcode.starts_with("cvt.sat.f32.f32"))
    return {0, 0};  // part of the instruction before or after
  if (op_class == OpClass::special_function && has(opcode, ".rn")) return rounded_reciprocal;
  if (op_class == OpClass::conversion && is_wide(opcode) && !has(opcode, "f")) return {0, 0};  // half of a pair
  if (op_class == OpClass::integer && (is_wide(opcode) || has(opcode, ".wide"))) {
    cost.slots *= 2;
    cost.latency += 2;
  }
  return cost;
}

}  // namespace softmax_dispatch::sim
