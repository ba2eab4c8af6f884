#include "device/sim/lanes/instruction_sets.hpp"

namespace softmax_dispatch::sim::lanes {

namespace portable {
#include "device/sim/lanes/real.inc"
}  // namespace portable

#if SOFTMAX_DISPATCH_SIM_AVX2
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#define SOFTMAX_DISPATCH_SIM_FMA
namespace avx2 {
#include "device/sim/lanes/real.inc"
}  // namespace avx2
#undef SOFTMAX_DISPATCH_SIM_FMA
#pragma GCC pop_options
#endif

}  // namespace softmax_dispatch::sim::lanes
