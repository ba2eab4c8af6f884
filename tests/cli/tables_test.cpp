#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "support/files.hpp"
#include "tests/cli/program.hpp"
#include "tests/cli/sample.hpp"

namespace softmax_dispatch::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) throw std::logic_error("the sample table has no '" + from + "'");
  return text.replace(at, from.size(), to);
}

struct Damage {
  std::string name;
  std::string (*apply)(const std::string& text);
  std::string said;
};

class BadTables : public ::testing::TestWithParam<Damage> {
 protected:
  BadTables() { write(path_, GetParam().apply(table::write(sample_table()))); }

  void expect_refused(const std::vector<std::string>& arguments) {
    const std::string before = contents(path_);
    const Finished result = run(arguments);
    EXPECT_EQ(result.code, 1) << result.err;
    EXPECT_THAT(result.out, IsEmpty());
    EXPECT_THAT(result.err,
                AllOf(HasSubstr("softmax-tune: error: "), HasSubstr(path_.string()), HasSubstr(GetParam().said)));
    EXPECT_EQ(contents(path_), before);
  }

  TemporaryDirectory folder_;
  std::filesystem::path path_ = folder_.path() / "bad.yaml";
};

TEST_P(BadTables, AreRefusedByEveryCommand) {
  expect_refused({"show", path_});
  expect_refused({"explain", path_, "f32:1024x257"});
  expect_refused({"bench", path_, "--problem", "f32:1024x257"});
  expect_refused({"verify", path_});
}

TEST_P(BadTables, AreNotReplacedByATune) {
  expect_refused({"--arch", "sm_90", "--out", path_});
  EXPECT_FALSE(std::filesystem::exists(path_.string() + ".journal.jsonl"));
}

INSTANTIATE_TEST_SUITE_P(
    Cli, BadTables,
    ::testing::Values(
        Damage{"Empty", [](const std::string&) { return std::string(); }, "truncated"},
        Damage{"NoTable", [](const std::string&) { return std::string("Dear diary,\n"); }, "no table"},
        Damage{"Truncated", [](const std::string& text) { return text.substr(0, text.size() / 2); }, "truncated"},
        Damage{"UnknownKey", [](const std::string& text) { return replaced(text, "sm_count:", "sm_counts:"); },
               "sm_count"},
        Damage{"DuplicateKey",
               [](const std::string& text) { return replaced(text, "  arch: ", "  name: Other\n  arch: "); }, "name"},
        Damage{"NewerSchema", [](const std::string& text) { return replaced(text, "schema: 1", "schema: 99"); },
               "newer"},
        Damage{"DecimalComma", [](const std::string& text) { return replaced(text, "1.002", "1,002"); }, "1,002"},
        Damage{"UnknownVariant", [](const std::string& text) { return replaced(text, "variant: v8", "variant: v88"); },
               "v88"}),
    [](const auto& one) { return one.param.name; });

TEST(Tables, MissingFile) {
  for (const char* command : {"show", "verify"}) {
    const Finished result = run({command, "/no/such/table.yaml"});
    EXPECT_EQ(result.code, 1);
    EXPECT_THAT(result.err, HasSubstr("'/no/such/table.yaml'"));
  }
}

TEST(Tables, OutThatCannotBeWritten) {
  const TemporaryDirectory folder;
  for (const std::string& out : {std::string("/no/such/folder/t4.yaml"), folder.path().string()}) {
    const Finished result = run({"--arch", "sm_75", "--out", out});
    EXPECT_EQ(result.code, 1) << result.err;
    EXPECT_THAT(result.err, HasSubstr(out));
    EXPECT_THAT(result.out, IsEmpty());
  }
}

TEST(Tables, OutOfAnotherArchitectureIsNotReplaced) {
  const TemporaryDirectory folder;
  const auto path = write_sample_table(folder.path());
  const std::string before = contents(path);
  const Finished result = run({"--arch", "sm_75", "--out", path});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("sm_90"), HasSubstr("sm_75"), HasSubstr("left as it is")));
  EXPECT_EQ(contents(path), before);
}

}  // namespace
}  // namespace softmax_dispatch::testing
