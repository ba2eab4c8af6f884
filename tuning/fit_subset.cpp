#include "tuning/fit_subset.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "tuning/fit_choice.hpp"

namespace softmax_dispatch::tuning {
namespace {

/// A shape that nothing serves yet: as if served 100 times slower than by the best.
constexpr double kUnserved = 100;

/// What it costs to take `ratio` times as long as the best: a single large loss weighs more than many small ones.
double cost_of(double ratio) {
  constexpr double kWeightOfLarge = 2;
  const double loss = std::log(ratio);
  return loss + kWeightOfLarge * loss * loss;
}

class Selection {
 public:
  explicit Selection(const FitData& data) : of_(data.candidates.size()) {
    for (const auto& [alignment, times] : data.times) {
      for (const auto& [N, fields] : times.by_N()) {
        for (const auto& [M, field] : fields) {
          const double best = best_us(field);
          // Most shapes of a sweep are short; what a program waits for is the long ones.
          const double weight = std::sqrt(best);
          for (const auto& [candidate, time_us] : field)
            of_[candidate].push_back({unserved_.size(), weight * cost_of(time_us / best)});
          unserved_.push_back(weight * cost_of(kUnserved));
        }
      }
    }
  }

  void add(std::size_t candidate) { chosen_.insert(candidate); }

  /// Adds the candidate that saves the most.
  void add_best() { add(best_beside(costs()).first); }

  /// Whether another candidate in the place of `one` would save something; exchanges them if so.
  bool exchange(std::size_t one) {
    const double before = total(costs());
    chosen_.erase(one);
    const std::vector<double> without = costs();
    const auto [other, saved] = best_beside(without);
    constexpr double kLeastSaving = 1e-9;  // not by rounding alone
    const bool better = total(without) - saved < before - kLeastSaving;
    add(better ? other : one);
    return better;
  }

  const std::set<std::size_t>& chosen() const noexcept { return chosen_; }

 private:
  struct Entry {
    std::size_t shape = 0;
    double cost = 0;
  };

  /// Of each shape, with the candidates that are chosen.
  std::vector<double> costs() const {
    std::vector<double> result = unserved_;
    for (const std::size_t candidate : chosen_)
      for (const Entry& entry : of_[candidate]) result[entry.shape] = std::min(result[entry.shape], entry.cost);
    return result;
  }

  static double total(const std::vector<double>& costs) { return std::accumulate(costs.begin(), costs.end(), 0.0); }

  /// The candidate that saves the most of the costs, of equals the first, and what it saves.
  std::pair<std::size_t, double> best_beside(const std::vector<double>& costs) const {
    std::pair best{of_.size(), -1.0};
    for (std::size_t candidate = 0; candidate < of_.size(); ++candidate) {
      if (chosen_.contains(candidate)) continue;
      double saved = 0;
      for (const Entry& entry : of_[candidate]) saved += std::max(0.0, costs[entry.shape] - entry.cost);
      if (saved > best.second) best = {candidate, saved};
    }
    return best;
  }

  std::vector<std::vector<Entry>> of_;  ///< Of each candidate, the shapes at which it was measured.
  std::vector<double> unserved_;        ///< Of each shape, what it costs while nothing serves it.
  std::set<std::size_t> chosen_;
};

}  // namespace

FitData fastest_few(const FitData& data, std::size_t most) {
  if (data.candidates.size() <= most) return data;
  Selection selection(data);
  const std::size_t unbounded = any_unbounded(data.candidates);
  if (unbounded < data.candidates.size()) selection.add(unbounded);
  while (selection.chosen().size() < most) selection.add_best();
  for (bool better = true; better;) {
    better = false;
    const std::set<std::size_t> chosen = selection.chosen();
    for (const std::size_t one : chosen)
      if (one != unbounded) better |= selection.exchange(one);
  }

  FitData few = data;
  few.times.clear();
  for (const auto& [alignment, times] : data.times)
    for (const auto& [N, fields] : times.by_N())
      for (const auto& [M, field] : fields)
        for (const auto& [candidate, time_us] : field)
          if (selection.chosen().contains(candidate)) few.times[alignment].add(M, N, candidate, time_us);
  return few;
}

}  // namespace softmax_dispatch::tuning
