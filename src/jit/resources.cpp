#include "jit/resources.hpp"

#include <algorithm>
#include <cctype>
#include <optional>

#include "support/error.hpp"
#include "support/text.hpp"

namespace softmax_dispatch::jit {
namespace {

bool is_digit(char c) noexcept {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

/// The largest of the numbers that stand before the words. A log has several where functions were not inlined.
std::optional<int> largest_before(std::string_view log, std::string_view words) {
  std::optional<int> largest;
  for (auto at = log.find(words); at != std::string_view::npos; at = log.find(words, at + 1)) {
    auto first = at;
    while (first > 0 && is_digit(log[first - 1])) --first;
    if (const auto value = parse_int(log.substr(first, at - first))) {
      largest = std::max(largest.value_or(0), static_cast<int>(*value));
    }
  }
  return largest;
}

int largest_of(std::string_view log, std::initializer_list<std::string_view> wordings) {
  int largest = 0;
  for (const std::string_view words : wordings) largest = std::max(largest, largest_before(log, words).value_or(0));
  return largest;
}

}  // namespace

Resources parse_resources(std::string_view log) {
  const auto registers = largest_before(log, " registers");
  if (!registers) {
    throw_error(StatusCode::toolchain, "the compiler's report has no count of registers: '{}'", trim(log));
  }
  Resources resources;
  resources.registers = *registers;
  resources.stack_bytes = largest_of(log, {" bytes stack", " bytes cumulative stack"});
  resources.spill_store_bytes = largest_of(log, {" bytes spill store"});
  resources.spill_load_bytes = largest_of(log, {" bytes spill load"});
  resources.shared_bytes = largest_of(log, {" bytes smem", " bytes shared"});
  return resources;
}

std::vector<std::string> parse_entries(std::string_view log) {
  constexpr std::string_view kBefore = "entry function '";
  std::vector<std::string> names;
  for (auto at = log.find(kBefore); at != std::string_view::npos; at = log.find(kBefore, at + 1)) {
    const auto first = at + kBefore.size();
    names.emplace_back(log.substr(first, log.find('\'', first) - first));
  }
  return names;
}

}  // namespace softmax_dispatch::jit
