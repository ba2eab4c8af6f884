#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "table/table.hpp"

/// A table that was read, as bytes from which it is made again in a small part of the time that its text takes: a table
/// of a standard tune has some thousand lines, and every process that dispatches begins with it. The bytes are those of
/// this machine and of this version of the library.
namespace softmax_dispatch::table {

/// Changes with what the bytes mean.
inline constexpr std::string_view kSnapshotFormat = "1";

std::string to_snapshot(Table table);
/// With every Position as read() sets it; nullopt for what is no whole snapshot. Nothing is validated again.
std::optional<Table> from_snapshot(std::string_view bytes);

}  // namespace softmax_dispatch::table
