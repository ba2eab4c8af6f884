#include "sim/model/published.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>

#include "device/sim/model/physical_model.hpp"

namespace softmax_dispatch::sim {
namespace {

Published read() {
  std::ifstream file(std::string(SOFTMAX_DISPATCH_SOURCE_DIR) + "/tests/sim/model/published_t4.yaml");
  std::ostringstream text;
  text << file.rdbuf();
  const yaml::Node root = yaml::parse(text.str(), "published_t4.yaml");
  root.only({"sets", "unexplained", "profiler", "registers"});
  const DeviceFile device = read_device_file("t4.yaml");
  WorkloadMaker maker(device.info, PhysicalModel(device.constants).costs());

  std::map<Config, int> registers;
  for (const auto& [config, node] : root.at("registers").entries())
    registers[parse_config(config)] = static_cast<int>(node.integer());
  const auto points = [&](const yaml::Node& node, std::int64_t bytes_between_uses) {
    std::vector<Measured> made;
    for (const auto& [text_of, time] : node.at("us").entries()) {
      Measured& one = made.emplace_back();
      one.config = parse_config(text_of);
      one.time_us = time.number();
      one.workload = maker.make(one.config, node.at("M").integer(), node.at("N").integer(), bytes_between_uses);
      const auto known = registers.find(one.config);
      if (known != registers.end()) one.workload.resources.registers = known->second;
    }
    return made;
  };

  Published all;
  for (const yaml::Node& set : root.at("sets").items()) {
    set.only({"name", "M", "N", "us"});
    all.sets.push_back({set.at("name").text(), points(set, 0)});
  }
  for (const yaml::Node& one : root.at("unexplained").items()) all.unexplained.push_back(parse_config(one.text()));
  root.at("profiler").only({"sm_clock_khz", "M", "N", "us"});
  all.profiled = points(root.at("profiler"), std::numeric_limits<std::int64_t>::max());
  for (Measured& one : all.profiled)
    one.workload.device.sm_clock_khz = static_cast<int>(root.at("profiler").at("sm_clock_khz").integer());
  return all;
}

}  // namespace

std::vector<Measured> Published::points() const {
  std::vector<Measured> made;
  const auto same = [](const Measured& a, const Measured& b) {
    return a.config == b.config && a.workload.M == b.workload.M && a.workload.N == b.workload.N;
  };
  for (const Set& set : sets) made.insert(made.end(), set.points.begin(), set.points.end());
  for (Measured& one : made) {
    const auto times = std::count_if(made.begin(), made.end(), [&](const Measured& other) { return same(one, other); });
    one.weight = 1.0 / static_cast<double>(times);
  }
  return made;
}

const Published& published() {
  static const Published all = read();
  return all;
}

}  // namespace softmax_dispatch::sim
