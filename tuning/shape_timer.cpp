#include "tuning/shape_timer.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "support/error.hpp"
#include "tuning/stages.hpp"

namespace softmax_dispatch::tuning {
namespace {

constexpr int kMostStrays = 2;

}  // namespace

ShapeTimer::ShapeTimer(WorkerCommand command, WorkerSettings settings,
                       std::function<void(const Config&, const std::string& reason)> on_quarantine)
    : command_(std::move(command)), settings_(std::move(settings)), on_quarantine_(std::move(on_quarantine)) {}

Worker& ShapeTimer::worker() {
  if (!worker_) worker_ = std::make_unique<Worker>(command_, settings_);
  return *worker_;
}

std::vector<Timed> ShapeTimer::time(const Problem& problem, const std::vector<Config>& candidates,
                                    const ShapePlan& plan, const std::optional<Config>& always) {
  std::vector<Timed> field;
  for (const Config& config : candidates) {
    Timed& timed = field.emplace_back(Timed{config, {}, false, {}});
    for (const auto& [bad, reason] : quarantined_)
      if (bad == config) timed.error = reason;
  }
  std::vector<std::vector<double>> samples(field.size());
  add_samples(problem, field, samples, plan.screen, [](std::size_t) { return true; });

  std::vector<double> medians;
  double best_us = INFINITY;
  for (std::size_t i = 0; i < field.size(); ++i) {
    medians.push_back(field[i].error ? INFINITY : summarize(samples[i]).median_us);
    best_us = std::min(best_us, medians.back());
  }
  if (plan.final_replays > 0) {
    TimingPlan finals = plan.screen;
    finals.replays = plan.final_replays;
    finals.race_factor = 0;
    for (std::size_t i = 0; i < field.size(); ++i)
      field[i].final = medians[i] <= plan.finalist_factor * best_us || field[i].config == always;
    add_samples(problem, field, samples, finals, [&](std::size_t i) { return field[i].final; });
  }
  for (std::size_t i = 0; i < field.size(); ++i)
    if (!field[i].error) field[i].timing = summarize(samples[i]);
  return field;
}

void ShapeTimer::add_samples(const Problem& problem, std::vector<Timed>& field,
                             std::vector<std::vector<double>>& samples, const TimingPlan& plan,
                             const std::function<bool(std::size_t)>& takes_part) {
  for (;;) {
    std::vector<Config> configs;
    std::vector<std::size_t> positions;
    for (std::size_t i = 0; i < field.size(); ++i) {
      if (field[i].error || !takes_part(i)) continue;
      configs.push_back(field[i].config);
      positions.push_back(i);
    }
    if (configs.empty()) return;
    try {
      const std::vector<TimeResult> results = worker().time(problem, configs, plan, kTimeSeconds);
      for (std::size_t k = 0; k < results.size(); ++k) {
        const std::size_t i = positions[k];
        field[i].error = results[k].error;
        samples[i].insert(samples[i].end(), results[k].samples_us.begin(), results[k].samples_us.end());
      }
      return;
    } catch (const WorkerLost& lost) {
      blame(problem, lost, field);
    }
  }
}

void ShapeTimer::blame(const Problem& problem, const WorkerLost& lost, std::vector<Timed>& field) {
  const std::string activity = worker().last_activity();
  worker_.reset();
  const std::string reason = fmt::format("at {}: {}", to_string(problem), lost.what());
  const auto guilty =
      std::find_if(field.begin(), field.end(), [&](const Timed& timed) { return to_string(timed.config) == activity; });
  if (guilty == field.end()) {
    if (++strays_ <= kMostStrays) return;
    throw_error(StatusCode::device, "{}, not for the first time and with no configuration to blame", reason);
  }
  guilty->error = reason;
  quarantined_.emplace_back(guilty->config, reason);
  on_quarantine_(guilty->config, reason);
}

double ShapeTimer::copy_limit_us(const Problem& problem, const TimingPlan& plan) {
  try {
    return worker().copy_limit_us(problem, plan, kTimeSeconds);
  } catch (const WorkerLost& lost) {
    throw_error(StatusCode::device, "copying at {}: {}", to_string(problem), lost.what());
  }
}

TimeResult ShapeTimer::reduce_once(const Problem& problem, const Config& config, const TimingPlan& plan) {
  try {
    return worker().reduce_once(problem, config, plan, kTimeSeconds);
  } catch (const WorkerLost& lost) {
    throw_error(StatusCode::device, "reducing once at {}: {}", to_string(problem), lost.what());
  }
}

}  // namespace softmax_dispatch::tuning
