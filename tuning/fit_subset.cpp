#include "tuning/fit_subset.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <string>
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

/// A number for each candidate, the same for those that are launches of one compiled kernel.
std::vector<std::size_t> kernels_of(const std::vector<FitCandidate>& candidates) {
  std::map<std::string, std::size_t> numbers;
  std::vector<std::size_t> result;
  for (const FitCandidate& candidate : candidates)
    result.push_back(numbers.emplace(candidate.compiled->code_hash, numbers.size()).first->second);
  return result;
}

/// Of kernels, by their numbers.
class Selection {
 public:
  Selection(const FitData& data, const std::vector<std::size_t>& kernels)
      : of_(1 + *std::max_element(kernels.begin(), kernels.end())) {
    for (const auto& [alignment, times] : data.times) {
      for (const auto& [N, fields] : times.by_N()) {
        for (const auto& [M, field] : fields) {
          const double best = best_us(field);
          // Most shapes of a sweep are short; what a program waits for is the long ones.
          const double weight = std::sqrt(best);
          std::map<std::size_t, double> costs;
          for (const auto& [candidate, time_us] : field) {
            const double cost = weight * cost_of(time_us / best);
            const auto [found, is_new] = costs.emplace(kernels[candidate], cost);
            if (!is_new) found->second = std::min(found->second, cost);
          }
          for (const auto& [kernel, cost] : costs) of_[kernel].push_back({unserved_.size(), cost});
          unserved_.push_back(weight * cost_of(kUnserved));
        }
      }
    }
  }

  std::size_t count() const noexcept { return of_.size(); }

  void add(std::size_t kernel) { chosen_.insert(kernel); }

  /// Adds the kernel that saves the most.
  void add_best() { add(best_beside(costs()).first); }

  /// Whether another kernel in the place of `one` would save something; exchanges them if so.
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

  /// Of each shape, with the kernels that are chosen.
  std::vector<double> costs() const {
    std::vector<double> result = unserved_;
    for (const std::size_t kernel : chosen_)
      for (const Entry& entry : of_[kernel]) result[entry.shape] = std::min(result[entry.shape], entry.cost);
    return result;
  }

  static double total(const std::vector<double>& costs) { return std::accumulate(costs.begin(), costs.end(), 0.0); }

  /// The kernel that saves the most of the costs, of equals the first, and what it saves.
  std::pair<std::size_t, double> best_beside(const std::vector<double>& costs) const {
    std::pair best{of_.size(), -1.0};
    for (std::size_t kernel = 0; kernel < of_.size(); ++kernel) {
      if (chosen_.contains(kernel)) continue;
      double saved = 0;
      for (const Entry& entry : of_[kernel]) saved += std::max(0.0, costs[entry.shape] - entry.cost);
      if (saved > best.second) best = {kernel, saved};
    }
    return best;
  }

  std::vector<std::vector<Entry>> of_;  ///< Of each kernel, the shapes at which it was measured.
  std::vector<double> unserved_;        ///< Of each shape, what it costs while nothing serves it.
  std::set<std::size_t> chosen_;
};

}  // namespace

FitData fastest_few(const FitData& data, std::size_t most) {
  if (data.candidates.size() <= most) return data;
  const std::vector<std::size_t> kernels = kernels_of(data.candidates);
  Selection selection(data, kernels);
  if (selection.count() <= most) return data;
  const std::size_t unbounded = any_unbounded(data.candidates);
  const bool has_unbounded = unbounded < data.candidates.size();
  if (has_unbounded) selection.add(kernels[unbounded]);
  while (selection.chosen().size() < most) selection.add_best();
  for (bool better = true; better;) {
    better = false;
    const std::set<std::size_t> chosen = selection.chosen();
    for (const std::size_t one : chosen)
      if (!has_unbounded || one != kernels[unbounded]) better |= selection.exchange(one);
  }

  FitData few = data;
  few.times.clear();
  for (const auto& [alignment, times] : data.times)
    for (const auto& [N, fields] : times.by_N())
      for (const auto& [M, field] : fields)
        for (const auto& [candidate, time_us] : field)
          if (selection.chosen().contains(kernels[candidate])) few.times[alignment].add(M, N, candidate, time_us);
  return few;
}

}  // namespace softmax_dispatch::tuning
