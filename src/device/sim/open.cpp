#include "device/sim/open.hpp"

#include <limits>
#include <map>

#include "device/sim/model/read_model.hpp"
#include "support/embedded.hpp"
#include "support/error.hpp"
#include "support/text.hpp"
#include "support/yaml.hpp"

namespace softmax_dispatch::sim {
namespace {

constexpr std::int64_t kSchema = 1;

std::int64_t positive(const yaml::Node& map, std::string_view key) {
  const yaml::Node& node = map.at(key);
  const std::int64_t value = node.integer();
  if (value <= 0) node.fail(fmt::format("{} is {}, but must be positive", key, value));
  return value;
}

int positive_int(const yaml::Node& map, std::string_view key) {
  const std::int64_t value = positive(map, key);
  if (value > std::numeric_limits<int>::max()) map.at(key).fail(fmt::format("{} is {}, which is too much", key, value));
  return static_cast<int>(value);
}

DeviceInfo read_info(const yaml::Node& node) {
  node.only(
      {"name", "arch", "sm_count", "l2_bytes", "memory_bytes", "memory_bus_bits", "sm_clock_khz", "memory_clock_khz"});
  DeviceInfo info;
  info.name = node.at("name").text();
  info.arch = node.at("arch").text();
  try {
    info.limits = arch_limits(info.arch);
  } catch (const Error& error) {
    node.at("arch").fail(error.what());
  }
  info.sm_count = positive_int(node, "sm_count");
  info.l2_bytes = positive(node, "l2_bytes");
  info.memory_bytes = positive(node, "memory_bytes");
  info.memory_bus_bits = positive_int(node, "memory_bus_bits");
  info.sm_clock_khz = positive_int(node, "sm_clock_khz");
  info.memory_clock_khz = positive_int(node, "memory_clock_khz");
  info.simulated = true;
  return info;
}

/// By architecture: one GPU stands for each.
const std::map<std::string, Description, std::less<>>& descriptions() {
  static const auto all = [] {
    std::map<std::string, Description, std::less<>> map;
    for (const EmbeddedFile& file : embedded_devices()) {
      Description one = parse_description(file.text, file.name);
      const std::string arch = one.info.arch;
      if (!map.emplace(arch, std::move(one)).second)
        throw_error(StatusCode::internal, "{}: there is another device of architecture {}", file.name, arch);
    }
    return map;
  }();
  return all;
}

}  // namespace

Description parse_description(std::string_view text, std::string_view name) {
  const yaml::Node root = yaml::parse(text, name);
  root.only({"schema", "device", "model"});
  if (const std::int64_t schema = root.at("schema").integer(); schema != kSchema)
    root.at("schema").fail(fmt::format("schema is {}, but this version reads {}", schema, kSchema));
  return {read_info(root.at("device")), read_model(root.at("model"))};
}

std::vector<std::string> simulated_archs() {
  std::vector<std::string> archs;
  for (const auto& [arch, description] : descriptions()) archs.push_back(arch);
  return archs;
}

std::optional<DeviceInfo> simulated_info(std::string_view arch) {
  const auto found = descriptions().find(arch);
  if (found == descriptions().end()) return std::nullopt;
  return found->second.info;
}

std::unique_ptr<SimDevice> open(std::string_view arch, const SimOptions& options) {
  const auto found = descriptions().find(arch);
  if (found == descriptions().end()) {
    throw_error(StatusCode::no_device, "no simulated GPU of architecture {}; there are those of {}", arch,
                join(simulated_archs(), ", "));
  }
  return std::make_unique<SimDevice>(found->second.info, found->second.model, options);
}

}  // namespace softmax_dispatch::sim
