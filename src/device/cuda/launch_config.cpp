#include "device/cuda/launch_config.hpp"

#include <limits>

#include "support/error.hpp"

namespace softmax_dispatch::cuda {

LaunchConfig::LaunchConfig(const Geometry& geometry, bool overlaps, CUstream stream) noexcept {
  config_.gridDimX = static_cast<unsigned>(geometry.grid);
  config_.gridDimY = config_.gridDimZ = 1;
  config_.blockDimX = static_cast<unsigned>(geometry.block);
  config_.blockDimY = config_.blockDimZ = 1;
  config_.sharedMemBytes = static_cast<unsigned>(geometry.shared_bytes);
  config_.hStream = stream;
  config_.attrs = attributes_.data();
  if (geometry.cluster > 1) {
    auto& size = add(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION).value.clusterDim;
    size.x = static_cast<unsigned>(geometry.cluster);
    size.y = size.z = 1;
  }
  if (geometry.cooperative) add(CU_LAUNCH_ATTRIBUTE_COOPERATIVE).value.cooperative = 1;
  if (overlaps) {
    add(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION).value.programmaticStreamSerializationAllowed = 1;
  }
}

CUlaunchAttribute& LaunchConfig::add(CUlaunchAttributeID id) noexcept {
  CUlaunchAttribute& one = attributes_[config_.numAttrs++];
  one.id = id;
  return one;
}

std::string describe_attributes(const Geometry& geometry) {
  std::string text;
  if (geometry.cluster > 1) text += fmt::format(" in clusters of {}", geometry.cluster);
  if (geometry.cooperative) text += ", cooperatively";
  return text;
}

void check_geometry(const Geometry& geometry, const DeviceInfo& info) {
  if (geometry.grid < 1 || geometry.grid > std::numeric_limits<int>::max()) [[unlikely]] {
    throw_error(StatusCode::unsupported, "cannot launch {} blocks: a grid has 1 to {}", geometry.grid,
                std::numeric_limits<int>::max());
  }
  if (geometry.cluster > 1 && (info.limits.major < 9 || geometry.grid % geometry.cluster != 0)) [[unlikely]] {
    throw_error(StatusCode::unsupported, "cannot launch {} blocks{} on {} ({}): {}", geometry.grid,
                describe_attributes(geometry), info.name, info.arch,
                info.limits.major < 9 ? "clusters exist from sm_90 on" : "the grid must be a multiple of the cluster");
  }
}

}  // namespace softmax_dispatch::cuda
