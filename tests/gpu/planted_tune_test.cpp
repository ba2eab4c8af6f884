// A tune over the product's variants and kernels with planted faults: no faulty one becomes eligible, each is reported
// with its reason, and the tune ends with a table of the others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "device/cuda/cuda.hpp"
#include "gpu/planted/planted.hpp"
#include "support/files.hpp"
#include "support/ladders.hpp"
#include "table/table.hpp"
#include "tuning/tuner.hpp"

namespace softmax_dispatch {
namespace {

using testing::AllOf;
using testing::HasSubstr;

tuning::Sweep tiny_sweep() {
  tuning::Sweep sweep;
  sweep.name = "planted";
  sweep.M = {1, 256};
  sweep.N = {64, 257, 1024};
  sweep.max_elements = 1 << 20;
  sweep.axes = small_ladders({{"THREADS", {128}}, {"ITEMS", {8}}, {"VEC_ITEMS", {2}}, {"GRID", {2}}});
  sweep.max_launches = 8;
  sweep.race_factor = 4;
  sweep.screen_replays = 2;
  sweep.finalist_factor = 1.5;
  sweep.final_replays = 2;
  return sweep;
}

bool is_planted(const std::string& variant) {
  return variant.starts_with("planted_");
}

TEST(PlantedTune, RejectsEachFaultWithItsReasonAndGoesOn) {
  const TemporaryDirectory folder;
  tuning::TuneOptions options;
  options.arch = cuda::device_info(0).arch;
  options.sweep = tiny_sweep();
  options.journal = folder.path() / "journal.jsonl";
  options.cache = folder.path() / "cache";
  options.worker = {SOFTMAX_DISPATCH_PLANTED_WORKER, {}};
  const tuning::TuneResult result = tuning::tune(options, planted::registry(), planted::sources());

  std::map<std::string, std::string> reasons;
  for (const tuning::Rejected& rejected : result.rejected) {
    EXPECT_TRUE(is_planted(rejected.config.variant)) << to_string(rejected.config) << ": " << rejected.reason;
    reasons[rejected.config.variant] = rejected.stage + ": " + rejected.reason;
  }
  const std::map<std::string, testing::Matcher<std::string>> expected{
      {"planted_skips_last_row", AllOf(HasSubstr("verify: "), HasSubstr("was not written"))},
      {"planted_unguarded_float4", AllOf(HasSubstr("verify: "), HasSubstr("MISALIGNED_ADDRESS"))},
      {"planted_writes_past_end", AllOf(HasSubstr("verify: "), HasSubstr("past the end of the output"))},
      {"planted_relative_error", AllOf(HasSubstr("verify: "), HasSubstr("x8, aligned: "), HasSubstr("expected"))},
      {"planted_zeros", AllOf(HasSubstr("verify: "), HasSubstr("got 0, expected"))},
      {"planted_long_chain", AllOf(HasSubstr("verify: "), HasSubstr("(peak first"))},
      {"planted_hang", AllOf(HasSubstr("verify: "), HasSubstr("time limit"), HasSubstr("x257"))},
      {"planted_other_bits", AllOf(HasSubstr("verify: "), HasSubstr("other bits in a second run"))},
      {"planted_local_array", AllOf(HasSubstr("resources: "), HasSubstr("local memory"))},
  };
  for (const auto& [id, matcher] : expected) EXPECT_THAT(reasons[id], matcher) << id;
  EXPECT_EQ(reasons.size(), expected.size());

  EXPECT_FALSE(result.table.kernels.empty());
  for (const table::Kernel& kernel : result.table.kernels) {
    EXPECT_FALSE(is_planted(kernel.config.variant)) << kernel.name;
    EXPECT_TRUE(kernel.verification.has_value()) << kernel.name;
  }
  const std::string text = table::write(result.table);
  EXPECT_EQ(table::write(table::read(text, "planted.yaml",
                                     [](std::string_view id) { return planted::registry().find(id) != nullptr; })),
            text);
}

}  // namespace
}  // namespace softmax_dispatch
