#include "variants/variant.hpp"

#include <algorithm>

namespace softmax_dispatch {

bool Axis::holds(std::int64_t value) const noexcept {
  if (value < least || value > most) return false;
  return power_of_two ? (value & (value - 1)) == 0 : value % step == 0;
}

Constants Variant::without_capacity(Constants constants) const {
  for (const char* axis : {"ITEMS", "VEC_ITEMS"}) constants.erase(axis);
  return constants;
}

Constants Variant::compile_time(const Constants& constants) const {
  Constants result;
  for (const Axis& axis : axes()) {
    if (!axis.compile_time) continue;
    if (const auto found = constants.find(axis.name); found != constants.end()) result.insert(*found);
  }
  return result;
}

Constants Variant::reduce_once_over(ReduceOver over, const Constants& constants) const {
  Constants macros = compile_time(constants);
  macros["OVER"] = static_cast<std::int64_t>(over);
  return macros;
}

Macros Variant::macros(DType dtype, const Constants& constants) const {
  const bool several = dtypes().size() > 1;
  return {compile_time(constants), several ? std::optional(dtype) : std::nullopt};
}

bool Variant::computes(DType dtype) const {
  const std::vector<DType> all = dtypes();
  return std::find(all.begin(), all.end(), dtype) != all.end();
}

}  // namespace softmax_dispatch
