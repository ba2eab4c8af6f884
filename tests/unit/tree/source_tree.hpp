#pragma once

#include <string>
#include <string_view>
#include <vector>

/// The repository's own files, for the tests that hold rules of the tree.
namespace softmax_dispatch::tree {

struct File {
  std::string path;  ///< Relative to the repository, e.g. "src/table/table.hpp".
  std::string text;
};

/// The files under `places` (folders, or files) whose names end in one of `endings`, by path.
std::vector<File> files(const std::vector<std::string>& places, const std::vector<std::string>& endings);

/// C++ or CUDA text without its comments; without the contents of its string literals too, unless `keep_strings`.
std::string strip(std::string_view text, bool keep_strings);

/// Numbers of the lines of `text` that match the regular expression, from 1.
std::vector<int> matching_lines(const std::string& text, const std::string& expression);

/// The names in the `#include` lines, with their quotes or brackets.
std::vector<std::string> includes(const std::string& text);

/// What a shell command prints on stdout and stderr, and its exit code.
struct CommandResult {
  int exit_code = 0;
  std::string output;
};
CommandResult run(const std::string& command);

/// A path of the repository, quoted for the shell where it goes into run().
std::string absolute(const std::string& path);
bool in_ci();

}  // namespace softmax_dispatch::tree
