#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace softmax_dispatch::tuning {

/// How a time is taken. `graph`: CUDA graphs of many launches over buffers that rotate past L2. `published`: the
/// protocol of the published T4 figures, 100 warm-ups and 1000 launches on one warm buffer pair, mean by events.
enum class Protocol { graph, published };

std::string_view to_string(Protocol protocol) noexcept;
Protocol parse_protocol(std::string_view text);  ///< Throws Error(invalid_argument).

/// One round of timing.
struct TimingPlan {
  Protocol protocol = Protocol::graph;
  int replays = 7;          ///< Samples per candidate (graph); the published protocol takes one mean.
  std::uint64_t seed = 42;  ///< Of the random input and of the order.
  int max_launches = 256;   ///< Most launches in one graph, unless there are more buffer pairs.
  double race_factor = 0;   ///< A candidate this many times slower than the best keeps its first sample; 0: none does.
};

/// Median and the interval [first quartile, third quartile] of samples in microseconds.
struct Timing {
  double median_us = 0, low_us = 0, high_us = 0;
  int samples = 0;
};
Timing summarize(std::vector<double> samples_us);

}  // namespace softmax_dispatch::tuning
