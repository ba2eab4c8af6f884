#pragma once

#include <vector>

#include "device/sim/program/program.hpp"

namespace softmax_dispatch::sim {

/// Where control may go from the end of a segment: none, one or two segments.
std::vector<std::uint32_t> successors(const Segment& segment);

/// Sets Segment::reconverge of every segment that ends with a conditional branch: the first segment that each path from
/// there to the end of the kernel passes, kNoSegment where only the end is common.
void find_reconvergence(Program& program);

}  // namespace softmax_dispatch::sim
