#include <fmt/core.h>
#include <softmax_dispatch/version.h>

#include <array>
#include <limits>

#include "support/dtype.hpp"
#include "table/read.hpp"

namespace softmax_dispatch::table {
namespace {

/// The value whose to_string() is the node's text.
template <typename T, std::size_t Count>
T one_of(const yaml::Node& node, const std::array<T, Count>& values, std::string_view words) {
  for (const T value : values) {
    if (node.text() == to_string(value)) return value;
  }
  node.fail(fmt::format("must be {}, but is '{}'", words, node.text()));
}

std::int64_t closed_bound(const yaml::Node& node) {
  const std::int64_t value = node.integer();
  if (value < 1 || value == kOpen)
    node.fail(fmt::format("must be at least 1, but is {}; for no bound write open", value));
  return value;
}

const std::vector<yaml::Node>& two_items(const yaml::Node& node) {
  const std::vector<yaml::Node>& items = node.items();
  if (items.size() != 2) node.fail(fmt::format("must be a list of two numbers, but has {}", items.size()));
  return items;
}

}  // namespace

void read_value(const yaml::Node& node, std::int64_t& value) {
  value = node.integer();
}
void read_value(const yaml::Node& node, double& value) {
  value = node.number();
}
void read_value(const yaml::Node& node, bool& value) {
  value = node.boolean();
}
void read_value(const yaml::Node& node, std::string& value) {
  value = node.text();
}

void read_value(const yaml::Node& node, Hash value) {
  value.text = node.text();
}

void read_value(const yaml::Node& node, int& value) {
  const std::int64_t wide = node.integer();
  if (wide < 0 || wide > std::numeric_limits<int>::max()) {
    node.fail(fmt::format("must be from 0 to {}, but is {}", std::numeric_limits<int>::max(), wide));
  }
  value = static_cast<int>(wide);
}

void read_value(const yaml::Node& node, DType& value) {
  value = one_of(node, kDTypes, "f32, f16 or bf16");
}

void read_value(const yaml::Node& node, Alignment& value) {
  value =
      one_of(node, std::array{Alignment::any, Alignment::aligned, Alignment::unaligned}, "any, aligned or unaligned");
}

void read_value(const yaml::Node& node, Constants& value) {
  for (const auto& [name, constant] : node.entries()) value.emplace(name, constant.integer());
}

void read_value(const yaml::Node& node, std::pair<std::int64_t, std::int64_t>& value) {
  const std::vector<yaml::Node>& items = two_items(node);
  value = {closed_bound(items[0]), closed_bound(items[1])};
}

void read_value(const yaml::Node& node, Kind value) {
  if (node.text() != "measured" && node.text() != "simulated") {
    node.fail(fmt::format("must be measured or simulated, but is '{}'", node.text()));
  }
  value.simulated = node.text() == "simulated";
}

void read_value(const yaml::Node& node, Bound value) {
  value.value = node.text() == "open" ? kOpen : closed_bound(node);
}

void read_value(const yaml::Node& node, Range value) {
  const std::vector<yaml::Node>& items = two_items(node);
  value.from = closed_bound(items[0]);
  read_value(items[1], Bound{value.to});
}

void read_value(const yaml::Node& node, Schema) {
  const std::int64_t schema = node.integer();
  if (schema != kSchema) {
    node.fail(fmt::format("must be {}, but is {}; version " SOFTMAX_DISPATCH_VERSION " of the library reads no other",
                          kSchema, schema));
  }
}

}  // namespace softmax_dispatch::table
