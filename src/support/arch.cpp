#include "support/arch.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "support/error.hpp"
#include "support/text.hpp"

namespace softmax_dispatch {
namespace {

constexpr int kWarp = 32;
constexpr int kPartitions = 4;
constexpr int kRegisterUnit = 256;

ArchLimits limits(int major, int minor, int warps, int blocks, int shared_kib, int shared_optin_kib) {
  ArchLimits made;
  made.arch = fmt::format("sm_{}{}", major, minor);
  made.major = major;
  made.minor = minor;
  made.max_threads_per_sm = warps * kWarp;
  made.max_blocks_per_sm = blocks;
  made.shared_bytes_per_sm = shared_kib * 1024;
  made.shared_bytes_per_block_optin = shared_optin_kib * 1024;
  return made;
}

const std::array<ArchLimits, 11>& archs() {
  static const std::array<ArchLimits, 11> all{
      limits(7, 5, 32, 16, 64, 64),    limits(8, 0, 64, 32, 164, 163),  limits(8, 6, 48, 16, 100, 99),
      limits(8, 7, 48, 16, 164, 163),  limits(8, 9, 48, 24, 100, 99),   limits(9, 0, 64, 32, 228, 227),
      limits(10, 0, 64, 32, 228, 227), limits(10, 3, 64, 32, 228, 227), limits(11, 0, 48, 24, 228, 227),
      limits(12, 0, 48, 24, 100, 99),  limits(12, 1, 48, 24, 100, 99),
  };
  return all;
}

std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

const ArchLimits& arch_limits(std::string_view arch) {
  const auto& all = archs();
  const auto found = std::find_if(all.begin(), all.end(), [&](const ArchLimits& one) { return one.arch == arch; });
  if (found == all.end()) {
    throw_error(StatusCode::invalid_argument, "architecture '{}' is unknown; use one of {}", arch,
                join(known_archs(), ", "));
  }
  return *found;
}

std::vector<std::string> known_archs() {
  std::vector<std::string> names;
  for (const ArchLimits& one : archs()) names.push_back(one.arch);
  return names;
}

int blocks_per_sm(const ArchLimits& limits, int threads, int registers, std::int64_t shared_bytes) {
  if (threads < 1 || threads > limits.max_threads_per_block || registers < 0 ||
      registers > limits.max_registers_per_thread || shared_bytes < 0 ||
      shared_bytes > limits.shared_bytes_per_block_optin) {
    return 0;
  }
  const std::int64_t warps = (threads + kWarp - 1) / kWarp;
  std::int64_t blocks = std::min<std::int64_t>(limits.max_blocks_per_sm, limits.max_threads_per_sm / kWarp / warps);
  if (registers > 0) {
    const std::int64_t of_warp = round_up(std::int64_t{registers} * kWarp, kRegisterUnit);
    blocks = std::min(blocks, limits.registers_per_sm / kPartitions / of_warp * kPartitions / warps);
  }
  // From compute capability 8.0 on the system keeps some of each block's shared memory: what an SM has and a block
  // cannot get. The allocation unit halved at the same time.
  const std::int64_t kept = limits.shared_bytes_per_sm - limits.shared_bytes_per_block_optin;
  const std::int64_t of_block = round_up(shared_bytes + kept, limits.major >= 8 ? 128 : 256);
  if (of_block > 0) blocks = std::min(blocks, limits.shared_bytes_per_sm / of_block);
  return static_cast<int>(blocks);
}

double theoretical_occupancy(const ArchLimits& limits, int threads, int registers, std::int64_t shared_bytes) {
  const int resident = blocks_per_sm(limits, threads, registers, shared_bytes) * ((threads + kWarp - 1) / kWarp);
  const int most = limits.max_threads_per_sm / kWarp;
  return static_cast<double>(resident) / most;
}

}  // namespace softmax_dispatch
