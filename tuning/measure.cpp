#include "tuning/measure.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "support/elements.hpp"

namespace softmax_dispatch::tuning {
namespace {

/// The layout below is that of public head-to-head benchmarks, so that figures can be compared.
constexpr std::int64_t kMostPairs = 64;
constexpr std::int64_t kL2Multiple = 4;
constexpr double kGraphBytes = 2e8;

/// A kernel that takes a millisecond needs no graph of sixty launches to be told from another.
constexpr double kMostReplayUs = 6000;
/// Launches in a graph that is so short that what L2 holds at its start tells in its time.
constexpr std::size_t kFewLaunches = 16;
/// A launch from the host takes a few microseconds, which hides smaller differences in a probe.
constexpr double kProbeSlackUs = 10;
constexpr int kPublishedWarmups = 100, kPublishedLaunches = 1000;

constexpr std::int64_t kAlignment = 256;
constexpr std::size_t kPatternElements = std::size_t{1} << 22;

/// Both matrices of the problem.
std::int64_t bytes_of(const Problem& problem) {
  return 2 * problem.M * problem.N * static_cast<std::int64_t>(size_of(problem.dtype));
}

/// Distance between two buffers in bytes.
std::size_t stride_of(const Problem& problem) {
  return static_cast<std::size_t>((bytes_of(problem) / 2 + kAlignment - 1) / kAlignment * kAlignment);
}

/// Uniform in [-10, 10): never zeros, whose arithmetic and transfers can be faster than those of real data.
void fill_random(Device& device, DevicePtr to, std::size_t bytes, DType dtype, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> uniform(-10, 10);
  std::vector<float> values(std::min(kPatternElements, bytes / size_of(dtype)));
  for (float& value : values) value = uniform(random);
  const std::vector<std::byte> pattern = to_elements(dtype, values);
  std::size_t filled = pattern.size();
  device.upload(to, pattern.data(), filled);
  std::vector<Copy> copies;
  for (std::size_t part; filled < bytes; filled += part) {
    part = std::min(filled, bytes - filled);
    copies.push_back({to, to + filled, part});
  }
  if (!copies.empty()) device.record(copies)->replay_us();
}

}  // namespace

Rotation rotation_of(const Problem& problem, std::int64_t l2_bytes, int max_launches) {
  const std::int64_t bytes = std::max<std::int64_t>(bytes_of(problem), 1);
  const std::int64_t pairs = std::clamp<std::int64_t>((kL2Multiple * l2_bytes + bytes - 1) / bytes, 1, kMostPairs);
  const double enough = std::ceil(kGraphBytes / static_cast<double>(bytes));
  const auto wanted = static_cast<std::int64_t>(std::min<double>(max_launches, enough));
  const std::int64_t launches = std::max(wanted / pairs * pairs, pairs);
  return {static_cast<std::size_t>(pairs), static_cast<std::size_t>(launches)};
}

struct Measurer::Entrant {
  const MeasureCandidate& candidate;
  std::vector<double> samples_us{};
  double probe_us = 0;
  Batch* batch = nullptr;
  bool out = false;

  void leave(double sample_us) {
    out = true;
    samples_us = {sample_us};
  }
};

Measurer::Measurer(Device& device, std::function<void(const std::string&)> announce)
    : device_(device), announce_(std::move(announce)), workspace_(device) {}

std::vector<TimeResult> Measurer::time(const Problem& problem, std::span<const MeasureCandidate> candidates,
                                       const TimingPlan& plan) {
  prepare(problem, plan);
  reserve_workspace(candidates);
  std::vector<Entrant> field;
  for (const MeasureCandidate& candidate : candidates) field.push_back({candidate});
  if (device_.info().simulated) {
    model(field, plan);
    return results_of(field);
  }
  probe(field, plan);
  if (plan.protocol == Protocol::graph) {
    race(field, plan);
  } else {
    for (Entrant& entrant : field) {
      if (entrant.out) continue;
      announce_(to_string(entrant.candidate.config));
      entrant.samples_us = {
          device_.time_stream_us(launch_of(entrant.candidate, 0), kPublishedWarmups, kPublishedLaunches)};
    }
  }
  return results_of(field);
}

std::vector<TimeResult> Measurer::results_of(const std::vector<Entrant>& field) const {
  std::vector<TimeResult> results;
  for (const Entrant& entrant : field) {
    TimeResult& result = results.emplace_back();
    for (const double sample : entrant.samples_us)
      if (is_possible(sample)) result.samples_us.push_back(sample);
    if (result.samples_us.empty() && !entrant.samples_us.empty())
      result.error =
          fmt::format("every sample is impossible: {:.3f} us for {} bytes is above the {:.0f} GB/s of the memory",
                      entrant.samples_us.front(), bytes_of(*problem_), device_.info().dram_peak_gb_per_s());
  }
  return results;
}

double Measurer::copy_limit_us(const Problem& problem, std::span<const MeasureCandidate> copy_kernels,
                               const TimingPlan& plan) {
  TimingPlan cold = plan;
  cold.protocol = Protocol::graph;
  std::vector<double> medians;
  for (const TimeResult& result : time(problem, copy_kernels, cold))
    if (!result.error) medians.push_back(summarize(result.samples_us).median_us);
  const auto bytes = static_cast<std::size_t>(bytes_of(problem) / 2);
  std::vector<Copy> copies;
  for (std::size_t i = 0; i < rotation_.launches; ++i) {
    const std::size_t offset = i % rotation_.pairs * stride_of(problem);
    copies.push_back({x_.get() + offset, y_.get() + offset, bytes});
  }
  announce_("memcpy");
  const std::unique_ptr<Batch> batch = device_.record(copies);
  batch->replay_us();
  std::vector<double> samples;
  for (int i = 0; i < plan.replays; ++i)
    if (const double sample = batch->replay_us(); is_possible(sample)) samples.push_back(sample);
  if (!samples.empty()) medians.push_back(summarize(samples).median_us);
  return medians.empty() ? 0 : *std::min_element(medians.begin(), medians.end());
}

void Measurer::prepare(const Problem& problem, const TimingPlan& plan) {
  random_.seed(plan.seed ^ (static_cast<std::uint64_t>(problem.M) << 32) ^ static_cast<std::uint64_t>(problem.N));
  if (problem_ == problem && max_launches_ == plan.max_launches) return;
  announce_("the buffers of " + to_string(problem));
  batches_.clear();
  problem_ = problem;
  max_launches_ = plan.max_launches;
  rotation_ = rotation_of(problem, device_.info().l2_bytes, plan.max_launches);
  starts_count_ = rotation_.launches <= kFewLaunches &&
                  static_cast<std::int64_t>(rotation_.launches) * bytes_of(problem) >= device_.info().l2_bytes;
  const std::size_t bytes = rotation_.pairs * stride_of(problem);
  if (x_.bytes() >= bytes && filled_ == problem.dtype) return;
  if (x_.bytes() < bytes) {
    x_ = {};
    y_ = {};
    x_ = Buffer(device_, bytes);
    y_ = Buffer(device_, bytes);
  }
  filled_ = problem.dtype;
  fill_random(device_, x_.get(), x_.bytes(), filled_, plan.seed);
}

/// One for all: launches follow one another. Where a larger one takes its place, launches that were recorded with it
/// are recorded again.
void Measurer::reserve_workspace(std::span<const MeasureCandidate> candidates) {
  Geometry most;
  for (const MeasureCandidate& candidate : candidates)
    most.workspace_bytes = std::max(most.workspace_bytes, candidate.geometry.workspace_bytes);
  if (most.workspace_bytes == 0) return;
  const DevicePtr reserved = workspace_.of(most);
  if (std::exchange(shared_workspace_, reserved) != reserved) batches_.clear();
}

Launch Measurer::launch_of(const MeasureCandidate& candidate, std::size_t pair) const {
  const std::size_t offset = pair * stride_of(*problem_);
  const Problem& told = candidate.view ? *candidate.view : *problem_;
  Launch launch{candidate.kernel, candidate.geometry, x_.get() + offset, y_.get() + offset, told.M, told.N};
  launch.element_bytes = static_cast<int>(size_of(told.dtype));
  if (candidate.geometry.workspace_bytes > 0) launch.workspace = shared_workspace_;
  return launch;
}

void Measurer::probe(std::vector<Entrant>& field, const TimingPlan& plan) {
  double best_us = INFINITY;
  for (Entrant& entrant : field) {
    const std::string name = to_string(entrant.candidate.config);
    const auto found = batches_.find(name);
    if (found != batches_.end()) {
      entrant.batch = found->second.get();
      continue;
    }
    announce_(name);
    entrant.probe_us = device_.time_stream_us(launch_of(entrant.candidate, 0), 1, 2);
    best_us = std::min(best_us, entrant.probe_us);
  }
  if (plan.race_factor == 0) return;
  for (Entrant& entrant : field)
    if (!entrant.batch && entrant.probe_us > plan.race_factor * best_us + kProbeSlackUs)
      entrant.leave(entrant.probe_us);
}

Batch& Measurer::recorded(const MeasureCandidate& candidate, double expected_us) {
  const auto affordable = static_cast<std::size_t>(std::max(1.0, kMostReplayUs / std::max(expected_us, 1e-3)));
  std::vector<Launch> launches;
  for (std::size_t i = 0; i < std::min(rotation_.launches, affordable); ++i)
    launches.push_back(launch_of(candidate, i % rotation_.pairs));
  return *(batches_[to_string(candidate.config)] = device_.record(launches));
}

double Measurer::one_sample(Entrant& entrant) {
  announce_(to_string(entrant.candidate.config));
  if (starts_count_) entrant.batch->replay_us();
  return entrant.batch->replay_us();
}

void Measurer::race(std::vector<Entrant>& field, const TimingPlan& plan) {
  std::vector<Entrant*> running;
  for (Entrant& entrant : field)
    if (!entrant.out) running.push_back(&entrant);
  std::shuffle(running.begin(), running.end(), random_);
  double best_us = INFINITY;
  std::map<const Entrant*, double> first_us;
  for (Entrant* entrant : running) {
    if (entrant->batch) continue;
    announce_(to_string(entrant->candidate.config));
    entrant->batch = &recorded(entrant->candidate, entrant->probe_us);
    // The first replay finds cold instructions and translations: good enough to race, not to be a sample.
    first_us[entrant] = entrant->batch->replay_us();
    best_us = std::min(best_us, first_us[entrant]);
  }
  std::erase_if(running, [&](Entrant* entrant) {
    const auto first = first_us.find(entrant);
    if (plan.race_factor == 0 || first == first_us.end() || first->second <= plan.race_factor * best_us) return false;
    entrant->leave(first->second);
    return true;
  });
  for (int replay = 0; replay < plan.replays; ++replay) {
    std::shuffle(running.begin(), running.end(), random_);
    for (Entrant* entrant : running) entrant->samples_us.push_back(one_sample(*entrant));
  }
}

void Measurer::model(std::vector<Entrant>& field, const TimingPlan& plan) {
  for (Entrant& entrant : field) {
    announce_(to_string(entrant.candidate.config));
    if (plan.protocol == Protocol::published) {
      entrant.samples_us = {
          device_.time_stream_us(launch_of(entrant.candidate, 0), kPublishedWarmups, kPublishedLaunches)};
      continue;
    }
    std::vector<Launch> one_round;
    for (std::size_t pair = 0; pair < rotation_.pairs; ++pair) one_round.push_back(launch_of(entrant.candidate, pair));
    entrant.samples_us = {device_.record(one_round)->replay_us()};
  }
}

bool Measurer::is_possible(double time_us) const {
  const double peak = device_.info().dram_peak_gb_per_s();
  const auto bytes = static_cast<double>(bytes_of(*problem_));
  if (peak <= 0 || bytes <= static_cast<double>(kL2Multiple * device_.info().l2_bytes)) return true;
  return bytes / 1e3 <= peak * time_us;
}

}  // namespace softmax_dispatch::tuning
