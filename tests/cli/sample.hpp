#pragma once

#include <filesystem>
#include <string>

#include "table/table.hpp"

namespace softmax_dispatch::testing {

/// A small valid table: short rows to v8, longer ones to v7 where rows are aligned, all others to the
/// unbounded variant; M = 7, N = 100 is pinned to v7.
table::Table sample_table(const std::string& arch = "sm_90");

/// Writes the sample table into the folder and returns its path.
std::filesystem::path write_sample_table(const std::filesystem::path& folder, const std::string& arch = "sm_90");

}  // namespace softmax_dispatch::testing
