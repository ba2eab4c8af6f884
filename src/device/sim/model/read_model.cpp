#include "device/sim/model/read_model.hpp"

#include <algorithm>

namespace softmax_dispatch::sim {
namespace {

struct Constants {
  double dram_gb_per_s = 0, l2_gb_per_s = 0, launch_us = 0;
};

class Roofline : public TimingModel {
 public:
  explicit Roofline(const Constants& constants) : c_(constants) {}

  ModelledTime launch(const TimedLaunch& launch) const override {
    const LaunchCounts& counts = launch.counts;
    const double sectors = 32.0 * static_cast<double>(counts.sectors_load + counts.sectors_store);
    const double once = 8.0 * static_cast<double>(launch.M) * static_cast<double>(launch.N);
    const bool in_l2 = launch.bytes_between_uses < launch.device.l2_bytes;
    const double issue = static_cast<double>(counts.warp_instructions) /
                         (4.0 * launch.device.sm_count * launch.device.sm_clock_khz * 1e-3);
    return result({{"dram", in_l2 ? 0 : once / c_.dram_gb_per_s * 1e-3},
                   {"l2", sectors / c_.l2_gb_per_s * 1e-3},
                   {"issue", issue}});
  }
  double copy_us(const DeviceInfo& device, std::size_t bytes, std::int64_t bytes_between_uses) const override {
    const double moved = 2.0 * static_cast<double>(bytes);
    return c_.launch_us + moved / (bytes_between_uses < device.l2_bytes ? c_.l2_gb_per_s : c_.dram_gb_per_s) * 1e-3;
  }

 private:
  ModelledTime result(std::vector<TimeTerm> terms) const {
    const auto most = std::max_element(terms.begin(), terms.end(),
                                       [](const auto& a, const auto& b) { return a.time_us < b.time_us; });
    ModelledTime time{most->time_us + c_.launch_us, most->name, std::move(terms)};
    time.terms.push_back({"launch", c_.launch_us});
    return time;
  }

  Constants c_;
};

}  // namespace

std::shared_ptr<const TimingModel> read_model(const yaml::Node& node) {
  node.only({"dram_gb_per_s", "l2_gb_per_s", "launch_us"});
  return std::make_shared<Roofline>(Constants{node.at("dram_gb_per_s").number(), node.at("l2_gb_per_s").number(),
                                              node.at("launch_us").number()});
}

}  // namespace softmax_dispatch::sim
