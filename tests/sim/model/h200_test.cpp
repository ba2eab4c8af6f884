// The model with configs/devices/h200.yaml against times measured on an H200 (h200_times.csv, by
// scripts/model_times.py): launches in CUDA graphs over buffers that rotate past L2, at most 64 pairs of them.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <map>
#include <numeric>
#include <set>
#include <sstream>

#include "device/sim/model/physical_model.hpp"
#include "sim/model/fit.hpp"

namespace softmax_dispatch::sim {
namespace {

using Shape = std::pair<std::int64_t, std::int64_t>;

/// Shapes on which the constants are fitted; all others are predictions.
const std::set<Shape> kFittedShapes{{1, 128},      {1, 4096},   {8, 16384},    {64, 1021},
                                    {256, 8192},   {1024, 256}, {1024, 4096},  {4096, 4093},
                                    {4096, 16384}, {32768, 32}, {32768, 2048}, {262144, 128}};
constexpr std::string_view kFitted[] = {"launch_us",       "block_start_cycles", "dram_latency_cycles", "l2_share",
                                        "exchange_cycles", "path_share",         "barrier_cycles",      "barrier_slots",
                                        "code_cycles",     "code_warp_cycles",   "alone_share"};

/// Bytes of the buffers between two uses of one in the measuring protocol (tuning/measure.cpp, rotation_of).
std::int64_t rotating_bytes(std::int64_t M, std::int64_t N, std::int64_t l2_bytes) {
  const std::int64_t bytes = 8 * M * N;
  return bytes * std::clamp<std::int64_t>((4 * l2_bytes + bytes - 1) / bytes, 1, 64);
}

std::map<Shape, std::vector<Measured>> read_times() {
  const DeviceFile device = read_device_file("h200.yaml");
  WorkloadMaker maker(device.info, PhysicalModel(device.constants).costs());
  std::ifstream file(std::string(SOFTMAX_DISPATCH_SOURCE_DIR) + "/tests/sim/model/h200_times.csv");
  std::string line, config, M, N, time_us;
  std::getline(file, line);
  EXPECT_EQ(line, "config,M,N,time_us");
  std::map<Shape, std::vector<Measured>> shapes;
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    for (std::string* field : {&config, &M, &N, &time_us}) std::getline(fields, *field, ',');
    Measured one;
    one.config = parse_config(config);
    one.time_us = std::stod(time_us);
    const std::int64_t m = std::stoll(M), n = std::stoll(N);
    one.workload = maker.make(one.config, m, n, rotating_bytes(m, n, device.info.l2_bytes));
    shapes[{m, n}].push_back(std::move(one));
  }
  // What is far from the best is never chosen: a fit should not care for it as much.
  for (auto& [shape, points] : shapes) {
    double best = INFINITY;
    for (const Measured& one : points) best = std::min(best, one.time_us);
    for (Measured& one : points) one.weight = best / one.time_us;
  }
  return shapes;
}

const std::map<Shape, std::vector<Measured>>& times() {
  static const auto all = read_times();
  return all;
}

/// Place of each value in ascending order; equal values share the mean of their places.
std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<double> made;
  for (const double one : values) {
    const auto less = std::count_if(values.begin(), values.end(), [&](double other) { return other < one; });
    const auto equal = std::count(values.begin(), values.end(), one);
    made.push_back(static_cast<double>(less) + static_cast<double>(equal - 1) / 2);
  }
  return made;
}

/// Spearman's: the correlation of the ranks.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> x = ranks(a), y = ranks(b);
  const double mean = static_cast<double>(a.size() - 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xy / std::sqrt(xx * yy);
}

struct Comparison {
  double correlation = 0;
  double lost = 1;  ///< Measured time of what the model calls fastest, over the least measured time.
  double rms = 0;   ///< Of log(modelled / measured).
  Config chosen, best;
};

Comparison compare(const std::vector<Measured>& points, const ModelConstants& constants) {
  std::vector<double> modelled, measured;
  double squares = 0;
  for (const Measured& one : points) {
    modelled.push_back(modelled_us(one, constants));
    measured.push_back(one.time_us);
    squares += std::pow(std::log(modelled.back() / measured.back()), 2);
  }
  const auto chosen = static_cast<std::size_t>(std::min_element(modelled.begin(), modelled.end()) - modelled.begin());
  const auto best = static_cast<std::size_t>(std::min_element(measured.begin(), measured.end()) - measured.begin());
  return {rank_correlation(modelled, measured), measured[chosen] / measured[best],
          std::sqrt(squares / static_cast<double>(points.size())), points[chosen].config, points[best].config};
}

TEST(MeasuredH200, RanksAndChoices) {
  const ModelConstants constants = read_device_file("h200.yaml").constants;
  std::set<std::string> variants;
  std::cout
      << "| shape          | kernels | rank correlation | time lost | rms error | fitted | model's choice | fastest |\n"
         "|----------------|--------:|-----------------:|----------:|----------:|--------|----------------|---------|"
         "\n";
  double correlations = 0, least = 1, log_lost = 0, worst = 1, squares = 0;
  int shapes = 0;
  for (const auto& [shape, points] : times()) {
    for (const Measured& one : points) variants.insert(one.config.variant);
    if (points.size() < 8) continue;
    const Comparison one = compare(points, constants);
    const bool fitted = kFittedShapes.count(shape) > 0;
    std::cout << fmt::format("| {:<14} | {:>7} | {:>16.3f} | {:>9.3f} | {:>9.3f} | {:<6} | {} | {} |\n",
                             fmt::format("{}x{}", shape.first, shape.second), points.size(), one.correlation, one.lost,
                             one.rms, fitted ? "yes" : "", to_string(one.chosen), to_string(one.best));
    if (fitted) continue;
    ++shapes;
    correlations += one.correlation;
    least = std::min(least, one.correlation);
    log_lost += std::log(one.lost);
    worst = std::max(worst, one.lost);
    squares += one.rms * one.rms;
  }
  std::cout << fmt::format(
      "{} variants, {} shapes that nothing was fitted on: rank correlation {:.3f} in the mean, {:.3f} at least; time "
      "lost by choosing with the model {:.1f} % (geometric mean), {:.1f} % at worst; rms error {:.1f} %\n",
      variants.size(), shapes, correlations / shapes, least, 100 * (std::exp(log_lost / shapes) - 1), 100 * (worst - 1),
      100 * std::sqrt(squares / shapes));
  EXPECT_GE(variants.size(), 12u);
  EXPECT_GE(shapes, 20);
  EXPECT_GE(correlations / shapes, 0.87);
  EXPECT_GE(least, 0.4);
  EXPECT_LE(std::exp(log_lost / shapes), 1.05);
  EXPECT_LE(worst, 1.4);
}

TEST(MeasuredH200, TheConstantsAreThoseOfTheFit) {
  std::vector<Measured> points;
  for (const auto& [shape, all] : times())
    if (kFittedShapes.count(shape) > 0) points.insert(points.end(), all.begin(), all.end());
  const ModelConstants shipped = read_device_file("h200.yaml").constants, fitted = fit(points, shipped, kFitted);
  const auto squares = [&](const ModelConstants& constants) {
    double sum = 0;
    for (const Measured& one : points)
      sum += one.weight * std::pow(std::log(modelled_us(one, constants) / one.time_us), 2);
    return sum;
  };
  for (const NamedConstant& one : named_constants())
    std::cout << fmt::format("{}: {:.4g}, fitted {:.4g}\n", one.name, shipped.*one.value, fitted.*one.value);
  std::cout << fmt::format("sum of squares over {} times: {:.4f}, fitted {:.4f}\n", points.size(), squares(shipped),
                           squares(fitted));
  EXPECT_LT(squares(shipped), 1.05 * squares(fitted));
}

}  // namespace
}  // namespace softmax_dispatch::sim
