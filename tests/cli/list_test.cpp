#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "support/configs.hpp"
#include "support/files.hpp"
#include "tests/cli/program.hpp"
#include "variants/registry.hpp"

namespace softmax_dispatch::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

TEST(List, HasEveryVariantWithItsKeys) {
  const Finished result = run({"list", "--json"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, IsEmpty());
  const auto json = result.json();
  ASSERT_EQ(json.size(), registry().all().size());
  for (std::size_t i = 0; i < json.size(); ++i) {
    const Variant& variant = *registry().all()[i];
    EXPECT_EQ(json[i].at("id"), variant.id());
    EXPECT_EQ(json[i].at("scans"), variant.scans());
    std::vector<std::string> dtypes;
    for (const DType dtype : variant.dtypes()) dtypes.emplace_back(to_string(dtype));
    EXPECT_EQ(json[i].at("dtypes"), dtypes);
    EXPECT_EQ(json[i].at("axes").size(), variant.axes().size());
    EXPECT_EQ(json[i].at("axes").at(0).at("name"), "THREADS");
    EXPECT_EQ(json[i].at("needs"), variant.needs());
    EXPECT_EQ(json[i].at("summary"), variant.summary());
    EXPECT_EQ(json[i].at("selectable"), variant.selectable());
    EXPECT_FALSE(json[i].contains("resources"));
  }
}

TEST(List, IsAMarkdownTable) {
  const Finished result = run({"list"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out, StartsWith("| id "));
  std::set<std::size_t> widths;
  for (std::size_t at = 0, end; (end = result.out.find('\n', at)) != std::string::npos; at = end + 1) {
    widths.insert(end - at);
  }
  EXPECT_EQ(widths.size(), 1U) << "lines of different lengths:\n" << result.out;
}

TEST(List, OfOneVariant) {
  const auto json = run({"list", "--variant", "v8", "--json"}).json();
  ASSERT_EQ(json.size(), 1u);
  EXPECT_EQ(json.at(0).at("id"), "v8");
  EXPECT_EQ(std::ranges::count(run({"list", "--variant", "v8"}).out, '\n'), 3) << "a title, a rule and a row";
  EXPECT_EQ(run({"list", "--variant", "v99"}).code, 2);
}

// Runs the workers that compile: the one part of a tune that needs no GPU. Of a control and of a kernel of three types:
// all of them take minutes, and compile in the tests of the compiler.
TEST(List, ResourcesOfEveryConfiguration) {
  const Target target{arch_limits("sm_75"), 0};
  for (const char* id : {"v4_branchy", "map_merge"}) {
    const Finished result = run({"list", "--arch", "sm_75", "--resources", "--variant", id, "--json"});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr("softmax-tune: compile "));
    const auto json = result.json();
    ASSERT_EQ(json.size(), 1u);
    const auto& variant = json.at(0);
    const Variant& known = registry().at(id);
    EXPECT_EQ(variant.at("id"), id);
    EXPECT_GE(variant.at("resources").size(), extremes_of(known, target).size()) << known.id();
    std::set<std::string> seen;
    for (const auto& row : variant.at("resources")) {
      const std::string where = std::string(known.id()) + " " + row.dump();
      EXPECT_TRUE(seen.insert(row.at("dtype").dump() + row.at("constants").dump()).second) << "listed twice: " << where;
      EXPECT_GT(row.at("registers"), 0) << where;
      EXPECT_LE(row.at("registers"), 255) << where;
      EXPECT_GE(row.at("shared_bytes"), 0) << where;
      EXPECT_GT(row.at("theoretical_occupancy"), 0.0) << where;
      EXPECT_LE(row.at("theoretical_occupancy"), 1.0) << where;
      const bool local = row.at("stack_bytes") > 0 || row.at("spill_store_bytes") > 0 || row.at("spill_load_bytes") > 0;
      EXPECT_EQ(row.at("eligible"), known.selectable() && !local) << where;
      EXPECT_EQ(row.contains("reason"), !row.at("eligible")) << where;
    }
  }
}

TEST(List, ResourcesHaveTheTimeOfTheCompiler) {
  const Finished result = run({"list", "--arch", "sm_75", "--resources", "--variant", "v4_branchy", "--json"},
                              {{"SOFTMAX_DISPATCH_CACHE", "off"}});
  ASSERT_EQ(result.code, 0) << result.err;
  const auto rows = result.json().at(0).at("resources");
  ASSERT_FALSE(rows.empty());
  for (const auto& row : rows) EXPECT_GT(row.value("compile_s", 0.0), 0) << row.dump();
}

TEST(List, ResourcesWithoutNvrtc) {
  const Finished result =
      run({"list", "--arch", "sm_75", "--resources"}, {{"SOFTMAX_DISPATCH_NVRTC", "/no/such/libnvrtc.so"}});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_THAT(result.err, HasSubstr("/no/such/libnvrtc.so"));
}

}  // namespace
}  // namespace softmax_dispatch::testing
