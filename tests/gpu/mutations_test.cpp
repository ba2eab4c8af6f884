// Every trap of the kernels' contract that shows in results: with its handling taken out, verification fails for the
// right reason. Each runs in a worker process, since some end their context.
#include "gpu/planted/mutations.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "device/cuda/cuda.hpp"
#include "support/files.hpp"
#include "tuning/worker.hpp"

namespace softmax_dispatch {
namespace {

using planted::Effect;
using planted::Mutation;

constexpr double kTimeout = 60;

class Mutations : public testing::TestWithParam<Mutation> {
 protected:
  /// The worker opens the GPU; this process asks for its architecture alone, which makes no context.
  tuning::Worker worker() const {
    const tuning::WorkerCommand command{SOFTMAX_DISPATCH_PLANTED_WORKER, {"mutation=" + GetParam().name}};
    return {command, {cuda::device_info(0).arch, 0, cache_.path(), ""}};
  }

  TemporaryDirectory cache_;
};

TEST_P(Mutations, IsSeen) {
  const Mutation& mutation = GetParam();
  tuning::Worker worker = this->worker();
  bool passed = false;
  std::string reason;
  try {
    const verify::Outcome outcome = worker.verify(mutation.config, verify::Depth::full, kTimeout);
    passed = outcome.passed;
    reason = outcome.reason;
  } catch (const tuning::WorkerLost& lost) {
    reason = lost.what();
  }
  EXPECT_EQ(passed, mutation.effect == Effect::passes) << reason;
  EXPECT_THAT(reason, testing::ContainsRegex(std::string(mutation.words)));
}

/// Those that are seen in the compiled code are in tests/planted.
std::vector<Mutation> seen_on_a_gpu() {
  std::vector<Mutation> result = planted::mutations();
  std::erase_if(result, [](const Mutation& mutation) {
    return mutation.effect == Effect::local_memory || mutation.effect == Effect::fails_simulated;
  });
  return result;
}

INSTANTIATE_TEST_SUITE_P(Traps, Mutations, testing::ValuesIn(seen_on_a_gpu()),
                         [](const auto& mutation) { return mutation.param.name; });

}  // namespace
}  // namespace softmax_dispatch
