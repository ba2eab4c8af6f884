#include "device/sim/program/program.hpp"

#include <array>

namespace softmax_dispatch::sim {

const char* to_string(OpClass op_class) noexcept {
  static constexpr std::array<const char*, kOpClasses> kNames{
      "global_load",    "global_store", "shared_load",      "shared_store",
      "local_load",     "local_store",  "generic_load",     "generic_store",
      "parameter_load", "atomic",       "special_function", "fp32",
      "fp64",           "fp16",         "integer",          "conversion",
      "move",           "compare",      "select",           "shuffle",
      "vote",           "barrier",      "warp_barrier",     "branch",
      "fence",          "other"};
  return kNames[static_cast<std::size_t>(op_class)];
}

std::string Program::describe(std::uint32_t instruction) const {
  const InstructionInfo& info = instructions[instruction];
  return module->describe(info.line, info.source);
}

}  // namespace softmax_dispatch::sim
