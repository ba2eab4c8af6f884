#include "device/sim/lanes/instruction_sets.hpp"

namespace softmax_dispatch::sim::lanes {

namespace portable {
#include "device/sim/lanes/integer.inc"
}  // namespace portable

#if SOFTMAX_DISPATCH_SIM_AVX2
#pragma GCC push_options
#pragma GCC target("avx2,fma")
namespace avx2 {
#include "device/sim/lanes/integer.inc"
}  // namespace avx2
#pragma GCC pop_options
#endif

}  // namespace softmax_dispatch::sim::lanes
