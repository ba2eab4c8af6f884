#include "tuning/fit_data.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

namespace softmax_dispatch::tuning {
namespace {

/// The compile event of a configuration; null where one of them failed, or two differ.
const CompileEvent* only_compile(const std::vector<const CompileEvent*>& events) {
  for (const CompileEvent* event : events) {
    if (event->error || event->resources.uses_local_memory() || event->code_hash != events.front()->code_hash)
      return nullptr;
  }
  return events.front();
}

const VerifyEvent* only_verification(const std::vector<const VerifyEvent*>& events, const std::string& code_hash) {
  for (const VerifyEvent* event : events)
    if (!event->outcome.passed || event->code_hash != code_hash) return nullptr;
  return events.front();
}

/// Larger: counts more.
auto weight_of(const MeasureEvent& event) {
  return std::tuple(event.final, event.timing.samples, -event.timing.median_us);
}

}  // namespace

std::vector<FitCandidate> eligible(const Journal& journal, const Registry& registry, DType dtype) {
  std::map<Config, std::vector<const CompileEvent*>> compiles;
  std::map<Config, std::vector<const VerifyEvent*>> verifications;
  std::set<Config> quarantined;
  for (const CompileEvent& event : journal.compiles)
    if (event.config.dtype == dtype) compiles[event.config].push_back(&event);
  for (const VerifyEvent& event : journal.verifications)
    if (event.config.dtype == dtype) verifications[event.config].push_back(&event);
  const bool may_wait = journal.run && journal.run->device.simulated;
  for (const QuarantineEvent& event : journal.quarantines) quarantined.insert(event.config);

  std::vector<FitCandidate> result;
  for (const Variant* variant : registry.all()) {
    if (!variant->selectable()) continue;
    for (const auto& [config, events] : compiles) {
      if (config.variant != variant->id() || quarantined.contains(config)) continue;
      const auto verification = verifications.find(config);
      const CompileEvent* compiled = only_compile(events);
      if (!compiled) continue;
      const bool tried = verification != verifications.end();
      const VerifyEvent* verified = tried ? only_verification(verification->second, compiled->code_hash) : nullptr;
      if (!verified && (tried || !may_wait)) continue;
      std::int64_t limit_N = variant->accurate_N(dtype, config.constants);
      if (verified) limit_N = std::min(limit_N, verified->outcome.N_to);
      const std::int64_t unaligned_N = std::min(limit_N, variant->unaligned_N(dtype, config.constants));
      result.push_back({config, variant, limit_N, unaligned_N, compiled, verified});
    }
  }
  return result;
}

void FitTimes::add(std::int64_t M, std::int64_t N, std::size_t candidate, double time_us) {
  by_N_[N][M][candidate] = time_us;
}

const FitTimes::Field* FitTimes::at(std::int64_t M, std::int64_t N) const noexcept {
  const auto row = by_N_.find(N);
  if (row == by_N_.end()) return nullptr;
  const auto field = row->second.find(M);
  return field == row->second.end() ? nullptr : &field->second;
}

std::int64_t FitTimes::nearest_M(std::int64_t M, std::int64_t N) const {
  const auto distance = [&](std::int64_t other) {
    return std::abs(std::log(static_cast<double>(other) / static_cast<double>(M)));
  };
  std::int64_t nearest = 0;
  for (const auto& [other, field] : by_N_.at(N))
    if (nearest == 0 || distance(other) < distance(nearest)) nearest = other;
  return nearest;
}

double best_us(const FitTimes::Field& field) {
  double best = INFINITY;
  for (const auto& [candidate, time_us] : field) best = std::min(best, time_us);
  return best;
}

FitData fit_data(const Journal& journal, const Registry& registry, DType dtype) {
  FitData data;
  data.candidates = eligible(journal, registry, dtype);
  std::map<Config, std::size_t> position;
  for (std::size_t i = 0; i < data.candidates.size(); ++i) position[data.candidates[i].config] = i;

  using Place = std::tuple<std::int64_t, std::int64_t, std::size_t>;
  std::map<Place, const MeasureEvent*> chosen;
  for (const MeasureEvent& event : journal.measurements) {
    const auto found = position.find(event.config);
    const table::Alignment alignment = table::alignment_of(event.problem);
    const bool usable = found != position.end() && event.problem.dtype == dtype && event.timing.median_us > 0 &&
                        event.problem.N <= data.candidates[found->second].limit_of(alignment);
    if (!usable) continue;
    const MeasureEvent*& slot = chosen[{event.problem.M, event.problem.N, found->second}];
    if (!slot || weight_of(event) > weight_of(*slot)) slot = &event;
  }
  std::set<std::int64_t> Ms;
  for (const auto& [place, event] : chosen) {
    const auto [M, N, candidate] = place;
    data.times[table::alignment_of({dtype, M, N})].add(M, N, candidate, event->timing.median_us);
    Ms.insert(M);
  }
  data.M.assign(Ms.begin(), Ms.end());
  return data;
}

}  // namespace softmax_dispatch::tuning
