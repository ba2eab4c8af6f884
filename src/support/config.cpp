#include "support/config.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "support/dtype.hpp"
#include "support/error.hpp"
#include "support/text.hpp"

namespace softmax_dispatch {
namespace {

/// `letter` is 'a' or 'A': words of that case, digits and underscores that start with a letter.
bool is_word(std::string_view text, char letter) {
  const auto is_letter = [letter](char c) { return c >= letter && c < letter + 26; };
  return !text.empty() && is_letter(text.front()) && std::all_of(text.begin(), text.end(), [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '_';
  });
}

[[noreturn]] void fail(std::string_view text, const std::string& why) {
  throw_error(StatusCode::invalid_argument, "configuration '{}': {}; write it like 'v7 THREADS=256 VEC_ITEMS=4'", text,
              why);
}

}  // namespace

std::string to_string(const Constants& constants) {
  std::string text;
  for (const auto& [name, value] : constants) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  }
  return text;
}

std::string to_string(const Config& config) {
  std::string text = config.variant;
  if (config.dtype != DType::f32) text += fmt::format(" {}", to_string(config.dtype));
  if (!config.constants.empty()) text += ' ' + to_string(config.constants);
  return text;
}

std::string to_string(const Macros& macros) {
  std::string text = to_string(macros.constants);
  if (macros.type) text += fmt::format("{}TYPE={}", text.empty() ? "" : " ", to_string(*macros.type));
  return text;
}

Config parse_config(std::string_view text) {
  Config config;
  bool may_be_type = false;  // the word after the id
  for (const std::string_view word : split(trim(text), ' ')) {
    if (config.variant.empty()) {
      if (!is_word(word, 'a')) fail(text, fmt::format("'{}' is no variant id", word));
      config.variant = word;
      may_be_type = true;
      continue;
    }
    if (word.empty()) continue;
    if (const auto dtype = dtype_of(word); dtype && std::exchange(may_be_type, false)) {
      config.dtype = *dtype;
      continue;
    }
    may_be_type = false;
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    if (equals == std::string_view::npos || !is_word(name, 'A')) {
      fail(text, fmt::format("'{}' is not of the form NAME=value with a name in capitals", word));
    }
    const std::optional<std::int64_t> value = parse_int(word.substr(equals + 1));
    if (!value) fail(text, fmt::format("the value of {} in '{}' is no integer", name, word));
    if (!config.constants.emplace(name, *value).second) fail(text, fmt::format("{} is given twice", name));
  }
  return config;
}

}  // namespace softmax_dispatch
