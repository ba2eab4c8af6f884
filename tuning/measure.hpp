#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "device/workspace.hpp"
#include "tuning/protocol.hpp"
#include "tuning/worker.hpp"

namespace softmax_dispatch::tuning {

/// A loaded kernel with its launch for the problem in hand.
struct MeasureCandidate {
  Config config;
  const LoadedKernel* kernel = nullptr;
  Geometry geometry;
  /// What it is told instead of the problem: another view of the same bytes.
  std::optional<Problem> view = {};
};

/// How a problem is laid out for timing on cold buffers: enough pairs of x and y that four times the L2 lies between
/// two uses of one (at most 64), and enough launches in a graph that its start does not count.
struct Rotation {
  std::size_t pairs = 1;
  std::size_t launches = 1;  ///< A multiple of `pairs`.
};
Rotation rotation_of(const Problem& problem, std::int64_t l2_bytes, int max_launches);

/// Times kernels on one device. Keeps its buffers and the graphs of the last problem, so that finalists are replayed
/// without being recorded again.
class Measurer {
 public:
  /// `announce` is told each candidate's text before it runs.
  Measurer(Device& device, std::function<void(const std::string&)> announce);

  /// In the order of the candidates. With the graph protocol every candidate is first launched three times and, where
  /// that shows it race_factor times slower than the best, keeps that one sample; so it does after its first replay.
  /// Samples that a device's memory cannot reach are dropped; a candidate without any sample left has an error. The
  /// times of a simulated device don't scatter: there each candidate has one sample, and none is raced.
  std::vector<TimeResult> time(const Problem& problem, std::span<const MeasureCandidate> candidates,
                               const TimingPlan& plan);

  /// The faster of a memcpy and the copy kernels over the same bytes, microseconds.
  double copy_limit_us(const Problem& problem, std::span<const MeasureCandidate> copy_kernels, const TimingPlan& plan);

 private:
  struct Entrant;

  void prepare(const Problem& problem, const TimingPlan& plan);
  Launch launch_of(const MeasureCandidate& candidate, std::size_t pair) const;
  void reserve_workspace(std::span<const MeasureCandidate> candidates);
  Batch& recorded(const MeasureCandidate& candidate, double expected_us);
  double one_sample(Entrant& entrant);
  void probe(std::vector<Entrant>& field, const TimingPlan& plan);
  void race(std::vector<Entrant>& field, const TimingPlan& plan);
  void model(std::vector<Entrant>& field, const TimingPlan& plan);
  std::vector<TimeResult> results_of(const std::vector<Entrant>& field) const;
  bool is_possible(double time_us) const;

  Device& device_;
  std::function<void(const std::string&)> announce_;
  Buffer x_, y_;
  Workspace workspace_;
  DevicePtr shared_workspace_ = 0;  ///< Of every launch; 0 while none has taken one.
  DType filled_ = DType::f32;       ///< What the elements of x are.
  std::optional<Problem> problem_;
  int max_launches_ = 0;
  Rotation rotation_;
  /// A replay begins with what the one before left in L2: lines that it must first write out. Where that tells, each
  /// candidate is replayed once untimed before its sample, so that none starts from another's.
  bool starts_count_ = false;
  std::map<std::string, std::unique_ptr<Batch>> batches_;
  std::mt19937_64 random_;
};

}  // namespace softmax_dispatch::tuning
