#pragma once

#include <cstdint>
#include <vector>

#include "device/sim/program/program.hpp"

namespace softmax_dispatch::sim {

/// Gives every register a slot; registers that are never alive at once share one, so that a warp's registers stay in
/// the host's caches. `widths`: bytes of a lane, per register number.
void assign_slots(Program& program, const std::vector<std::uint8_t>& widths);

}  // namespace softmax_dispatch::sim
