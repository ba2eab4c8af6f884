#include "cli/console.hpp"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <system_error>
#include <utility>

#include "support/error.hpp"
#include "support/text.hpp"
#include "tuning/report.hpp"

namespace softmax_dispatch::cli {
namespace {

constexpr std::chrono::milliseconds kTerminalInterval{100};
constexpr std::chrono::seconds kPlainInterval{5};
constexpr std::string_view kClearLine = "\r\033[K";

std::size_t terminal_width() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/// A cell in one line, whose bars don't end the cell.
std::string escaped(std::string_view cell) {
  std::string text;
  for (const char c : cell) {
    if (c == '|') text += '\\';
    text += c == '\n' ? ' ' : c;
  }
  return text;
}

}  // namespace

void print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    throw_error(StatusCode::io, "cannot write to standard output: {}", std::generic_category().message(errno));
  }
}

TextTable::TextTable(std::vector<std::string> header) {
  rows_.push_back(std::move(header));
}

void TextTable::add(std::vector<std::string> row) {
  for (std::string& cell : row) cell = escaped(cell);
  rows_.push_back(std::move(row));
}

std::string TextTable::text() const {
  const auto numeric = [&](std::size_t column) {
    bool some = false;
    for (std::size_t row = 1; row < rows_.size(); ++row) {
      const std::string& cell = rows_[row][column];
      const bool none = cell.empty() || cell == "-";
      if (!none && !parse_double(cell)) return false;
      some |= !none;
    }
    return some;
  };
  std::vector<std::size_t> right;
  for (std::size_t column = 0; column < rows_.front().size(); ++column) {
    if (numeric(column)) right.push_back(column);
  }
  return tuning::aligned_table(rows_, right);
}

ProgressLine::ProgressLine(bool quiet) : quiet_(quiet), terminal_(isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() {
  if (shown_ && terminal_) std::fwrite(kClearLine.data(), 1, kClearLine.size(), stderr);
}

void ProgressLine::update(const tuning::Progress& progress) {
  if (quiet_) return;
  const auto now = std::chrono::steady_clock::now();
  const std::chrono::milliseconds interval = terminal_ ? kTerminalInterval : kPlainInterval;
  if (shown_ && stage_ == progress.stage && now - last_ < interval) return;
  stage_ = progress.stage;
  last_ = now;
  shown_ = true;
  std::string text = progress_text(progress);
  if (terminal_) {
    text = fmt::format("{}{}", kClearLine, text.substr(0, terminal_width() - 1));
  } else {
    text = fmt::format("softmax-tune: {}\n", text);
  }
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

std::string progress_text(const tuning::Progress& progress) {
  std::string text = progress.stage;
  if (progress.total > 0) text += fmt::format(" {} of {}", progress.done, progress.total);
  if (progress.seconds_left) {
    const auto seconds = static_cast<std::int64_t>(std::ceil(std::max(0.0, *progress.seconds_left)));
    text += fmt::format(", {}:{:02} left", seconds / 60, seconds % 60);
  }
  if (!progress.detail.empty()) text += ": " + progress.detail;
  return text;
}

}  // namespace softmax_dispatch::cli
