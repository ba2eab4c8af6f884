#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/files.hpp"
#include "tests/cli/program.hpp"

namespace softmax_dispatch::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

struct Case {
  std::string name;
  std::vector<std::string> arguments;
  std::vector<std::string> said;  ///< Texts of the message: the value seen, and the rule or the next step.
};

std::vector<std::string> tune_with(std::initializer_list<std::string> extra) {
  std::vector<std::string> arguments{"--arch", "sm_90", "--out", "/no/such/folder/h200.yaml"};
  arguments.insert(arguments.end(), extra);
  return arguments;
}

class BadArguments : public ::testing::TestWithParam<Case> {};

// The file in tune_with() cannot be written either, and there is no GPU: arguments come first.
TEST_P(BadArguments, ExitWithTwoAndSayWhat) {
  const Finished result = run(GetParam().arguments);
  EXPECT_EQ(result.code, 2) << result.err;
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_THAT(result.err, StartsWith("softmax-tune: error: "));
  for (const std::string& text : GetParam().said) EXPECT_THAT(result.err, HasSubstr(text));
}

INSTANTIATE_TEST_SUITE_P(
    Cli, BadArguments,
    ::testing::Values(
        Case{"NoArguments", {}, {"--arch is missing", "sm_75"}},
        Case{"NoOut", {"--arch", "sm_90"}, {"--out is missing"}},
        Case{"UnknownArch", {"--arch", "sm_12", "--out", "x.yaml"}, {"sm_12", "sm_75", "sm_90"}},
        Case{"ArchIsNoArch", {"tune", "--arch", "T4", "--out", "x.yaml"}, {"T4"}},
        Case{"UnknownCommand", {"tunes"}, {"'tunes'", "profile", "--help"}},
        Case{"UnknownOption", tune_with({"--fast"}), {"--fast", "--help"}},
        Case{"UnknownEffort", tune_with({"--effort", "huge"}), {"'huge'", "quick", "standard", "full"}},
        Case{"UnknownProtocol", tune_with({"--protocol", "wall"}), {"wall", "graph", "published"}},
        Case{"DtypeWithoutKernels", tune_with({"--dtype", "f32,f64"}), {"'f64'", "it has f32, f16, bf16"}},
        Case{"DtypeTwice", tune_with({"--dtype", "f32,f32"}), {"f32 twice"}},
        Case{"RangeUpsideDown", tune_with({"--M", "5:1"}), {"--M is 5:1"}},
        Case{"RangeFromZero", tune_with({"--N", "0:9"}), {"--N is 0:9"}},
        Case{"RangeOfOne", tune_with({"--N", "9"}), {"--N is '9'", "LO:HI"}},
        Case{"RangeOfWords", tune_with({"--M", "one:two"}), {"'one:two'"}},
        Case{"NothingToMeasure",
             tune_with({"--M", "9000000000:9000000000", "--N", "9000000000:9000000000"}),
             {"nothing to measure"}},
        Case{"NegativeSeed", tune_with({"--seed=-1"}), {"--seed is '-1'"}},
        Case{"BudgetWithComma", tune_with({"--budget", "1,5"}), {"'1,5'", "decimal point"}},
        Case{"BudgetOfNothing", tune_with({"--budget", "0"}), {"--budget is '0'"}},
        Case{"UnknownDevice", tune_with({"--device", "gpu0"}), {"'gpu0'", "cuda:K"}},
        Case{"OptionBeforeCommand", {"--arch", "sm_75", "list"}, {"--arch", "list"}},
        Case{"ArchWithoutResources", {"list", "--arch", "sm_75"}, {"--resources"}},
        Case{"ResourcesWithoutArch", {"list", "--resources"}, {"--arch is missing"}},
        Case{"ShowNothing", {"show"}, {"TABLE", "show --help"}},
        Case{"ProblemIsNone", {"explain", "x.yaml", "1024x257"}, {"1024x257"}},
        Case{"NegativeProblem", {"explain", "x.yaml", "f32:-1x257"}, {"-1x257"}},
        Case{"EmptyProblem", {"explain", "x.yaml", "f32:0x257"}, {"f32:0x257", "no elements"}},
        Case{"BenchNoProblem", {"bench"}, {"--problem", "--N"}},
        Case{"BenchNegative", {"bench", "--problem", "f32:8x-8"}, {"8x-8"}},
        Case{"BenchCoreOfNoType", {"bench", "--problem", "f17:core"}, {"f17:core"}},
        Case{"BenchRangeOfOne", {"bench", "--N", "8:9", "10"}, {"--N is '10'", "LO:HI"}},
        Case{"BenchBytesWithoutLengths", {"bench", "--problem", "f32:8x8", "--bytes", "64M"}, {"--bytes requires --N"}},
        Case{"BenchTypeWithoutLengths", {"bench", "--problem", "f32:8x8", "--dtype", "f16"}, {"--dtype requires --N"}},
        Case{"BenchBytesOfNoUnit", {"bench", "--N", "8:9", "--bytes", "64MB"}, {"--bytes is '64MB'", "64 * 2^20"}},
        Case{"BenchBytesOverflow", {"bench", "--N", "8:9", "--bytes", "9000000000G"}, {"--bytes is '9000000000G'"}},
        Case{"BenchRowLongerThanBytes",
             {"bench", "--N", "8:9", "250:257", "--bytes", "1K"},
             {"--bytes 1024 hold 256 elements of f32", "--N 257"}},
        Case{"BenchTypeWithoutKernels", {"bench", "--N", "8:9", "--dtype", "f64"}, {"'f64'"}},
        Case{"ProfileUnknownVariant",
             {"profile", "--arch", "sm_75", "--variant", "v77", "--problem", "f32:8x8"},
             {"v77", "v7"}},
        Case{"ProfileUnknownConstant",
             {"profile", "--arch", "sm_75", "--variant", "v7", "--problem", "f32:8x8", "--set", "WARPS=4"},
             {"WARPS=4", "THREADS"}},
        Case{"ProfileBadValue",
             {"profile", "--arch", "sm_75", "--variant", "v7", "--problem", "f32:8x8", "--set", "THREADS=48"},
             {"THREADS=48", "32..1024"}},
        Case{"ProfileConstantTwice",
             {"profile", "--arch", "sm_75", "--variant", "v7", "--problem", "f32:8x8", "--set", "THREADS=64",
              "THREADS=128"},
             {"THREADS twice"}},
        Case{"ProfileSetIsNone",
             {"profile", "--arch", "sm_75", "--variant", "v7", "--problem", "f32:8x8", "--set", "THREADS"},
             {"'THREADS'", "NAME=value"}}),
    [](const auto& one) { return one.param.name; });

TEST(Usage, HelpOfEveryCommandHasAnExample) {
  for (const char* command : {"tune", "list", "show", "explain", "bench", "verify", "profile", "doctor"}) {
    const Finished help = run({command, "--help"});
    EXPECT_EQ(help.code, 0);
    EXPECT_THAT(help.out, HasSubstr("Example: softmax-tune")) << command;
    EXPECT_THAT(help.err, IsEmpty());
  }
}

TEST(Usage, HelpNamesEveryCommandButTheHiddenOne) {
  const std::string help = run({"--help"}).out;
  for (const char* command : {"tune", "list", "show", "explain", "bench", "verify", "profile", "doctor"}) {
    EXPECT_THAT(help, HasSubstr(std::string("\n  ") + command + " ")) << command;
  }
  EXPECT_THAT(help, Not(HasSubstr("worker")));
  EXPECT_THAT(help, HasSubstr("Exit codes"));
}

TEST(Usage, VersionOnStdout) {
  const Finished version = run({"--version"});
  EXPECT_EQ(version.code, 0);
  EXPECT_THAT(version.out, StartsWith("softmax-tune 0."));
}

TEST(Usage, FullDiskIsAnError) {
  const TemporaryDirectory folder;
  const std::string command =
      SOFTMAX_DISPATCH_BINARY_DIR "/softmax-tune list > /dev/full 2> " + (folder.path() / "err").string();
  const int status = std::system(command.c_str());
  EXPECT_EQ(WEXITSTATUS(status), 1);
  EXPECT_THAT(contents(folder.path() / "err"), HasSubstr("cannot write to standard output"));
}

}  // namespace
}  // namespace softmax_dispatch::testing
