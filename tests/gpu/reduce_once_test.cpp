#include "support/reduce_once.hpp"

#include "gpu/gpu.hpp"

namespace softmax_dispatch {
namespace {

TEST(ReduceOnce, MultipliesEachRowByItsMaximum) {
  Gpu gpu;
  const auto kinds = reduce_once::check(gpu.device(), gpu.target(),
                                        [&](const Macros& macros) { return gpu.load("reduce_once", macros); });
  EXPECT_EQ(kinds.size(), gpu.target().limits.major >= 9 ? 5U : 4U) << "clusters are of sm_90";
}

}  // namespace
}  // namespace softmax_dispatch
