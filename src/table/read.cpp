#include "table/read.hpp"

#include <fmt/core.h>
#include <softmax_dispatch/version.h>

#include <algorithm>

#include "support/error.hpp"
#include "support/text.hpp"
#include "table/flaw.hpp"

namespace softmax_dispatch::table {
namespace {

void check_end(std::string_view text, std::string_view name) {
  std::string_view last;
  for (const std::string_view line : split(text, '\n')) {
    const std::string_view content = trim(line);
    if (!content.empty() && content.front() != '#') last = content;
  }
  if (last == kEnd) return;
  throw_error(
      StatusCode::bad_table,
      "{}:{}: the file does not end with the line '{}', as every decision table does: it is truncated, or is no "
      "table; make it anew with softmax-tune, or restore it",
      name, std::count(text.begin(), text.end(), '\n') + 1, kEnd);
}

/// A newer schema may have any keys, so it is refused before they are looked at.
void check_schema(const yaml::Node& root) {
  const yaml::Node& schema = root.at("schema");
  if (schema.integer() <= kSchema) return;
  const yaml::Node* library = root.find("library");
  schema.fail(fmt::format(
      "{} is newer than {}, the newest that this version of the library ({}) reads; use version {} or newer, or make "
      "the table anew with the softmax-tune of this version",
      schema.integer(), kSchema, SOFTMAX_DISPATCH_VERSION,
      library && library->kind() == yaml::Node::Kind::scalar ? library->text() : "that wrote it"));
}

/// The node at a path like tables[0].bands[1], or the last one on the way that exists.
const yaml::Node& locate(const yaml::Node& root, std::string_view path) {
  const yaml::Node* node = &root;
  for (const std::string_view step : split(path, '.')) {
    const std::size_t bracket = step.find('[');
    const yaml::Node* next = node->find(step.substr(0, bracket));
    if (!next) break;
    node = next;
    if (bracket == std::string_view::npos) continue;
    const auto index = parse_int(step.substr(bracket + 1, step.size() - bracket - 2));
    node = &node->items().at(static_cast<std::size_t>(index.value()));
  }
  return *node;
}

void set_positions(Table& table) {
  const auto position = [&](const std::string& use) {
    return Position{static_cast<std::size_t>(table.find(use) - table.kernels.data())};
  };
  for (Pin& pin : table.pins) pin.kernel = position(pin.use);
  for (OpTable& op : table.tables) {
    for (Band& band : op.bands) {
      for (Threshold& threshold : band.thresholds) threshold.kernel = position(threshold.use);
    }
  }
}

}  // namespace

Table read(std::string_view text, std::string_view name, bool (*known_variant)(std::string_view id)) {
  check_end(text, name);
  const yaml::Node root = yaml::parse(text, name);
  check_schema(root);
  Table table;
  read_record(root, table);
  if (const std::optional<Flaw> flaw = find_flaw(table, known_variant)) locate(root, flaw->path).fail(flaw->message);
  set_positions(table);
  return table;
}

}  // namespace softmax_dispatch::table
