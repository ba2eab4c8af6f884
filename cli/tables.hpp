#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "table/table.hpp"

namespace softmax_dispatch::cli {

/// Throws Error(io) or Error(bad_table).
table::Table load_table(const std::filesystem::path& path);

/// The table of a text that stands or will stand in `path`. Throws Error(bad_table).
table::Table parse_table(std::string_view text, const std::filesystem::path& path);

/// Where the tune that wrote the table recorded its measurements: beside it.
std::filesystem::path journal_of(const std::filesystem::path& table);

/// How the table was made, in a few lines: device, toolchain, sweep, regret.
std::string origin_text(const table::Table& table);

}  // namespace softmax_dispatch::cli
