#include "device/sim/lanes/instruction_sets.hpp"

#define SOFTMAX_DISPATCH_SIM_LANES "device/sim/lanes/half.inc"
#include "device/sim/lanes/each_set.inc"
