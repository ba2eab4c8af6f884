#pragma once

#include <string>
#include <vector>

#include "sim/model/fit.hpp"

namespace softmax_dispatch::sim {

/// tests/sim/model/published_t4.yaml.
struct Published {
  struct Set {
    std::string name;
    std::vector<Measured> points;
  };
  std::vector<Set> sets;
  std::vector<Config> unexplained;  ///< A pair whose order nobody explains.
  std::vector<Measured> profiled;   ///< At the profiler's clock, with empty caches.

  /// Every point of the sets. One that several sets have counts once, shared among them.
  std::vector<Measured> points() const;
};
const Published& published();

}  // namespace softmax_dispatch::sim
