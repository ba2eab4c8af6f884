#include "tuning/fit_path.hpp"

#include <algorithm>
#include <optional>
#include <tuple>

namespace softmax_dispatch::tuning {
namespace {

/// The best way to a candidate at a stretch.
struct Step {
  std::tuple<int, int, double> total;  ///< Changes, complexity, cost.
  std::size_t previous = 0;
};
using Steps = std::map<std::size_t, Step>;

class Path {
 public:
  Path(const std::vector<FitCandidate>& candidates, table::Alignment alignment)
      : candidates_(candidates), alignment_(alignment) {}

  void add(const Stretch& stretch) {
    if (stretch.equals.empty()) return;
    Steps here;
    for (const auto& [candidate, cost] : stretch.equals) {
      const std::tuple own{1, candidates_[candidate].variant->complexity(), cost};
      std::optional<Step> best;
      if (stretches_.empty()) best = {own, candidate};
      for (const auto& [previous, step] : stretches_.empty() ? Steps{} : steps_.back()) {
        if (!may_follow(stretch, previous, candidate)) continue;
        const Step next{{std::get<0>(step.total) + (previous == candidate ? 0 : 1),
                         std::get<1>(step.total) + std::get<1>(own), std::get<2>(step.total) + cost},
                        previous};
        if (!best || next.total < best->total) best = next;
      }
      if (best) here[candidate] = *best;
    }
    stretches_.push_back(&stretch);
    steps_.push_back(std::move(here));
  }

  std::vector<StretchChoice> cheapest() const {
    std::vector<StretchChoice> choices;
    if (stretches_.empty()) return choices;
    const auto by_total = [](const auto& a, const auto& b) { return a.second.total < b.second.total; };
    std::size_t candidate = std::min_element(steps_.back().begin(), steps_.back().end(), by_total)->first;
    for (std::size_t i = stretches_.size(); i-- > 0;) {
      const Stretch& stretch = *stretches_[i];
      const std::int64_t N_to = std::min(stretch.N_to, candidates_[candidate].limit_of(alignment_));
      choices.push_back({stretch.N, N_to, candidate, stretch.beyond_capacity});
      candidate = steps_[i].at(candidate).previous;
    }
    std::reverse(choices.begin(), choices.end());
    return choices;
  }

 private:
  /// What reaches the end of a stretch keeps it.
  bool may_follow(const Stretch& stretch, std::size_t previous, std::size_t candidate) const {
    return !stretch.beyond_capacity || previous == candidate ||
           candidates_[previous].limit_of(alignment_) < stretch.N_to;
  }

  const std::vector<FitCandidate>& candidates_;
  table::Alignment alignment_;
  std::vector<const Stretch*> stretches_;
  std::vector<Steps> steps_;
};

}  // namespace

std::vector<StretchChoice> cheapest_path(const std::vector<Stretch>& stretches,
                                         const std::vector<FitCandidate>& candidates, table::Alignment alignment) {
  Path path(candidates, alignment);
  for (const Stretch& stretch : stretches) path.add(stretch);
  std::vector<StretchChoice> choices = path.cheapest();
  const auto reached = [](const StretchChoice& before, const StretchChoice& after) {
    return after.beyond_capacity && after.candidate == before.candidate && after.N == before.N;
  };
  choices.erase(std::unique(choices.begin(), choices.end(), reached), choices.end());
  return choices;
}

}  // namespace softmax_dispatch::tuning
