#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "tuning/fit_data.hpp"

namespace softmax_dispatch::tuning {

/// The candidate for a stretch of row lengths that a measured one stands for.
struct StretchChoice {
  std::int64_t N = 0;     ///< The measured length.
  std::int64_t N_to = 0;  ///< The end of the stretch, or of the candidate's capacity within it.
  std::size_t candidate = 0;
  bool beyond_capacity = false;  ///< The part of the stretch that the candidate before it does not reach.
};

/// Neighbouring values of M that are served alike.
struct BandChoice {
  std::vector<std::int64_t> M;                                       ///< The measured ones, ascending.
  std::map<table::Alignment, std::vector<StretchChoice>> stretches;  ///< Ascending in N_to.
  std::map<table::Alignment, std::size_t> unbounded;                 ///< For rows beyond the last stretch.
};

/// Up to which length a measured one stands for its neighbours: the largest integer up to their geometric mean.
std::int64_t middle(std::int64_t a, std::int64_t b);

/// The M whose times stand for (M, N): itself where it was measured there, else the nearest one that was.
std::int64_t source_M(const FitTimes& times, std::int64_t M, std::int64_t N);

/// The simplest candidate without a limit on N; candidates.size() where there is none.
std::size_t any_unbounded(const std::vector<FitCandidate>& candidates);

/// Bands from the smallest M up; none where nothing was measured. `data` has at least one candidate without a limit on
/// N.
///
/// What a candidate costs at (M, N) is the logarithm of its time over the best one's, averaged over the band that M
/// stands for: with times that are interpolated between measured M in log space that is 3/4 of its own and 1/8 of each
/// neighbour's. Candidates within `tie_pct` of the least cost are equals. Where the chosen one's capacity ends before
/// the stretch that N stands for, the rest of the stretch goes to an equal among those that reach its end: a little
/// beyond N their times are those at N. Bands are joined while at every stretch some candidate is among the equals of
/// all; then the choice has the fewest changes along N, then the lowest complexity, then the least cost.
std::vector<BandChoice> choose_bands(const FitData& data, double tie_pct);

}  // namespace softmax_dispatch::tuning
