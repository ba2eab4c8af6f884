#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "table/table.hpp"

/// Text for people: what `show` prints, and a tune at its end.
namespace softmax_dispatch::tuning {

/// Rows of cells as a Markdown table with columns as wide as their longest cell; the first row is the header. Columns
/// whose numbers are in `right` are aligned to the right.
std::string aligned_table(const std::vector<std::vector<std::string>>& rows,
                          const std::vector<std::size_t>& right = {});

/// A range whose end may be table::kOpen: "M = 7", "M <= 39", "8 <= M <= 39", "M >= 40", "any M".
std::string range_text(const char* name, std::int64_t from, std::int64_t to);

/// The thresholds of a table with the rule in words: a heading per dtype and operation, pins, then one line per
/// threshold with its M, N, alignment, configuration, margin and runner-up.
std::string thresholds_text(const table::Table& table);

}  // namespace softmax_dispatch::tuning
