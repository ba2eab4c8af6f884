#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace softmax_dispatch {

/// Numbers to and from text, always with a decimal point whatever the process's locale says.
std::optional<std::int64_t> parse_int(std::string_view text) noexcept;  ///< The whole text, decimal, optional '-'.
std::optional<double> parse_double(std::string_view text) noexcept;     ///< The whole text; finite values only.
std::string format_double(double value);                                ///< Shortest text that reads back the same.

std::vector<std::string_view> split(std::string_view text, char separator);  ///< "a,b" -> {a, b}; "" -> {""}.
std::string_view trim(std::string_view text) noexcept;
std::string join(const std::vector<std::string>& parts, std::string_view separator);

}  // namespace softmax_dispatch
