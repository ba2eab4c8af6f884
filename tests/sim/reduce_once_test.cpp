#include "support/reduce_once.hpp"

#include "sim/sim_fixture.hpp"

namespace softmax_dispatch::sim {
namespace {

TEST(ReduceOnce, MultipliesEachRowByItsMaximum) {
  const auto device = simulated_t4();
  const auto kinds = reduce_once::check(*device, {t4().limits, t4().sm_count}, [&](const Macros& macros) {
    return device->load(product_ptx("reduce_once", macros), "reduce_once");
  });
  EXPECT_EQ(kinds, (std::set<std::int64_t>{0, 1, 2, 4})) << "all but clusters, which this architecture has not";
}

}  // namespace
}  // namespace softmax_dispatch::sim
