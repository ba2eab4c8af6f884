#include "tuning/sweep.hpp"

#include <algorithm>

#include "support/embedded.hpp"
#include "support/error.hpp"
#include "support/yaml.hpp"

namespace softmax_dispatch::tuning {
namespace {

std::int64_t positive(const yaml::Node& node) {
  const std::int64_t value = node.integer();
  if (value < 1) node.fail("must be 1 or more");
  return value;
}

int positive_int(const yaml::Node& node) {
  const std::int64_t value = positive(node);
  if (value > 1'000'000) node.fail("must be at most 1000000");
  return static_cast<int>(value);
}

double factor(const yaml::Node& node) {
  const double value = node.number();
  if (value < 1) node.fail("must be 1 or more");
  return value;
}

std::vector<std::int64_t> ascending(const yaml::Node& node, std::int64_t least = 1) {
  std::vector<std::int64_t> values = node.integers();
  if (values.empty() || values.front() < least ||
      std::adjacent_find(values.begin(), values.end(), std::greater_equal<>()) != values.end())
    node.fail(fmt::format("must hold one or more numbers from {} on, in ascending order", least));
  return values;
}

Ladders ladders_of(const yaml::Node& node) {
  Ladders ladders;
  for (const auto& [axis, values] : node.entries()) ladders.emplace(axis, ascending(values, 0));
  return ladders;
}

std::vector<std::int64_t> cut(const std::vector<std::int64_t>& values, const Range& range, const char* name) {
  if (range.from < 1 || range.to < range.from)
    throw_error(StatusCode::invalid_argument, "the range {} {}:{} is empty or starts below 1", name, range.from,
                range.to);
  std::vector<std::int64_t> inside;
  for (const std::int64_t value : values)
    if (range.from <= value && value <= range.to) inside.push_back(value);
  if (inside.empty()) {
    inside.push_back(range.from);
    if (range.to != range.from) inside.push_back(range.to);
  }
  return inside;
}

}  // namespace

Ladders Sweep::ladders(const Variant& variant) const {
  Ladders result = axes;
  const auto take = [&](const Ladders& others) {
    for (const auto& [axis, values] : others) result.insert_or_assign(axis, values);
  };
  if (variant.dtypes() == std::vector{DType::f32}) take(f32_only);
  if (variant.scans() > 1) take(rescanning);
  return result;
}

Sweep load_sweep(std::string_view name) {
  std::string known;
  for (const EmbeddedFile& file : embedded_sweeps()) {
    const std::string_view stem = file.name.substr(0, file.name.rfind(".yaml"));
    if (stem == name) return parse_sweep(file.text, name);
    known += (known.empty() ? "" : ", ") + std::string(stem);
  }
  throw_error(StatusCode::invalid_argument, "unknown sweep '{}': there are {}", name, known);
}

Sweep parse_sweep(std::string_view text, std::string_view name) {
  const yaml::Node root = yaml::parse(text, fmt::format("sweep {}", name));
  root.only({"M", "N", "max_elements", "axes", "f32_only", "rescanning", "max_launches", "race_factor",
             "screen_replays", "finalist_factor", "final_replays"});
  Sweep sweep;
  sweep.name = name;
  sweep.M = ascending(root.at("M"));
  sweep.N = ascending(root.at("N"));
  sweep.max_elements = positive(root.at("max_elements"));
  sweep.axes = ladders_of(root.at("axes"));
  if (const yaml::Node* f32_only = root.find("f32_only")) sweep.f32_only = ladders_of(*f32_only);
  if (const yaml::Node* rescanning = root.find("rescanning")) sweep.rescanning = ladders_of(*rescanning);
  sweep.max_launches = positive_int(root.at("max_launches"));
  sweep.race_factor = factor(root.at("race_factor"));
  sweep.screen_replays = positive_int(root.at("screen_replays"));
  sweep.finalist_factor = factor(root.at("finalist_factor"));
  sweep.final_replays = positive_int(root.at("final_replays"));
  return sweep;
}

Sweep restrict(Sweep sweep, std::optional<Range> M, std::optional<Range> N) {
  if (M) sweep.M = cut(sweep.M, *M, "--M");
  if (N) sweep.N = cut(sweep.N, *N, "--N");
  return sweep;
}

std::vector<Problem> shapes(const Sweep& sweep, DType dtype) {
  std::vector<Problem> result;
  for (const std::int64_t N : sweep.N)
    for (const std::int64_t M : sweep.M)
      if (M <= sweep.max_elements / N) result.push_back({dtype, M, N});
  return result;
}

}  // namespace softmax_dispatch::tuning
