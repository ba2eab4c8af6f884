#include "tuning/fit_choice.hpp"

#include <algorithm>
#include <climits>
#include <cmath>
#include <numeric>
#include <optional>
#include <tuple>

#include "tuning/fit_path.hpp"

namespace softmax_dispatch::tuning {
namespace {

constexpr double kNeighbourWeight = 0.125;

Costs regrets(const FitTimes::Field& field) {
  const double best = best_us(field);
  Costs result;
  for (const auto& [candidate, time_us] : field) result[candidate] = std::log(time_us / best);
  return result;
}

using Stretches = std::map<table::Alignment, std::vector<Stretch>>;

class Bands {
 public:
  Bands(const FitData& data, double tie_pct) : data_(data), tie_(std::log1p(tie_pct / 100)) {}

  std::vector<BandChoice> choose() const {
    std::vector<BandChoice> bands;
    std::vector<std::int64_t> M;
    Stretches open;
    for (std::size_t j = 0; j < data_.M.size(); ++j) {
      Stretches own = stretches_of(j);
      if (std::optional<Stretches> joined = M.empty() ? std::nullopt : join(open, own)) {
        open = *std::move(joined);
      } else {
        if (!M.empty()) add(bands, std::move(M), open);
        M.clear();
        open = std::move(own);
      }
      M.push_back(data_.M[j]);
    }
    if (!M.empty()) add(bands, std::move(M), open);
    return bands;
  }

 private:
  /// Costs at (the j-th M, N) averaged over its band.
  Costs costs(const FitTimes& times, std::size_t j, std::int64_t N) const {
    const std::int64_t source = source_M(times, data_.M[j], N);
    const Costs own = regrets(*times.at(source, N));
    if (source != data_.M[j]) return own;
    Costs result = own;
    for (const std::size_t neighbour : {j - 1, j + 1}) {
      const FitTimes::Field* field = neighbour < data_.M.size() ? times.at(data_.M[neighbour], N) : nullptr;
      const Costs beside = field ? regrets(*field) : Costs{};
      for (auto& [candidate, cost] : result) {
        const auto found = beside.find(candidate);
        const double other = found == beside.end() ? own.at(candidate) : found->second;
        cost += kNeighbourWeight * (other - own.at(candidate));
      }
    }
    return result;
  }

  static double least(const Costs& costs) {
    double result = INFINITY;
    for (const auto& [candidate, cost] : costs) result = std::min(result, cost);
    return result;
  }

  Costs equals(Costs costs) const {
    const double most = least(costs) + tie_;
    std::erase_if(costs, [&](const auto& entry) { return entry.second > most; });
    return costs;
  }

  /// Two for each measured length: for all candidates, and for those that reach the end.
  Stretches stretches_of(std::size_t j) const {
    Stretches result;
    for (const auto& [alignment, times] : data_.times) {
      for (auto row = times.by_N().begin(); row != times.by_N().end(); ++row) {
        const std::int64_t N = row->first;
        const std::int64_t N_to =
            std::next(row) == times.by_N().end() ? table::kOpen : middle(N, std::next(row)->first);
        const Costs all = costs(times, j, N);
        Costs reaching = all;
        // What was not tried here, because it has room for much longer rows, is idle with a part of its threads: it
        // costs what it does at the next length, but not less than the best here, which goes on where it can, and more
        // by the square root of the ratio of the two lengths. On an H200 rows of 1029 took 1.35 times as long by a
        // kernel whose time is the best at 2045.
        if (N_to != table::kOpen) {
          const std::int64_t next = std::next(row)->first;
          const double idle = std::log(static_cast<double>(next) / static_cast<double>(N)) / 2;
          for (const auto& [candidate, cost] : costs(times, j, next))
            reaching.try_emplace(candidate, std::max(cost, least(all)) + idle);
        }
        std::erase_if(reaching,
                      [&](const auto& entry) { return data_.candidates[entry.first].limit_of(alignment) < N_to; });
        result[alignment].push_back({N, N_to, false, equals(all)});
        result[alignment].push_back({N, N_to, true, equals(reaching)});
      }
    }
    return result;
  }

  /// Nothing where at some length no candidate is among the equals of both.
  static std::optional<Stretches> join(const Stretches& a, const Stretches& b) {
    Stretches result;
    for (const auto& [alignment, stretches] : a) {
      for (std::size_t i = 0; i < stretches.size(); ++i) {
        const Costs& other = b.at(alignment)[i].equals;
        Stretch joined = stretches[i];
        joined.equals.clear();
        for (const auto& [candidate, cost] : stretches[i].equals)
          if (const auto found = other.find(candidate); found != other.end())
            joined.equals[candidate] = cost + found->second;
        if (joined.equals.empty() && !stretches[i].equals.empty() && !other.empty()) return std::nullopt;
        result[alignment].push_back(std::move(joined));
      }
    }
    return result;
  }

  /// Of the candidates without a limit, the fastest at the longest rows at which one was measured for every M of the
  /// band.
  std::size_t unbounded(const FitTimes& times, const std::vector<std::int64_t>& M) const {
    for (auto row = times.by_N().rbegin(); row != times.by_N().rend(); ++row) {
      std::map<std::size_t, std::vector<double>> found;
      for (const std::int64_t one : M)
        for (const auto& [candidate, regret] : regrets(*times.at(source_M(times, one, row->first), row->first)))
          if (data_.candidates[candidate].limit_N == kUnbounded) found[candidate].push_back(regret);
      std::pair best{static_cast<double>(INFINITY), std::size_t{0}};
      for (const auto& [candidate, costs] : found)
        if (costs.size() == M.size())
          best = std::min(best, {std::accumulate(costs.begin(), costs.end(), 0.0), candidate});
      if (best.first < INFINITY) return best.second;
    }
    return any_unbounded(data_.candidates);
  }

  void add(std::vector<BandChoice>& bands, std::vector<std::int64_t> M, const Stretches& stretches) const {
    BandChoice band{std::move(M), {}, {}};
    for (const auto& [alignment, of_class] : stretches) {
      band.stretches[alignment] = cheapest_path(of_class, data_.candidates, alignment);
      band.unbounded[alignment] = unbounded(data_.times.at(alignment), band.M);
    }
    if (!bands.empty() && same_choice(bands.back(), band))
      bands.back().M.insert(bands.back().M.end(), band.M.begin(), band.M.end());
    else
      bands.push_back(std::move(band));
  }

  static bool same_choice(const BandChoice& a, const BandChoice& b) {
    const auto same = [](const StretchChoice& p, const StretchChoice& q) {
      return p.candidate == q.candidate && p.N_to == q.N_to;
    };
    for (const auto& [alignment, stretches] : a.stretches) {
      const auto& others = b.stretches.at(alignment);
      if (!std::equal(stretches.begin(), stretches.end(), others.begin(), others.end(), same)) return false;
    }
    return a.unbounded == b.unbounded;
  }

  const FitData& data_;
  double tie_;
};

}  // namespace

std::int64_t middle(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(std::sqrt(static_cast<double>(a) * static_cast<double>(b)));
}

std::int64_t source_M(const FitTimes& times, std::int64_t M, std::int64_t N) {
  return times.at(M, N) ? M : times.nearest_M(M, N);
}

std::size_t any_unbounded(const std::vector<FitCandidate>& candidates) {
  std::size_t simplest = candidates.size();
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i].limit_N != kUnbounded) continue;
    if (simplest == candidates.size() ||
        candidates[i].variant->complexity() < candidates[simplest].variant->complexity())
      simplest = i;
  }
  return simplest;
}

std::vector<BandChoice> choose_bands(const FitData& data, double tie_pct) {
  return Bands(data, tie_pct).choose();
}

}  // namespace softmax_dispatch::tuning
