#include "device/sim/program/pool.hpp"

#include <cstring>

namespace softmax_dispatch::sim {
namespace {

/// What %laneid and %lanemask_* hold.
std::uint32_t of_lane(Special what, unsigned lane) {
  const std::uint32_t own = std::uint32_t{1} << lane;
  switch (what) {
    case Special::lanemask_eq:
      return own;
    case Special::lanemask_lt:
      return own - 1;
    case Special::lanemask_le:
      return own | (own - 1);
    case Special::lanemask_gt:
      return ~(own | (own - 1));
    case Special::lanemask_ge:
      return ~(own - 1);
    default:
      return lane;
  }
}

}  // namespace

Ref Pool::new_slot(std::uint8_t lane_bytes) {
  const auto offset = static_cast<Ref>(bytes_.size());
  bytes_.resize(bytes_.size() + lanes::kLanes * lane_bytes);
  return offset | kConstantBit;
}

Ref Pool::constant(std::uint64_t bits, std::uint8_t lane_bytes) {
  const auto [found, added] = constants_.emplace(std::pair(bits, lane_bytes), 0);
  if (added) {
    found->second = new_slot(lane_bytes);
    std::byte* slot = bytes_.data() + (found->second & ~kConstantBit);
    for (std::size_t lane = 0; lane < lanes::kLanes; ++lane) std::memcpy(slot + lane * lane_bytes, &bits, lane_bytes);
  }
  return found->second;
}

Ref Pool::parameter(const ParameterSlot& wanted) {
  const auto [found, added] =
      parameters_.emplace(std::tuple(wanted.offset, wanted.bytes, wanted.sign_extend, wanted.lane_bytes), 0);
  if (added) {
    found->second = new_slot(wanted.lane_bytes);
    parameter_slots_.push_back(wanted);
    parameter_slots_.back().slot = found->second;
  }
  return found->second;
}

Ref Pool::special(Special what) {
  const auto [found, added] = specials_.emplace(what, 0);
  if (added) {
    found->second = new_slot(4);
    if (what < Special::laneid) launch_specials_.push_back({what, found->second});
    std::byte* slot = bytes_.data() + (found->second & ~kConstantBit);
    for (unsigned lane = 0; what >= Special::laneid && lane < lanes::kLanes; ++lane) {
      const std::uint32_t value = of_lane(what, lane);
      std::memcpy(slot + lane * 4, &value, 4);
    }
  }
  return found->second;
}

void Pool::move_into(Program& program) {
  program.constants = std::move(bytes_);
  program.launch_specials = std::move(launch_specials_);
  program.parameters = std::move(parameter_slots_);
}

}  // namespace softmax_dispatch::sim
