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
  /// Addresses of the lanes of an access.
  using Addresses = std::array<std::uint64_t, lanes::kLanes>;
  /// Step `op` of the segment that the warp runs has loaded `bytes` at the address of each lane of the mask.
  void load(std::uint32_t warp, std::uint32_t op, const Addresses& addresses, std::uint32_t mask, unsigned bytes);
  /// The warp has stored to global memory.
  void store(std::uint32_t warp, const Addresses& addresses, std::uint32_t mask, unsigned bytes);
  /// The warp has run the segment.
  void segment(std::uint32_t warp, std::uint32_t index);
  /// A barrier lets the warps go.
  void barrier(std::uint32_t warps);
  /// Cycles of the block, in each case.
  Times end() const;
  /// Bytes of input that the block holds at once, on chip or to read them again: of each warp what it has read before
  /// it stored any.
  double live_bytes() const noexcept;
  /// Issue slots of the instructions that a warp has run, each counted once; of the warp with the most. Jumps to code
  /// that was not run before count too, since they stop the fetching of code in advance.
  double code_slots() const noexcept;

  static BlockPath path(const Times& times, const MemoryLatencies& memory);

 private:
  enum class Where : std::uint8_t { none, first, again };
  Times end_of(std::uint32_t warps) const;
  bool touch(std::uint64_t address, unsigned bytes);

  struct WarpClock {
    Times now{};
    std::vector<Times> ready;                ///< Per register.
    double fresh_bytes = 0, live_bytes = 0;  ///< Read since it has stored, and the most of that.
    bool stored = false;
    std::vector<bool> ran;  ///< Per segment.
    double code_slots = 0;
    std::uint32_t segment = 0, rounds = 0;  ///< That it ran last, and how often in a row before.
    Times batch{};                          ///< When the loads of an unrolled loop's rounds were issued.
  };
  /// Warps of a block are dealt to the schedulers of an SM in turn.
  static constexpr std::size_t kSchedulers = 4;

  const Schedule& schedule_;
  std::array<Times, 3> load_latency_{};  ///< By Where.
  std::vector<WarpClock> warps_;
  Times phase_{};                                  ///< When the last barrier opened.
  Times phase_wait_{};                             ///< The longest load since then.
  std::array<double, kSchedulers> phase_slots_{};  ///< Issued since then.
  double phase_lines_ = 0;                         ///< Lines of 128 bytes accessed since then, by each access.
  std::vector<Times> done_;                        ///< Of the instructions of the segment.
  std::vector<Where> where_;                       ///< Per step.
  static constexpr std::size_t kSectorsOfPage = 1024;
  std::unordered_map<std::uint64_t, std::bitset<kSectorsOfPage>> touched_;
  std::uint64_t last_page_ = ~std::uint64_t{0};
  std::bitset<kSectorsOfPage>* last_sectors_ = nullptr;
};

}  // namespace softmax_dispatch::sim
