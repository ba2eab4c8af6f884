#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "table/table.hpp"

namespace softmax_dispatch::table {

/// Why a table is refused, and where: "tables[0].bands[1].M".
struct Flaw {
  std::string path;
  std::string message;
};

/// The first flaw in the order of the file, of those that validate() describes.
std::optional<Flaw> find_flaw(const Table& table, bool (*known_variant)(std::string_view id));

}  // namespace softmax_dispatch::table
