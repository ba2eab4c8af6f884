// Exponentials kept in the place of 16-bit elements (kept.cuh), by the kernels' own code: rounded there and once more
// as results, these are at most one unit in the last place from what one rounding gives, and neither up nor down more
// often.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "sim/ptx_runner.hpp"
#include "sim/sim_fixture.hpp"
#include "support/dtype.hpp"
#include "support/elements.hpp"
#include "variants/registry.hpp"
#include "verify/reference.hpp"

namespace softmax_dispatch::sim {
namespace {

constexpr std::uint32_t kThreads = 128;
constexpr std::size_t kVector = 8;

/// A thread has a vector of exponentials. opened: what is kept of them; y: times each of the scales.
constexpr const char* kSource = R"(
#include "common/kept.cuh"
extern "C" __global__ void kept(const float* x, float* opened, const float* scales, int count, uint4* y) {
  const int i = blockIdx.x * THREADS + threadIdx.x;
  float v[kVector];
  for (int k = 0; k < kVector; ++k) v[k] = x[i * kVector + k];
  const uint4 vector = keep(v);
  const unsigned words[4] = {vector.x, vector.y, vector.z, vector.w};
  for (int k = 0; k < 4; ++k) open_word(words[k], v + k * kPerWord);
  for (int k = 0; k < kVector; ++k) opened[i * kVector + k] = v[k] * kUnbias;
  for (int s = 0; s < count; ++s) y[i * count + s] = scaled(vector, kUnbias * scales[s]);
}
)";

/// Of results, in units in the last place from what one rounding gives.
struct Differences {
  int worst = 0;
  std::int64_t sum = 0, off = 0, count = 0;

  void add(std::uint16_t got, std::uint16_t right) {
    const int difference = order_of(got) - order_of(right);
    worst = std::max(worst, std::abs(difference));
    sum += difference;
    off += difference != 0;
    ++count;
  }

  void expect_rounded_to_the_nearest_twice(const std::string& of) const {
    EXPECT_EQ(worst, 1) << of << ": it shows somewhere, and by no more";
    EXPECT_LT(static_cast<double>(std::abs(sum)), 0.01 * static_cast<double>(count)) << of;
    EXPECT_LT(static_cast<double>(off), 0.25 * static_cast<double>(count)) << of;
  }
};

struct Results {
  std::vector<float> opened;
  std::vector<std::uint16_t> y;  ///< For each vector, for each scale, its elements.
};

Results run(DType dtype, std::vector<float> exponentials, const std::vector<float>& scales) {
  const std::size_t block = kVector * kThreads;
  exponentials.resize((exponentials.size() + block - 1) / block * block);
  PtxRunner runner;
  const DevicePtr x = runner.upload(exponentials);
  const DevicePtr opened = runner.upload(std::vector<float>(exponentials.size()));
  const DevicePtr factors = runner.upload(scales);
  const DevicePtr y =
      runner.upload(std::vector<std::uint16_t>(exponentials.size() * std::max<std::size_t>(1, scales.size())));
  const std::string ptx =
      line_info_ptx(kSource, {"-DTHREADS=" + std::to_string(kThreads), std::string("-DTYPE=") + to_string(dtype)});
  runner.run(ptx, exponentials.size() / block, kThreads, {x, opened, factors, scales.size(), y});
  return {runner.download<float>(opened, exponentials.size()),
          runner.download<std::uint16_t>(y, exponentials.size() * scales.size())};
}

/// Bits of mantissa that are kept.
int kept_bits(DType dtype) {
  return dtype == DType::f16 ? 11 : 8;
}

/// In the power of two from 2^exponent on: every kept value, and what lies between it and the next, up to both sides of
/// the middle, as far above it as below.
std::vector<float> exponentials(DType dtype, int exponent) {
  const int count = 1 << kept_bits(dtype);
  std::vector<float> result;
  for (int i = 0; i < count; ++i)
    for (const float between : {0.0f, 0.125f, 0.375f, 0.5f - 0x1p-10f, 0.5f + 0x1p-10f, 0.625f, 0.875f})
      result.push_back(std::ldexp(1.0f + (static_cast<float>(i) + between) / static_cast<float>(count), exponent));
  return result;
}

TEST(KeptExponentials, AreTheNearestWithOneMoreBitOfMantissa) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const int least = dtype == DType::f16 ? -30 : -126;
    const int most = dtype == DType::f16 ? -1 : 7;
    std::vector<float> all;
    for (int exponent = least; exponent <= most; exponent += dtype == DType::f16 ? 1 : 7) {
      const std::vector<float> some = exponentials(dtype, exponent);
      all.insert(all.end(), some.begin(), some.end());
    }
    all.push_back(std::ldexp(1.0f, most + 1));  // the largest: of the maximum itself
    const std::vector<float> opened = run(dtype, all, {}).opened;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const float half_a_unit = std::ldexp(1.0f, std::ilogb(all[i]) - kept_bits(dtype) - 1);
      ASSERT_LE(std::fabs(opened[i] - all[i]), half_a_unit) << to_string(dtype) << ' ' << all[i];
    }
  }
}

// The least result of f16 is 2^-24, and half of it is the least that is not rounded to zero.
TEST(KeptExponentials, OfF16AreOfAnyOrderWhereNoResultSeesThem) {
  std::vector<float> all{0.0f};
  for (int exponent = -149; exponent < -30; ++exponent)
    for (const float m : {1.0f, 1.25f, 1.999f}) all.push_back(std::ldexp(m, exponent));
  const std::vector<float> opened = run(DType::f16, all, {}).opened;
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_LE(std::fabs(opened[i] - all[i]), 0x1p-31f) << all[i];
}

// Cut off, they would be less than one unit away as well, and pass verification: all results would be too small.
TEST(KeptExponentials, GiveResultsOneUnitInTheLastPlaceFromThoseRoundedOnceAtMost) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const std::vector<float> all = exponentials(dtype, -3);
    // Over a power of two: those that have normal results, and those of f16 with subnormal ones.
    std::vector<float> scales;
    constexpr int kScales = 1024;
    for (const int exponent : {-1, -15})
      for (int i = 0; i < kScales; ++i)
        scales.push_back(std::ldexp(1.0f + (static_cast<float>(i) + 0.71f) / kScales, exponent));
    scales.push_back(0x1.fffffep-1f);
    const std::vector<std::uint16_t> y = run(dtype, all, scales).y;
    Differences differences;
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (std::size_t s = 0; s < scales.size(); ++s) {
        const std::uint16_t got = y[(i / kVector * scales.size() + s) * kVector + i % kVector];
        const std::uint16_t right = round_to(dtype, static_cast<double>(all[i]) * static_cast<double>(scales[s]));
        differences.add(got, right);
      }
    }
    differences.expect_rounded_to_the_nearest_twice(to_string(dtype));
  }
}

/// The softmax of random rows by the kernel, against FP64.
Differences of_random_rows(const Config& config, std::int64_t M, std::int64_t N, float spread) {
  const Variant& variant = registry().at(config.variant);
  const auto device = simulated_t4();
  const auto kernel =
      device->load(product_ptx(config.variant, variant.macros(config.dtype, config.constants)), config.variant);
  const auto count = static_cast<std::size_t>(M * N);
  std::vector<float> x(count);
  std::mt19937 random(7);
  std::normal_distribution<float> normal(0, spread);
  for (float& value : x) value = normal(random);
  const std::vector<std::byte> input = to_elements(config.dtype, x);
  Buffer from(*device, input.size()), to(*device, input.size());
  device->upload(from.get(), input.data(), input.size());
  const Problem problem{config.dtype, M, N};
  Launch launch{kernel.get(), variant.geometry(problem, config.constants), from.get(), to.get(), M, N};
  launch.element_bytes = 2;
  device->launch(launch, {});
  device->synchronize();
  std::vector<std::uint16_t> y(count);
  device->download(y.data(), to.get(), input.size());

  const std::vector<double> right = verify::reference(to_values(config.dtype, input), M, N);
  Differences differences;
  for (std::size_t i = 0; i < count; ++i) differences.add(y[i], round_to(config.dtype, right[i]));
  return differences;
}

TEST(KeptExponentials, OfRandomRowsGiveTheSame) {
  // Half of a row in registers.
  const Constants held{{"BLOCKS", 2}, {"SHARED_ITEMS", 1}, {"STREAM", 0}, {"THREADS", 64}, {"VEC_ITEMS", 1}};
  for (const DType dtype : {DType::f16, DType::bf16}) {
    for (const float spread : {0.5f, 2.0f, 8.0f}) {
      of_random_rows({"held", held, dtype}, 64, 1000, spread)
          .expect_rounded_to_the_nearest_twice(std::string(to_string(dtype)) + ", spread " + std::to_string(spread));
    }
  }
}

}  // namespace
}  // namespace softmax_dispatch::sim
