#include "support/yaml.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <sstream>

#include "support/error.hpp"

namespace softmax_dispatch::yaml {

namespace {

// What yaml-cpp reports as the tag of a node that has none.
constexpr std::string_view kPlain = "?", kQuoted = "!";

}  // namespace

/// Turns yaml-cpp's events into nodes. Its own YAML::Node hides duplicate keys and which scalars were quoted.
struct Builder : YAML::EventHandler {
  explicit Builder(std::string_view document) : name(document) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { fail(mark, "aliases (*name) are not used here"); }
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (expects_key()) fail(mark, "a key is empty");
    finish(start(mark, Node::Kind::null, {}, anchor));
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    if (expects_key()) {
      take_key(mark, tag, anchor, value);
      return;
    }
    const bool quoted = tag == kQuoted;
    Node node = start(mark, Node::Kind::scalar, tag, anchor);
    node.text_ = value;
    node.quoted_ = quoted;
    finish(std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, Node::Kind::sequence, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, Node::Kind::map, tag, anchor);
  }
  void OnMapEnd() override { close(); }

  [[noreturn]] void fail(const YAML::Mark& mark, std::string_view message) const {
    throw_error(StatusCode::bad_table, "{}:{}: {}", name, mark.line + 1, message);
  }

  /// A sequence or map that is not complete yet.
  struct Level {
    Node node;
    std::string path;
    std::string key;  ///< Of the value that comes next, in a map.
    bool has_key = false;
  };

  bool expects_key() const {
    return !levels.empty() && levels.back().node.kind_ == Node::Kind::map && !levels.back().has_key;
  }

  void check_plain(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) const {
    if (anchor != YAML::NullAnchor) fail(mark, "anchors (&name) are not used here");
    if (!tag.empty() && tag != kPlain && tag != kQuoted) fail(mark, fmt::format("tags ({}) are not used here", tag));
  }

  void take_key(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, const std::string& key) {
    check_plain(mark, tag, anchor);
    Level& level = levels.back();
    if (level.node.has(key)) fail(mark, fmt::format("key '{}' is given twice; remove one", key));
    level.key = key;
    level.has_key = true;
  }

  std::string path_of_next() const {
    if (levels.empty()) return {};
    const Level& level = levels.back();
    if (level.node.kind_ == Node::Kind::sequence) return fmt::format("{}[{}]", level.path, level.node.items_.size());
    return level.path.empty() ? level.key : fmt::format("{}.{}", level.path, level.key);
  }

  Node start(const YAML::Mark& mark, Node::Kind kind, const std::string& tag, YAML::anchor_t anchor) const {
    check_plain(mark, tag, anchor);
    if (expects_key()) fail(mark, "a key must be a word, not a list or map");
    Node node;
    node.kind_ = kind;
    const std::string path = path_of_next();
    node.where_ = fmt::format("{}:{}{}{}", name, mark.line + 1, path.empty() ? "" : ": ", path);
    return node;
  }

  void open(const YAML::Mark& mark, Node::Kind kind, const std::string& tag, YAML::anchor_t anchor) {
    Level level;
    level.node = start(mark, kind, tag, anchor);
    level.path = path_of_next();
    levels.push_back(std::move(level));
  }

  void close() {
    Node node = std::move(levels.back().node);
    levels.pop_back();
    finish(std::move(node));
  }

  void finish(Node node) {
    if (levels.empty()) {
      root = std::move(node);
      return;
    }
    Level& level = levels.back();
    if (level.node.kind_ == Node::Kind::sequence) {
      level.node.items_.push_back(std::move(node));
    } else {
      level.node.entries_.emplace_back(std::move(level.key), std::move(node));
      level.has_key = false;
    }
  }

  std::string name;
  std::vector<Level> levels;
  Node root;
};

namespace {

/// yaml-cpp takes byte 4 for the end of the file, and a file that lost its last line's end lost more, perhaps.
void check_bytes(std::string_view text, std::string_view name) {
  const auto control = std::find_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t') || c == 0x7f;
  });
  if (control != text.end()) {
    throw_error(StatusCode::bad_table, "{}:{}: holds the control character {:#04x}; the file is damaged", name,
                std::count(text.begin(), control, '\n') + 1, static_cast<unsigned>(*control));
  }
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    throw_error(StatusCode::bad_table, "{}: the file is empty", name);
  }
  if (text.back() != '\n') {
    throw_error(StatusCode::bad_table, "{}:{}: the last line does not end in a newline; the file is truncated", name,
                std::count(text.begin(), text.end(), '\n') + 1);
  }
}

}  // namespace

Node parse(std::string_view text, std::string_view name) {
  check_bytes(text, name);
  // Without a document end yaml-cpp takes the end of the file for the closing quote of a scalar.
  std::istringstream stream(std::string(text) + "...\n");
  Builder builder(name);
  try {
    YAML::Parser parser(stream);
    parser.HandleNextDocument(builder);
    if (builder.root.kind() == Node::Kind::null) {
      throw_error(StatusCode::bad_table, "{}: the file holds nothing but comments", name);
    }
    Builder second(name);
    if (parser.HandleNextDocument(second)) {
      throw_error(StatusCode::bad_table, "{}: text follows the end of the document; a file holds one document", name);
    }
  } catch (const YAML::Exception& error) {
    if (error.mark.is_null()) {
      throw_error(StatusCode::bad_table, "{}: is not YAML, or is truncated: {}", name, error.msg);
    }
    throw_error(StatusCode::bad_table, "{}:{}: is not YAML, or is truncated: {}", name, error.mark.line + 1, error.msg);
  }
  return std::move(builder.root);
}

}  // namespace softmax_dispatch::yaml
