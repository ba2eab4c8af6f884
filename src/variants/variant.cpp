#include "variants/variant.hpp"

namespace softmax_dispatch {

bool Axis::holds(std::int64_t value) const noexcept {
  if (value < least || value > most) return false;
  return power_of_two ? (value & (value - 1)) == 0 : value % step == 0;
}

Constants Variant::compile_time(const Constants& constants) const {
  Constants result;
  for (const Axis& axis : axes()) {
    if (!axis.compile_time) continue;
    if (const auto found = constants.find(axis.name); found != constants.end()) result.insert(*found);
  }
  return result;
}

}  // namespace softmax_dispatch
