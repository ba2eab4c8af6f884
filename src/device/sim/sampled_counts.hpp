#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "device/device.hpp"
#include "device/sim/exec/counts.hpp"
#include "device/sim/exec/launch.hpp"

namespace softmax_dispatch::sim {

/// Blocks that share a row. They are not alike, some have less of it than others: a sample takes all of them or none.
std::int64_t blocks_of_row(const Launch& launch);

/// The counts of launches, for times: of as few blocks and rows as they follow from, and each only once. Thread-safe.
///
/// - Of a grid the first blocks run: as many as there are different positions of a row relative to sectors and vectors.
/// - A grid with a block for every row has the same blocks for any number of rows, so the counts at one M are those at
///   every other.
/// - Blocks that walk over many rows run a few of them. That the counts grow by the same amount with each row is seen
///   at three numbers of rows; where it is not so, all rows run.
/// - A launch whose blocks wait for each other or share a workspace keeps its grid; the former runs as a whole.
class SampledCounts {
 public:
  /// Runs a launch as the options say, which are `sampled_blocks` and `sample_group` and nothing else.
  using Run = std::function<LaunchCounts(const Launch&, std::uint64_t sampled_blocks, std::uint64_t sample_group)>;

  /// `phase`: the one that `run` runs.
  std::shared_ptr<const LaunchCounts> of(std::uint64_t kernel, int phase, const Launch& launch, const Run& run);

 private:
  using Key = std::tuple<std::uint64_t, int, std::int64_t, int, int, std::int64_t, std::int64_t, std::int64_t,
                         DevicePtr, DevicePtr, bool>;
  std::shared_ptr<const LaunchCounts> once(std::uint64_t kernel, int phase, const Launch& launch, const Run& run);

  std::mutex mutex_;
  std::map<Key, std::shared_ptr<const LaunchCounts>> known_;
};

}  // namespace softmax_dispatch::sim
