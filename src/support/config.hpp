#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace softmax_dispatch {

/// Values of a variant's axes by name: compile-time constants (THREADS, ITEMS, VEC_ITEMS) and launch parameters (GRID).
using Constants = std::map<std::string, std::int64_t, std::less<>>;

/// A variant with every axis set. Its text form is canonical: the id, then NAME=value in alphabetical order.
struct Config {
  std::string variant;
  Constants constants;

  friend bool operator==(const Config&, const Config&) = default;
  friend auto operator<=>(const Config&, const Config&) = default;
};

std::string to_string(const Config& config);        ///< "v7 THREADS=256 VEC_ITEMS=4"
std::string to_string(const Constants& constants);  ///< "THREADS=256 VEC_ITEMS=4"

/// Reads the text form, in any order of the constants. Throws Error(invalid_argument) for anything else, a name given
/// twice included.
Config parse_config(std::string_view text);

}  // namespace softmax_dispatch
