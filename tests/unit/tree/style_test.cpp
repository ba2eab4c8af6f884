#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "unit/tree/source_tree.hpp"

namespace softmax_dispatch::tree {
namespace {

const std::vector<std::string> kSources = {"src", "kernels_src", "tuning", "cli", "tests", "examples"};

TEST(Style, NoSourceFileIsLongerThan500Lines) {
  std::vector<std::string> places = kSources;
  places.insert(places.end(), {"cmake", "scripts", "CMakeLists.txt", "run-tests", "quickstart"});
  const auto all = files(places, {".cpp", ".hpp", ".h", ".inc", ".cu", ".cuh", ".cmake", ".sh", ".py", "CMakeLists.txt",
                                  "run-tests", "quickstart"});
  EXPECT_FALSE(all.empty());
  for (const File& file : all) {
    EXPECT_LE(std::count(file.text.begin(), file.text.end(), '\n'), 500) << file.path;
  }
}

/// Other versions break lines elsewhere.
constexpr const char* kClangFormatVersion = "version 14.";

/// The command of a clang-format of the pinned version; empty where there is none.
std::string clang_format() {
  for (const char* name : {"clang-format-14", "clang-format"}) {
    const CommandResult result = run(std::string(name) + " --version");
    if (result.exit_code == 0 && result.output.find(kClangFormatVersion) != std::string::npos) return name;
  }
  return {};
}

/// The files that the messages "file:line:column: error: ..." are about.
std::set<std::string> named_files(const std::string& messages) {
  static const std::regex pattern("(?:^|\n)([^:\n]+):[0-9]+:[0-9]+: error");
  std::set<std::string> names;
  for (std::sregex_iterator match(messages.begin(), messages.end(), pattern), end; match != end; ++match) {
    names.insert((*match)[1]);
  }
  return names;
}

TEST(Style, CodeIsFormatted) {
  const std::string program = clang_format();
  if (program.empty()) {
    const CommandResult any = run("clang-format --version");
    ASSERT_FALSE(in_ci() && any.exit_code != 0) << "clang-format is not installed";
    GTEST_SKIP() << "the format is that of clang-format " << kClangFormatVersion << "x; here is: " << any.output;
  }
  std::string command = program + " --dry-run -Werror";
  for (const File& file : files(kSources, {".cpp", ".hpp", ".h", ".inc", ".cu", ".cuh"}))
    command += " " + absolute(file.path);
  const CommandResult result = run(command);
  EXPECT_EQ(result.exit_code, 0) << "run " << program << " -i on "
                                 << ::testing::PrintToString(named_files(result.output));
}

}  // namespace
}  // namespace softmax_dispatch::tree
