#include "jit/entry.hpp"

#include <fmt/core.h>

#include <array>
#include <utility>

#include "support/text.hpp"

namespace softmax_dispatch::jit {
namespace {

constexpr std::string_view kFirstLine = "softmax_dispatch kernel 2\n";

constexpr std::string_view kCodeHash = "code_hash";

constexpr std::array<std::pair<std::string_view, int Resources::*>, 5> kFields{{
    {"registers", &Resources::registers},
    {"stack_bytes", &Resources::stack_bytes},
    {"spill_store_bytes", &Resources::spill_store_bytes},
    {"spill_load_bytes", &Resources::spill_load_bytes},
    {"shared_bytes", &Resources::shared_bytes},
}};

/// Takes "name value\n" off the front of the text.
std::optional<std::string_view> take_field(std::string_view& text, std::string_view name) {
  if (!text.starts_with(name)) return std::nullopt;
  text.remove_prefix(name.size());
  const auto end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view value = trim(text.substr(0, end));
  text.remove_prefix(end + 1);
  return value;
}

}  // namespace

std::string to_text(const Entry& entry) {
  std::string text(kFirstLine);
  for (const auto& [name, field] : kFields) text += fmt::format("{} {}\n", name, entry.resources.*field);
  return text + fmt::format("{} {}\n", kCodeHash, entry.code_hash) + entry.image;
}

std::optional<Entry> parse_entry(std::string_view text) {
  if (!text.starts_with(kFirstLine)) return std::nullopt;
  text.remove_prefix(kFirstLine.size());
  Entry entry;
  for (const auto& [name, field] : kFields) {
    const auto value = take_field(text, name);
    const auto number = value ? parse_int(*value) : std::nullopt;
    if (!number) return std::nullopt;
    entry.resources.*field = static_cast<int>(*number);
  }
  const auto code_hash = take_field(text, kCodeHash);
  if (!code_hash || code_hash->empty()) return std::nullopt;
  entry.code_hash = *code_hash;
  entry.image = text;
  return entry;
}

}  // namespace softmax_dispatch::jit
