// The model with configs/devices/t4.yaml against the published times of a Tesla T4.
#include "sim/model/published.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "device/sim/model/physical_model.hpp"

namespace softmax_dispatch::sim {
namespace {

/// The constants that are fitted on these times.
constexpr std::string_view kFitted[] = {"dram_gb_per_s", "l2_share", "path_share"};

ModelConstants t4_constants() {
  return read_device_file("t4.yaml").constants;
}

bool is_unexplained(const Measured& a, const Measured& b) {
  const auto& pair = published().unexplained;
  return a.config != b.config && std::count(pair.begin(), pair.end(), a.config) > 0 &&
         std::count(pair.begin(), pair.end(), b.config) > 0;
}

std::string row(const std::string& set, const Measured& point, double modelled) {
  return fmt::format("| {:<14} | {:<34} | {:>5} | {:>5} | {:>9.2f} | {:>8.2f} | {:>5.3f} |\n", set,
                     to_string(point.config), point.workload.M, point.workload.N, point.time_us, modelled,
                     modelled / point.time_us);
}

constexpr const char* kHead =
    "| set            | kernel                             |     M |     N | published | modelled | ratio |\n"
    "|----------------|------------------------------------|------:|------:|----------:|---------:|------:|\n";

TEST(PublishedT4, EveryTimeIsWithin15Percent) {
  const ModelConstants constants = t4_constants();
  std::cout << kHead;
  for (const Published::Set& set : published().sets) {
    for (const Measured& one : set.points) {
      const double modelled = modelled_us(one, constants);
      std::cout << row(set.name, one, modelled);
      EXPECT_NEAR(modelled / one.time_us, 1, 0.15) << set.name << ": " << to_string(one.config);
    }
  }
}

TEST(PublishedT4, PairsThatDifferAreInOrder) {
  const ModelConstants constants = t4_constants();
  int pairs = 0;
  for (const Published::Set& set : published().sets) {
    for (const Measured& slow : set.points) {
      for (const Measured& fast : set.points) {
        if (slow.time_us <= 1.05 * fast.time_us) continue;
        const double ratio = modelled_us(slow, constants) / modelled_us(fast, constants);
        const std::string text =
            fmt::format("{}: {} takes {:.3f} times as long as {}; modelled {:.3f}", set.name, to_string(slow.config),
                        slow.time_us / fast.time_us, to_string(fast.config), ratio);
        if (is_unexplained(slow, fast)) {
          std::cout << text << (ratio > 1 ? "\n" : ": a miss, unexplained by the author of the times\n");
          continue;
        }
        ++pairs;
        EXPECT_GT(ratio, 1) << text;
      }
    }
  }
  std::cout << pairs << " pairs differ by more than 5 %\n";
  EXPECT_GE(pairs, 10);
}

// Clock and caches are those of the profiler; nothing is fitted on them.
TEST(PublishedT4, DurationsUnderTheProfiler) {
  const ModelConstants constants = t4_constants();
  std::cout << kHead;
  for (const Measured& one : published().profiled) {
    const double modelled = modelled_us(one, constants);
    std::cout << row("profiler", one, modelled);
    EXPECT_NEAR(modelled / one.time_us, 1, 0.25) << to_string(one.config);
  }
}

double squares(const std::vector<Measured>& points, const ModelConstants& constants) {
  double sum = 0;
  for (const Measured& one : points)
    sum += one.weight * std::pow(std::log(modelled_us(one, constants) / one.time_us), 2);
  return sum;
}

TEST(PublishedT4, TheConstantsAreThoseOfTheFit) {
  const std::vector<Measured> points = published().points();
  const ModelConstants shipped = t4_constants();
  const ModelConstants fitted = fit(points, shipped, kFitted);
  for (const NamedConstant& one : named_constants()) {
    if (std::find(std::begin(kFitted), std::end(kFitted), one.name) == std::end(kFitted)) continue;
    std::cout << fmt::format("{}: {:.5g}, fitted {:.5g}\n", one.name, shipped.*one.value, fitted.*one.value);
    EXPECT_NEAR(shipped.*one.value / (fitted.*one.value), 1, 0.02) << one.name;
  }
  std::cout << fmt::format("sum of squares: {:.6f}, fitted {:.6f}\n", squares(points, shipped),
                           squares(points, fitted));
  EXPECT_LT(squares(points, shipped), 1.01 * squares(points, fitted));
}

// Each time predicted by a fit on all others. All times of one kernel and shape are left out together: two sets that
// have the same kernel would tell the fit what it is asked.
TEST(PublishedT4, LeaveOneOut) {
  const std::vector<Measured> points = published().points();
  std::cout << kHead;
  double worst = 0, sum = 0;
  for (const Published::Set& set : published().sets) {
    for (const Measured& one : set.points) {
      std::vector<Measured> others;
      for (const Measured& other : points)
        if (other.config != one.config || other.workload.N != one.workload.N) others.push_back(other);
      const double modelled = modelled_us(one, fit(others, t4_constants(), kFitted));
      std::cout << row(set.name, one, modelled);
      const double error = std::abs(std::log(modelled / one.time_us));
      worst = std::max(worst, error);
      sum += error * error;
    }
  }
  const double rms = std::sqrt(sum / static_cast<double>(points.size()));
  std::cout << fmt::format("left out: root mean square {:.1f} %, worst {:.1f} %\n", 100 * rms, 100 * worst);
  EXPECT_LT(worst, 0.2);
  EXPECT_LT(rms, 0.1);
}

}  // namespace
}  // namespace softmax_dispatch::sim
