#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "support/files.hpp"
#include "support/text.hpp"
#include "unit/tree/source_tree.hpp"
#include "variants/registry.hpp"

namespace softmax_dispatch::tree {
namespace {

std::vector<File> documents() {
  return files({"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs"}, {".md"});
}

std::string readme() {
  return files({"README.md"}, {".md"}).at(0).text;
}

/// The lines of the fenced blocks that are in the language, e.g. "sh".
std::vector<std::string> code_lines(const std::string& markdown, const std::string& language) {
  std::vector<std::string> lines;
  bool inside = false;
  std::istringstream stream(markdown);
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("```")) {
      inside = line == "```" + language;
    } else if (inside) {
      lines.push_back(line);
    }
  }
  return lines;
}

/// The registry as the table of the README.
std::string variants_table() {
  std::string table = "| id | scans | axes | needs | what is new in it | selectable |\n|---|---|---|---|---|---|\n";
  for (const Variant* variant : registry().all()) {
    std::vector<std::string> axes;
    for (const Axis& axis : variant->axes()) axes.push_back(axis.name);
    table += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", variant->id(), variant->scans(), join(axes, ", "),
                         variant->needs(), variant->summary(), variant->selectable() ? "yes" : "no");
  }
  return table;
}

TEST(Documents, TheReadmeListsTheVariantsOfTheRegistry) {
  EXPECT_NE(readme().find("\n" + variants_table() + "\n"), std::string::npos)
      << "the README's table of variants must read:\n"
      << variants_table();
}

TEST(Documents, RelativeLinksLeadToFiles) {
  const std::regex link(R"(\]\(([^)#:\s]+)(#[^)\s]*)?\))");
  int checked = 0;
  for (const File& document : documents()) {
    const std::filesystem::path folder = std::filesystem::path(SOFTMAX_DISPATCH_SOURCE_DIR) / document.path;
    for (std::sregex_iterator match(document.text.begin(), document.text.end(), link), end; match != end; ++match) {
      const std::string target = (*match)[1];
      EXPECT_TRUE(std::filesystem::exists(folder.parent_path() / target)) << document.path << " links to " << target;
      ++checked;
    }
  }
  EXPECT_GT(checked, 0);
}

TEST(Documents, ScriptsInTheReadmeExist) {
  const std::regex script(R"(^\./([a-z-]+))");
  for (const std::string& line : code_lines(readme(), "sh")) {
    std::smatch match;
    if (!std::regex_search(line, match, script)) continue;
    EXPECT_EQ(run("test -x " + absolute(match[1])).exit_code, 0) << line;
  }
}

TEST(Documents, TheProgramInTheReadmeCompiles) {
  const TemporaryDirectory folder;
  const std::filesystem::path program = folder.path() / "readme.cpp";
  std::ofstream(program) << join(code_lines(readme(), "cpp"), "\n") << "\n";
  const CommandResult result =
      run("'" SOFTMAX_DISPATCH_CXX
          "' -std=c++17 -Wall -Wextra -Werror -fsyntax-only -isystem " SOFTMAX_DISPATCH_CUDA_INCLUDE " -I " +
          absolute("src/include") + " -I '" SOFTMAX_DISPATCH_BINARY_DIR "/include' '" + program.string() + "'");
  EXPECT_EQ(result.exit_code, 0) << result.output;
}

/// Each `softmax-tune ...` line of the README's shell blocks: its subcommand exists, and its options stand in the help.
TEST(Documents, CommandsInTheReadmeExist) {
  const std::regex command(R"(\bsoftmax-tune( [a-z]+\b)?)");
  const std::regex option(R"(\s(--[a-z-]+))");
  int checked = 0;
  for (const std::string& line : code_lines(readme(), "sh")) {
    std::smatch match;
    if (line.starts_with("cmake") || !std::regex_search(line, match, command)) continue;
    const CommandResult help = run("'" SOFTMAX_DISPATCH_BINARY_DIR "/softmax-tune'" + match[1].str() + " --help");
    EXPECT_EQ(help.exit_code, 0) << line << "\n" << help.output;
    for (std::sregex_iterator name(line.begin(), line.end(), option), end; name != end; ++name) {
      EXPECT_NE(help.output.find((*name)[1]), std::string::npos) << line << "\n" << help.output;
    }
    ++checked;
  }
  EXPECT_GT(checked, 0);
}

}  // namespace
}  // namespace softmax_dispatch::tree
