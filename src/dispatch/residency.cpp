#include "dispatch/residency.hpp"

namespace softmax_dispatch::runtime {
namespace {

constexpr unsigned kSharedBits = 32, kBlockBits = 16;

/// Never 0: a block has threads.
std::uint64_t shape_of(const Geometry& geometry) noexcept {
  const auto cluster = static_cast<std::uint64_t>(geometry.cluster), block = static_cast<std::uint64_t>(geometry.block);
  return (cluster << kBlockBits | block) << kSharedBits | static_cast<std::uint64_t>(geometry.shared_bytes);
}

}  // namespace

Residency::Answer Residency::ask(const Geometry& geometry) const noexcept {
  if (geometry.together() <= 1) return Answer::fits;
  const std::uint64_t shape = shape_of(geometry);
  for (const Known& one : known_) {
    const std::uint64_t known = one.shape.load(std::memory_order_acquire);
    if (known == 0) return Answer::unknown;
    if (known >> kSharedBits != shape >> kSharedBits) continue;
    // More shared memory in a block never makes more of them fit.
    const std::int64_t resident = one.resident.load(std::memory_order_relaxed);
    const bool enough = geometry.together() <= resident;
    if (known == shape) return enough ? Answer::fits : Answer::does_not_fit;
    if (enough && known > shape) return Answer::fits;
    if (!enough && known < shape) return Answer::does_not_fit;
  }
  return Answer::does_not_fit;
}

void Residency::note(const Geometry& geometry, std::int64_t resident) noexcept {
  for (Known& one : known_) {
    if (one.shape.load(std::memory_order_relaxed) != 0) continue;
    one.resident.store(resident, std::memory_order_relaxed);
    one.shape.store(shape_of(geometry), std::memory_order_release);
    return;
  }
}

}  // namespace softmax_dispatch::runtime
