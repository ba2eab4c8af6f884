#include "device/sim/model/read_model.hpp"

#include "device/sim/model/physical_model.hpp"

namespace softmax_dispatch::sim {

std::shared_ptr<const TimingModel> read_model(const yaml::Node& node) {
  return std::make_shared<PhysicalModel>(read_constants(node));
}

}  // namespace softmax_dispatch::sim
