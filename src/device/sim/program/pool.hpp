#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "device/sim/program/program.hpp"

namespace softmax_dispatch::sim {

/// The slots whose value no instruction changes: constants, parameters, and what the launch or the lane sets.
class Pool {
 public:
  Ref constant(std::uint64_t bits, std::uint8_t lane_bytes);
  Ref parameter(const ParameterSlot& wanted);  ///< wanted.slot is not looked at.
  Ref special(Special what);                   ///< Of a lane or of a launch.

  /// Gives everything to the program. The slots stay valid.
  void move_into(Program& program);

 private:
  Ref new_slot(std::uint8_t lane_bytes);

  std::vector<std::byte> bytes_;
  std::map<std::pair<std::uint64_t, std::uint8_t>, Ref> constants_;
  std::map<std::tuple<std::uint32_t, std::uint8_t, bool, std::uint8_t>, Ref> parameters_;
  std::map<Special, Ref> specials_;
  std::vector<SpecialSlot> launch_specials_;
  std::vector<ParameterSlot> parameter_slots_;
};

}  // namespace softmax_dispatch::sim
