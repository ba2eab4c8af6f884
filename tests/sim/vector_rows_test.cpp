// Kernels that read rows in the aligned vectors that cover them touch nothing outside of the matrix: the memory before
// and after it is missing, or was never written, and the simulator would say so.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "device/workspace.hpp"
#include "sim/sim_fixture.hpp"
#include "support/dtype.hpp"
#include "support/elements.hpp"
#include "variants/registry.hpp"

namespace softmax_dispatch::sim {
namespace {

struct Case {
  std::int64_t M, N;
  std::int64_t x_skew, y_skew;  // elements by which the matrices lie past the beginnings of their allocations
  bool in_place;
};
constexpr Case kCases[] = {{5, 77, 1, 1, false}, {5, 77, 3, 0, false}, {9, 13, 2, 2, true},
                           {1, 1, 1, 1, false},  {3, 64, 0, 0, true},  {4, 79, 1, 2, false}};

/// Rows shorter than a vector, of which several lie between one and the matrix's ends.
std::vector<Case> short_rows() {
  std::vector<Case> cases;
  for (const std::int64_t M : {2, 3, 10})
    for (const std::int64_t N : {1, 2, 3, 5})
      for (const std::int64_t skew : {0, 1, 2, 3, 5, 7}) cases.push_back({M, N, skew, skew, false});
  return cases;
}

std::vector<float> softmax(const std::vector<float>& x, std::int64_t M, std::int64_t N) {
  std::vector<float> y(x.size());
  for (std::int64_t r = 0; r < M; ++r) {
    double sum = 0;
    for (std::int64_t i = r * N; i < (r + 1) * N; ++i)
      sum += std::exp(static_cast<double>(x[static_cast<std::size_t>(i)]));
    for (std::int64_t i = r * N; i < (r + 1) * N; ++i) {
      const auto at = static_cast<std::size_t>(i);
      y[at] = static_cast<float>(std::exp(static_cast<double>(x[at])) / sum);
    }
  }
  return y;
}

struct Loaded {
  Config config;
  const Variant& variant = registry().at(config.variant);
  decltype(simulated_t4()) device = simulated_t4();
  std::shared_ptr<const LoadedKernel> kernel =
      device->load(product_ptx(config.variant, variant.macros(config.dtype, config.constants)), config.variant);
};

float repeating(std::size_t i) {
  return static_cast<float>(i * 7 % 31) / 8;
}

void run(const Loaded& loaded, const Case& one, float (*value)(std::size_t) = repeating) {
  const auto& [config, variant, device, kernel] = loaded;
  const std::size_t size = size_of(config.dtype);
  const auto elements = static_cast<std::size_t>(one.M * one.N);
  std::vector<float> values(elements);
  for (std::size_t i = 0; i < elements; ++i) values[i] = value(i);

  Buffer x(*device, (static_cast<std::size_t>(one.x_skew) + elements) * size);
  Buffer other(*device, (static_cast<std::size_t>(one.y_skew) + elements) * size);
  const DevicePtr from = x.get() + static_cast<DevicePtr>(one.x_skew) * size;
  const DevicePtr to = one.in_place ? from : other.get() + static_cast<DevicePtr>(one.y_skew) * size;
  const std::vector<std::byte> input = to_elements(config.dtype, values);
  device->upload(from, input.data(), input.size());
  const std::vector<std::byte> before(static_cast<std::size_t>(one.y_skew) * size, std::byte{0x5a});
  device->upload(other.get(), before.data(), before.size());
  const Problem problem{config.dtype, one.M, one.N};
  Launch launch{kernel.get(), variant.geometry(problem, config.constants), from, to, one.M, one.N};
  launch.element_bytes = static_cast<int>(size);
  Workspace workspace(*device);
  launch.workspace = workspace.of(launch.geometry);
  ASSERT_NO_THROW(device->launch(launch, {})) << to_string(config) << ' ' << to_string(problem);
  device->synchronize();

  std::vector<std::byte> output(input.size());
  device->download(output.data(), to, output.size());
  const std::vector<float> got = to_values(config.dtype, output);
  const std::vector<float> expected = softmax(values, one.M, one.N);
  const float tolerance = config.dtype == DType::f32 ? 1e-6f : config.dtype == DType::f16 ? 1e-3f : 8e-3f;
  const std::string what = fmt::format("{} {}, {} and {} elements past a line{}", to_string(config), to_string(problem),
                                       one.x_skew, one.y_skew, one.in_place ? ", in place" : "");
  for (std::size_t i = 0; i < elements; ++i) ASSERT_NEAR(got[i], expected[i], tolerance * expected[i]) << what;
  std::vector<std::byte> still(before.size());
  device->download(still.data(), other.get(), still.size());
  ASSERT_EQ(still, before) << what;
}

/// Lengths around a vector, a line and the capacity, at each of the beginnings within a vector or a line: y like x, by
/// an element or a vector otherwise, and the same.
std::vector<Case> ends_of_rows(std::int64_t vector, std::int64_t capacity, const std::vector<std::int64_t>& skews) {
  const std::int64_t line = 8 * vector;
  std::set<std::int64_t> lengths;
  const auto add = [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t N = std::max<std::int64_t>(1, from); N <= std::min(to, capacity); ++N) lengths.insert(N);
  };
  add(1, vector + 1);
  add(line - 1, line + 1);
  add(capacity - line - 1, capacity - line + 2);
  add(capacity - vector - 1, capacity);
  std::vector<Case> cases;
  for (const std::int64_t N : lengths) {
    for (const std::int64_t skew : skews) {
      for (const std::int64_t other : {skew, skew + 1, skew + 2, skew + vector})
        cases.push_back({3, N, skew, other, false});
      cases.push_back({3, N, skew, skew, true});
    }
  }
  return cases;
}

TEST(VectorRows, LanesTakeTheEndsOfEveryRow) {
  for (const std::int64_t lanes : {1, 2, 4, 8, 16, 32}) {
    for (const DType dtype : kDTypes) {
      const std::int64_t vector = 16 / static_cast<std::int64_t>(size_of(dtype));
      const std::int64_t rows = lanes % 3;  // 1 or 2
      const Loaded loaded{{"lanes",
                           {{"LANES", lanes}, {"ROWS", rows}, {"STREAM", rows - 1}, {"THREADS", 32}, {"VEC_ITEMS", 2}},
                           dtype}};
      std::vector<std::int64_t> skews;
      for (std::int64_t skew = 0; skew < vector; ++skew) skews.push_back(skew);
      for (const Case& one : ends_of_rows(vector, 2 * lanes * vector + vector - 1, skews)) run(loaded, one);
    }
  }
}

TEST(VectorRows, HeldRowsBeginAnywhereInALine) {
  for (const std::int64_t shared : {0, 1}) {
    for (const DType dtype : kDTypes) {
      const std::int64_t vector = 16 / static_cast<std::int64_t>(size_of(dtype));
      const Loaded loaded{
          {"held",
           {{"BLOCKS", 1}, {"SHARED_ITEMS", shared}, {"STREAM", shared}, {"THREADS", 32}, {"VEC_ITEMS", 2 - shared}},
           dtype}};
      const std::vector<std::int64_t> skews{0, 1, vector - 1, vector, vector + 1, 3 * vector + 2, 8 * vector - 1};
      for (const Case& one : ends_of_rows(vector, 64 * vector, skews)) run(loaded, one);
    }
  }
}

/// 4096 elements of a thread, of equal terms and of terms whose maximum rises at every step. One after another in FP32,
/// they add up to an error of some 10^-5.
TEST(VectorRows, WhatAThreadReadsInManyStepsIsSummedAccurately) {
  for (const DType dtype : kDTypes) {
    const Loaded loaded{
        {"map_merge", {{"BLOCKS", 1}, {"PARTS", 1}, {"STREAM", 0}, {"THREADS", 32}, {"VEC_ITEMS", 1}}, dtype}};
    run(loaded, {1, 1 << 17, 0, 0, false}, [](std::size_t) { return 0.7f; });
    // Those of f32 alone are told apart at this distance.
    if (dtype == DType::f32)
      run(loaded, {1, 1 << 17, 0, 0, false}, [](std::size_t i) { return static_cast<float>(i) / (1 << 14); });
  }
}

TEST(VectorRows, TouchNothingOutsideOfTheMatrix) {
  const Constants all[] = {{{"LANES", 8}, {"ROWS", 1}, {"STREAM", 1}, {"THREADS", 32}, {"VEC_ITEMS", 3}},
                           {{"ITEMS", 10}, {"LANES", 8}, {"STREAM", 1}, {"THREADS", 64}, {"TILE_ROWS", 3}},
                           {{"ITEMS", 80}, {"LANES", 1}, {"STREAM", 1}, {"THREADS", 32}, {"TILE_ROWS", 3}},
                           {{"BLOCKS", 1}, {"SHARED_ITEMS", 0}, {"STREAM", 0}, {"THREADS", 64}, {"VEC_ITEMS", 1}},
                           {{"BLOCKS", 1}, {"SHARED_ITEMS", 1}, {"STREAM", 1}, {"THREADS", 32}, {"VEC_ITEMS", 1}},
                           {{"BLOCKS", 1}, {"PARTS", 3}, {"STREAM", 0}, {"THREADS", 32}, {"VEC_ITEMS", 2}},
                           {{"BLOCKS", 1},
                            {"GRID", 8},
                            {"PARTS", 4},
                            {"SHARED_ITEMS", 0},
                            {"STREAM", 0},
                            {"THREADS", 32},
                            {"VEC_ITEMS", 1}}};
  const char* const ids[] = {"lanes", "tile", "tile", "held", "held", "map_merge", "split"};
  for (std::size_t i = 0; i < std::size(all); ++i) {
    for (const DType dtype : kDTypes) {
      const Loaded loaded{{ids[i], all[i], dtype}};
      for (const Case& one : kCases) run(loaded, one);
      for (const Case& one : short_rows()) run(loaded, one);
    }
  }
}

}  // namespace
}  // namespace softmax_dispatch::sim
