#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace softmax_dispatch::yaml {

/// A parsed YAML document without a trace of yaml-cpp, whose numbers follow the global locale and which keeps the first
/// of duplicate keys: here scalars stay text until asked for, and duplicate keys are refused. Every accessor throws
/// Error(bad_table) with `where()`: "t4.yaml:12: tables[0].bands[1].M: ...".
class Node {
 public:
  enum class Kind { null, scalar, sequence, map };

  Kind kind() const noexcept { return kind_; }
  const std::string& where() const noexcept { return where_; }

  const std::string& text() const;         ///< Scalar.
  std::int64_t integer() const;            ///< Scalar, decimal.
  double number() const;                   ///< Scalar with a decimal point; a decimal comma is named in the error.
  bool boolean() const;                    ///< true or false.
  const std::vector<Node>& items() const;  ///< Sequence.
  const std::vector<std::pair<std::string, Node>>& entries() const;  ///< Map, in file order.
  std::vector<std::int64_t> integers() const;                        ///< Sequence of integers.

  bool has(std::string_view key) const;
  const Node& at(std::string_view key) const;    ///< Throws where the key is missing, naming it.
  const Node* find(std::string_view key) const;  ///< Null where the key is missing.
  /// Throws for a key that is not in `known`, naming it and the nearest known key.
  void only(std::initializer_list<std::string_view> known) const { only(std::vector<std::string_view>(known)); }
  void only(const std::vector<std::string_view>& known) const;

  [[noreturn]] void fail(std::string_view message) const;  ///< Error(bad_table) at this node.

 private:
  friend struct Builder;
  Kind kind_ = Kind::null;
  std::string text_;
  std::string where_;
  bool quoted_ = false;
  std::vector<Node> items_;
  std::vector<std::pair<std::string, Node>> entries_;
};

/// Parses a document; `name` stands at the front of every message. Throws Error(bad_table) for text that is not YAML,
/// is truncated, holds more than one document, anchors, tags, or a key twice.
Node parse(std::string_view text, std::string_view name);

/// A scalar as it must be written to read back as this text: quoted where YAML would take it for something else.
std::string quote(std::string_view text);

}  // namespace softmax_dispatch::yaml
