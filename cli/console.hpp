#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "tuning/tuner.hpp"

/// Data goes to stdout, progress to stderr.
namespace softmax_dispatch::cli {

/// Writes to stdout. Throws Error(io) where that fails, a full disk included.
void print(std::string_view text);

/// A table for people that is valid Markdown: columns as wide as their longest cell, numbers to the right.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header);
  void add(std::vector<std::string> row);  ///< As many cells as the header has.
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;  ///< The header first.
};

/// Shows how far a long command is: one line that is written over on a terminal, else a line every few seconds.
class ProgressLine {
 public:
  explicit ProgressLine(bool quiet);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void update(const tuning::Progress& progress);

 private:
  bool quiet_;
  bool terminal_;
  bool shown_ = false;
  std::string stage_;
  std::chrono::steady_clock::time_point last_;
};

/// "measure 12 of 345, 1:20 left: v7 THREADS=256 VEC_ITEMS=4"
std::string progress_text(const tuning::Progress& progress);

}  // namespace softmax_dispatch::cli
