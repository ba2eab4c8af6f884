#include <fmt/core.h>

#include <cmath>
#include <type_traits>

#include "support/error.hpp"
#include "support/text.hpp"
#include "support/yaml.hpp"
#include "table/fields.hpp"
#include "table/table.hpp"

namespace softmax_dispatch::table {
namespace {

constexpr std::string_view kComment =
    "# Decision table of softmax_dispatch: which verified kernel serves a softmax of M rows of N elements. See "
    "docs/table.md.\n"
    "# To read it: the first of `pins` that holds the shape decides; else, in the band of M, the first threshold of "
    "the "
    "rows' alignment with N <= N_to.\n";

/// Records that take one line: {key: value, ...}.
template <typename T>
constexpr bool kOneLine =
    std::is_same_v<T, Quality> || std::is_same_v<T, ResourceRecord> || std::is_same_v<T, VerificationRecord> ||
    std::is_same_v<T, Pin> || std::is_same_v<T, Threshold>;

std::string bound(std::int64_t value) {
  return value == kOpen ? "open" : std::to_string(value);
}

std::string value_text(std::int64_t value) {
  return std::to_string(value);
}
std::string value_text(int value) {
  return std::to_string(value);
}
std::string value_text(bool value) {
  return value ? "true" : "false";
}
std::string value_text(double value) {
  if (!std::isfinite(value)) throw_error(StatusCode::internal, "a decision table cannot hold the number {}", value);
  return format_double(value);
}
std::string value_text(const std::string& value) {
  return yaml::quote(value);
}
std::string value_text(const Hash& hash) {
  const std::string text = yaml::quote(hash.text);
  return text.front() == '"' ? text : '"' + text + '"';
}
std::string value_text(DType value) {
  return to_string(value);
}
std::string value_text(Alignment value) {
  return to_string(value);
}
std::string value_text(Schema) {
  return std::to_string(kSchema);
}
std::string value_text(const Kind& kind) {
  return kind.simulated ? "simulated" : "measured";
}
std::string value_text(const Bound& value) {
  return bound(value.value);
}
std::string value_text(const Range& range) {
  return fmt::format("[{}, {}]", range.from, bound(range.to));
}
std::string value_text(const std::pair<std::int64_t, std::int64_t>& pair) {
  return fmt::format("[{}, {}]", pair.first, pair.second);
}
std::string value_text(const Constants& constants) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : constants) parts.push_back(fmt::format("{}: {}", yaml::quote(name), value));
  return '{' + join(parts, ", ") + '}';
}
template <typename T>
std::string value_text(const std::vector<T>& values) {
  std::vector<std::string> parts;
  parts.reserve(values.size());
  for (const T& value : values) parts.push_back(value_text(value));
  return '[' + join(parts, ", ") + ']';
}

struct LineWriter {
  std::vector<std::string> parts;

  template <typename T>
  void operator()(std::string_view key, const T& value) {
    parts.push_back(fmt::format("{}: {}", key, value_text(value)));
  }
  template <typename T>
  void operator()(std::string_view key, const std::optional<T>& value) {
    if (value) (*this)(key, *value);
  }
};

template <typename T>
std::string line(T record) {
  LineWriter writer;
  fields(writer, record);
  return '{' + join(writer.parts, ", ") + '}';
}

/// Writes one key a line. The first follows `lead`, the others the same indentation.
class BlockWriter {
 public:
  BlockWriter(std::string& out, std::size_t indent, std::string lead)
      : out_(out), indent_(indent), lead_(std::move(lead)) {}

  void operator()(std::string_view key, const Quality& quality) {
    if (quality.regret_geomean || quality.regret_worst) add(key, ' ' + line(quality));
  }
  template <typename T>
  void operator()(std::string_view key, const MayBeAbsent<T>& list) {
    if (!list.items.empty()) (*this)(key, list.items);
  }
  template <typename T>
  void operator()(std::string_view key, const std::optional<T>& record) {
    if (record) (*this)(key, *record);
  }
  template <typename T>
  void operator()(std::string_view key, const std::vector<T>& items) {
    if constexpr (requires(const T& item) { value_text(item); }) {
      add(key, ' ' + value_text(items));
    } else if (items.empty()) {
      add(key, " []");
    } else {
      add(key, "");
      for (const T& item : items) add_item(item);
    }
  }
  template <typename T>
  void operator()(std::string_view key, const T& value) {
    if constexpr (requires { value_text(value); }) {
      add(key, ' ' + value_text(value));
    } else if constexpr (kOneLine<T>) {
      add(key, ' ' + line(value));
    } else {
      add(key, "");
      add_block(value, std::string(indent_ + 2, ' '));
    }
  }

 private:
  void add(std::string_view key, const std::string& value) {
    out_ += fmt::format("{}{}:{}\n", lead_, key, value);
    lead_ = std::string(indent_, ' ');
  }

  template <typename T>
  void add_item(const T& item) {
    const std::string dash = std::string(indent_, ' ') + "  - ";
    if constexpr (kOneLine<T>) {
      out_ += dash + line(item) + '\n';
    } else {
      add_block(item, dash);
    }
  }

  template <typename T>
  void add_block(T record, const std::string& lead) {
    BlockWriter writer(out_, lead.size(), lead);
    fields(writer, record);
  }

  std::string& out_;
  std::size_t indent_;
  std::string lead_;
};

}  // namespace

std::string write(const Table& table) {
  std::string text(kComment);
  BlockWriter writer(text, 0, "");
  Table copy = table;  // the lists of keys serve the reader too, and so take records that can be changed
  fields(writer, copy);
  return text.append(kEnd) + '\n';
}

}  // namespace softmax_dispatch::table
