#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "tuning/fit_choice.hpp"
#include "tuning/fit_data.hpp"

namespace softmax_dispatch::tuning {

/// Candidate -> the logarithm of its time over the best one's, summed over the bands that are served alike.
using Costs = std::map<std::size_t, double>;

/// Row lengths that a measured one stands for, with the candidates that are as good as the best there.
struct Stretch {
  std::int64_t N = 0;
  std::int64_t N_to = 0;
  bool beyond_capacity = false;  ///< Only for what the candidate chosen at N does not reach; comes after the same N.
  Costs equals;                  ///< Empty where no candidate reaches N_to: the next stretch's serves the rest.
};

/// One candidate per stretch of an alignment class: fewest changes, then the lowest complexity, then the least cost.
/// Stretches beyond a capacity that the candidate before them reaches are left out.
std::vector<StretchChoice> cheapest_path(const std::vector<Stretch>& stretches,
                                         const std::vector<FitCandidate>& candidates, table::Alignment alignment);

}  // namespace softmax_dispatch::tuning
