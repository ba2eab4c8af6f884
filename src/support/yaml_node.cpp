#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <numeric>

#include "support/error.hpp"
#include "support/text.hpp"
#include "support/yaml.hpp"

namespace softmax_dispatch::yaml {
namespace {

const char* describe(Node::Kind kind) {
  switch (kind) {
    case Node::Kind::null:
      return "nothing";
    case Node::Kind::scalar:
      return "a single value";
    case Node::Kind::sequence:
      return "a list";
    case Node::Kind::map:
      return "a map";
  }
  return "nothing";
}

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<std::string> with_decimal_point(std::string text) {
  const std::size_t comma = text.find(',');
  if (comma == std::string::npos) return std::nullopt;
  text[comma] = '.';
  return parse_double(text) ? std::optional(text) : std::nullopt;
}

/// Number of single-character edits between two words.
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

void Node::fail(std::string_view message) const {
  throw_error(StatusCode::bad_table, "{}: {}", where_, message);
}

const std::string& Node::text() const {
  if (kind_ != Kind::scalar) fail(fmt::format("must be a single value, but is {}", describe(kind_)));
  return text_;
}

double Node::number() const {
  const std::string& written = text();
  if (quoted_) fail(fmt::format("must be a number, but '{}' is in quotes; remove them", written));
  const std::optional<double> value = parse_double(written);
  if (value) return *value;
  if (const auto corrected = with_decimal_point(written)) {
    fail(fmt::format("'{}' has a decimal comma; write it with a decimal point: {}", written, *corrected));
  }
  fail(fmt::format("must be a number, but is '{}'", written));
}

std::int64_t Node::integer() const {
  const std::string& written = text();
  if (quoted_) fail(fmt::format("must be an integer, but '{}' is in quotes; remove them", written));
  const std::optional<std::int64_t> value = parse_int(written);
  if (value) return *value;
  if (const auto corrected = with_decimal_point(written)) {
    fail(fmt::format("must be an integer, but '{}' has a decimal comma", written));
  }
  fail(fmt::format("must be an integer that fits in 64 bits, but is '{}'", written));
}

bool Node::boolean() const {
  const std::string& written = text();
  if (!quoted_ && written == "true") return true;
  if (!quoted_ && written == "false") return false;
  fail(fmt::format("must be true or false, but is '{}'", written));
}

const std::vector<Node>& Node::items() const {
  if (kind_ != Kind::sequence) fail(fmt::format("must be a list, but is {}", describe(kind_)));
  return items_;
}

const std::vector<std::pair<std::string, Node>>& Node::entries() const {
  if (kind_ != Kind::map) fail(fmt::format("must be a map of keys and values, but is {}", describe(kind_)));
  return entries_;
}

std::vector<std::int64_t> Node::integers() const {
  std::vector<std::int64_t> values;
  for (const Node& item : items()) values.push_back(item.integer());
  return values;
}

const Node* Node::find(std::string_view key) const {
  for (const auto& [name, value] : entries()) {
    if (name == key) return &value;
  }
  return nullptr;
}

bool Node::has(std::string_view key) const {
  return find(key) != nullptr;
}

const Node& Node::at(std::string_view key) const {
  const Node* value = find(key);
  if (!value) fail(fmt::format("key '{}' is missing", key));
  return *value;
}

void Node::only(const std::vector<std::string_view>& known) const {
  for (std::size_t i = 0; i < entries().size(); ++i) {
    const std::string& key = entries_[i].first;
    const Node& value = entries_[i].second;
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    // Inside {...} a comma ends the value: `{margin_pct: 3,1}` reads as a 3 and a key named 1.
    if (i > 0 && value.kind_ == Kind::null && all_digits(key) && parse_int(entries_[i - 1].second.text_)) {
      const Node& number = entries_[i - 1].second;
      number.fail(
          fmt::format("'{0},{1}' has a decimal comma; write it with a decimal point: {0}.{1}", number.text_, key));
    }
    const auto nearest = std::min_element(known.begin(), known.end(), [&](std::string_view a, std::string_view b) {
      return edits(key, a) < edits(key, b);
    });
    if (nearest == known.end()) value.fail(fmt::format("key '{}' is unknown; no keys are allowed here", key));
    value.fail(fmt::format("key '{}' is unknown; did you mean '{}'?", key, *nearest));
  }
}

std::string quote(std::string_view text) {
  static constexpr std::string_view kWords[] = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"};
  const auto is_alnum = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  const bool plain =
      !text.empty() && is_alnum(text.front()) && !(text.front() >= '0' && text.front() <= '9') && text.back() != ' ' &&
      std::all_of(
          text.begin(), text.end(),
          [&](char c) { return is_alnum(c) || std::string_view("_./+-= ()").find(c) != std::string_view::npos; }) &&
      std::find(std::begin(kWords), std::end(kWords), lower) == std::end(kWords);
  if (plain) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      quoted += fmt::format("\\x{:02x}", byte);
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

}  // namespace softmax_dispatch::yaml
