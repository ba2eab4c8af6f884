#include "cli/describe.hpp"

#include <fmt/core.h>

namespace softmax_dispatch::cli {

std::string axis_text(const Axis& axis) {
  std::string text = fmt::format("{} {}..{}", axis.name, axis.least, axis.most);
  if (axis.most == kUnbounded) text = fmt::format("{} from {}", axis.name, axis.least);
  if (axis.power_of_two) {
    text += ", powers of two";
  } else if (axis.step > 1) {
    text += fmt::format(", by {}", axis.step);
  }
  if (!axis.compile_time) text += ", at launch";
  return text;
}

std::int64_t shared_bytes(const jit::Resources& resources, const Geometry& geometry) {
  return resources.shared_bytes + geometry.shared_bytes;
}

double occupancy(const ArchLimits& limits, const jit::Resources& resources, const Geometry& geometry) {
  return theoretical_occupancy(limits, geometry.block, resources.registers, shared_bytes(resources, geometry));
}

}  // namespace softmax_dispatch::cli
