#include "unit/tree/source_tree.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <stdexcept>

namespace softmax_dispatch::tree {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = SOFTMAX_DISPATCH_SOURCE_DIR;

std::string read(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw std::runtime_error("cannot read " + path.string());
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// Where the string or character literal that starts at `from` ends: one past its closing quote.
std::size_t literal_end(std::string_view text, std::size_t from) {
  if (from > 0 && text[from - 1] == 'R' && text[from] == '"') {
    const std::size_t open = text.find('(', from);
    if (open == std::string_view::npos) return text.size();
    const std::string close = ")" + std::string(text.substr(from + 1, open - from - 1)) + "\"";
    const std::size_t end = text.find(close, open);
    return end == std::string_view::npos ? text.size() : end + close.size();
  }
  for (std::size_t i = from + 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == text[from] || text[i] == '\n') {
      return i + 1;
    }
  }
  return text.size();
}

bool starts_literal(std::string_view text, std::size_t i) {
  if (text[i] == '"') return true;
  // An apostrophe after a digit separates digits: 1'000.
  return text[i] == '\'' && (i == 0 || std::isalnum(static_cast<unsigned char>(text[i - 1])) == 0);
}

}  // namespace

std::vector<File> files(const std::vector<std::string>& places, const std::vector<std::string>& endings) {
  std::vector<File> found;
  const auto add = [&](const fs::path& path) {
    const std::string name = path.filename().string();
    const bool wanted = std::any_of(endings.begin(), endings.end(), [&](const auto& e) { return name.ends_with(e); });
    if (wanted) found.push_back({fs::relative(path, kRoot).generic_string(), read(path)});
  };
  for (const std::string& place : places) {
    const fs::path path = kRoot / place;
    if (fs::is_regular_file(path)) add(path);
    if (!fs::is_directory(path)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(path)) {
      if (entry.is_regular_file()) add(entry.path());
    }
  }
  std::sort(found.begin(), found.end(), [](const File& a, const File& b) { return a.path < b.path; });
  return found;
}

std::string strip(std::string_view text, bool keep_strings) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    if (text.substr(i, 2) == "//") {
      i = std::min(text.find('\n', i), text.size());
    } else if (text.substr(i, 2) == "/*") {
      const std::size_t end = std::min(text.find("*/", i + 2), text.size() - 2) + 2;
      out.append(static_cast<std::size_t>(std::count(text.begin() + static_cast<std::ptrdiff_t>(i),
                                                     text.begin() + static_cast<std::ptrdiff_t>(end), '\n')),
                 '\n');
      i = end;
    } else if (starts_literal(text, i)) {
      const std::string_view literal = text.substr(i, literal_end(text, i) - i);
      if (keep_strings) {
        out += literal;
      } else {
        out += literal.front();
        std::copy_if(literal.begin(), literal.end(), std::back_inserter(out), [](char c) { return c == '\n'; });
        out += literal.front();
      }
      i += literal.size();
    } else {
      out += text[i++];
    }
  }
  return out;
}

std::vector<int> matching_lines(const std::string& text, const std::string& expression) {
  const std::regex pattern(expression);
  std::vector<int> numbers;
  std::istringstream stream(text);
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    if (std::regex_search(line, pattern)) numbers.push_back(number);
  }
  return numbers;
}

std::vector<std::string> includes(const std::string& text) {
  static const std::regex pattern(R"((?:^|\n)[ \t]*#[ \t]*include[ \t]*([<"][^>"\n]*[>"]))");
  std::vector<std::string> names;
  for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match) {
    names.push_back((*match)[1]);
  }
  return names;
}

CommandResult run(const std::string& command) {
  std::FILE* pipe = popen(("{ " + command + "; } 2>&1").c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot run " + command);
  CommandResult result;
  char buffer[4096];
  while (const std::size_t size = std::fread(buffer, 1, sizeof buffer, pipe)) result.output.append(buffer, size);
  const int status = pclose(pipe);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

std::string absolute(const std::string& path) {
  return "'" + (kRoot / path).string() + "'";
}

bool in_ci() {
  const char* ci = std::getenv("CI");
  return ci != nullptr && std::string_view(ci) == "true";
}

}  // namespace softmax_dispatch::tree
