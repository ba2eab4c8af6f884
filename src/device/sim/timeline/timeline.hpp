#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "device/sim/lanes/lanes.hpp"
#include "device/sim/timeline/schedule.hpp"

namespace softmax_dispatch::sim {

/// How long a block takes that is alone on its SM, as a function of where its loads find their data:
/// cycles + first_trips * (latency of the first read of data) + again_trips * (latency of reading it again).
/// Trips are those that nothing hides: loads that are under way together are one.
struct BlockPath {
  double cycles = 0, first_trips = 0, again_trips = 0;
};

/// The clock of one block that runs: each warp issues in order and waits for what an instruction needs; barriers wait
/// for the last warp. Kept for three cases of memory latencies at once, from which the trips follow.
class Timeline {
 public:
  static constexpr std::size_t kCases = 3;
  using Times = std::array<double, kCases>;

  Timeline(const Schedule& schedule, std::size_t steps, std::size_t warps);

  /// For the next block.
  void reset();
  /// Step `op` of the segment that runs has loaded `bytes` at each lane's address.
  void load(std::uint32_t op, const std::array<std::uint64_t, lanes::kLanes>& addresses, std::uint32_t mask,
            unsigned bytes);
  /// The warp has run the segment.
  void segment(std::uint32_t warp, std::uint32_t index);
  /// A barrier lets the warps go.
  void barrier(std::uint32_t warps);
  /// Cycles of the block, in each case.
  Times end() const;

  static BlockPath path(const Times& times, const MemoryLatencies& memory);

 private:
  enum class Where : std::uint8_t { none, first, again };
  bool touch(std::uint64_t address, unsigned bytes);

  struct WarpClock {
    Times now{};
    std::vector<Times> ready;  ///< Per register.
  };

  const Schedule& schedule_;
  std::array<Times, 3> load_latency_{};  ///< By Where.
  std::vector<WarpClock> warps_;
  std::vector<Times> done_;   ///< Of the instructions of the segment.
  std::vector<Where> where_;  ///< Per step.
  static constexpr std::size_t kSectorsOfPage = 1024;
  std::unordered_map<std::uint64_t, std::bitset<kSectorsOfPage>> touched_;
  std::uint64_t last_page_ = ~std::uint64_t{0};
  std::bitset<kSectorsOfPage>* last_sectors_ = nullptr;
};

}  // namespace softmax_dispatch::sim
