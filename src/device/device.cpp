#include "device/device.hpp"

#include <fmt/core.h>

namespace softmax_dispatch {

Support Device::co_resident(const LoadedKernel& kernel, const Geometry& geometry) {
  if (geometry.together() <= 1) return Support::yes();
  const std::int64_t resident = resident_blocks(kernel, geometry);
  if (geometry.together() <= resident) return Support::yes();
  return Support::no(fmt::format(
      "{} holds {} blocks of {} threads with {} bytes of dynamic shared memory{} at once, and "
      "{} must be there together",
      info().name, resident, geometry.block, geometry.shared_bytes,
      geometry.cluster > 1 ? fmt::format(" in clusters of {}", geometry.cluster) : "", geometry.together()));
}

}  // namespace softmax_dispatch
