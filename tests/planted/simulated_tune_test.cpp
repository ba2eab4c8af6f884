// A tune of the simulated T4 over kernels with planted faults: each is reported with its reason, and where the
// simulated device sees what it does wrong, with the line; the tune ends with a table of the others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "gpu/planted/planted.hpp"
#include "support/files.hpp"
#include "table/table.hpp"
#include "tuning/tuner.hpp"

namespace softmax_dispatch {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;

bool is_planted(std::string_view variant) {
  return variant.starts_with("planted_");
}

const Registry& planted_and_unbounded() {
  static const Registry few = [] {
    std::vector<const Variant*> variants{&unbounded_variant()};
    for (const Variant* variant : planted::registry().all())
      if (is_planted(variant->id())) variants.push_back(variant);
    return Registry(std::move(variants));
  }();
  return few;
}

TEST(SimulatedPlantedTune, RejectsEachFaultWithItsReasonAndGoesOn) {
  const TemporaryDirectory folder;
  tuning::TuneOptions options;
  options.arch = "sm_75";
  options.simulated = true;
  options.sweep.name = "planted";
  options.sweep.M = {1};
  options.sweep.N = {256};
  options.sweep.max_elements = 256;
  options.sweep.axes = {{"THREADS", {64}}, {"ITEMS", {8}}, {"VEC_ITEMS", {2}}};
  options.sweep.max_launches = 8;
  options.journal = folder.path() / "journal.jsonl";
  options.cache = folder.path() / "cache";
  options.worker = {SOFTMAX_DISPATCH_PLANTED_WORKER, {}};
  options.verify_all = true;
  options.verify_limit_s = 5;
  const tuning::TuneResult result = tuning::tune(options, planted_and_unbounded(), planted::sources());

  std::map<std::string, std::string> reasons;
  for (const tuning::Rejected& rejected : result.rejected) {
    EXPECT_TRUE(is_planted(rejected.config.variant)) << to_string(rejected.config) << ": " << rejected.reason;
    reasons[rejected.config.variant] = rejected.stage + ": " + rejected.reason;
  }
  const std::map<std::string, testing::Matcher<std::string>> expected{
      {"planted_skips_last_row", AllOf(HasSubstr("verify: "), HasSubstr("was not written"))},
      {"planted_unguarded_float4", AllOf(HasSubstr("verify: "), HasSubstr("misaligned global load of 16 bytes"),
                                         ContainsRegex("inlined at planted_unguarded_float4.cu:[0-9]+"))},
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

  ASSERT_EQ(result.table.kernels.size(), 1U);
  const table::Kernel& kernel = result.table.kernels.front();
  EXPECT_EQ(kernel.config.variant, unbounded_variant().id());
  ASSERT_TRUE(kernel.verification);
  EXPECT_TRUE(kernel.verification->simulated);
  const std::string text = table::write(result.table);
  EXPECT_EQ(table::write(
                table::read(text, "planted.yaml", [](std::string_view id) { return registry().find(id) != nullptr; })),
            text);
}

}  // namespace
}  // namespace softmax_dispatch
