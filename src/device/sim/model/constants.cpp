#include "device/sim/model/constants.hpp"

#include <array>
#include <cmath>
#include <vector>

#include "support/error.hpp"

namespace softmax_dispatch::sim {

std::span<const NamedConstant> named_constants() {
  using C = ModelConstants;
  static constexpr std::array<NamedConstant, 23> kAll{{
      {"launch_us", &C::launch_us},
      {"block_start_cycles", &C::block_start_cycles},
      {"dram_gb_per_s", &C::dram_gb_per_s},
      {"l2_gb_per_s", &C::l2_gb_per_s},
      {"sm_bytes_per_cycle", &C::sm_bytes_per_cycle},
      {"l1_latency_cycles", &C::l1_latency_cycles},
      {"l2_latency_cycles", &C::l2_latency_cycles},
      {"dram_latency_cycles", &C::dram_latency_cycles},
      {"l1_bytes", &C::l1_bytes},
      {"l2_share", &C::l2_share},
      {"fp32_lanes", &C::fp32_lanes},
      {"special_function_lanes", &C::special_function_lanes},
      {"line_cycles", &C::line_cycles},
      {"exchange_cycles", &C::exchange_cycles},
      {"path_share", &C::path_share},
      {"barrier_cycles", &C::barrier_cycles},
      {"barrier_slots", &C::barrier_slots},
      {"code_slots", &C::code_slots},
      {"code_cycles", &C::code_cycles},
      {"code_warp_cycles", &C::code_warp_cycles},
      {"sm_sharpness", &C::sm_sharpness},
      {"memory_sharpness", &C::memory_sharpness},
      {"alone_share", &C::alone_share},
  }};
  return kAll;
}

ModelConstants read_constants(const yaml::Node& node) {
  std::vector<std::string_view> names;
  for (const NamedConstant& one : named_constants()) names.push_back(one.name);
  node.only(names);
  ModelConstants made;
  for (const NamedConstant& one : named_constants()) {
    const yaml::Node& value = node.at(one.name);
    const double number = value.number();
    if (!(number > 0) || !std::isfinite(number))
      value.fail(fmt::format("{} is {}, but must be positive", one.name, number));
    made.*one.value = number;
  }
  // The trips of a path follow from differences of latencies.
  if (made.l1_latency_cycles >= made.l2_latency_cycles || made.l2_latency_cycles >= made.dram_latency_cycles)
    node.at("l2_latency_cycles").fail("the latencies of L1, L2 and DRAM must ascend");
  return made;
}

}  // namespace softmax_dispatch::sim
