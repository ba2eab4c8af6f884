#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <softmax_dispatch/problem.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace softmax_dispatch {

/// Values of a variant's axes by name: compile-time constants (THREADS, ITEMS, VEC_ITEMS) and launch parameters (GRID).
using Constants = std::map<std::string, std::int64_t, std::less<>>;

/// A variant with every axis set, and the type it computes. Its text form is canonical: the id, the type where it is
/// not f32, then NAME=value in alphabetical order.
struct Config {
  std::string variant;
  Constants constants;
  DType dtype = DType::f32;

  friend bool operator==(const Config&, const Config&) = default;
  friend auto operator<=>(const Config&, const Config&) = default;
};

/// What a kernel's source is compiled with: a macro for each constant, and TYPE=f32|f16|bf16 where the source computes
/// several types.
struct Macros {
  Macros() = default;
  Macros(Constants all, std::optional<DType> of = {}) : constants(std::move(all)), type(of) {}

  Constants constants;  ///< The compile-time constants alone.
  std::optional<DType> type;
};

std::string to_string(const Config& config);        ///< "v7 THREADS=256 VEC_ITEMS=4", "unbounded f16 THREADS=256"
std::string to_string(const Constants& constants);  ///< "THREADS=256 VEC_ITEMS=4"
std::string to_string(const Macros& macros);        ///< "THREADS=256 TYPE=f16"

/// Reads the text form, in any order of the constants; the type may be f32. Throws Error(invalid_argument) for anything
/// else, a name given twice included.
Config parse_config(std::string_view text);

}  // namespace softmax_dispatch
