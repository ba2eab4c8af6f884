#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "sim/ptx_runner.hpp"
#include "sim/sim_fixture.hpp"
#include "support/error.hpp"

namespace softmax_dispatch::sim {

inline constexpr std::int64_t kM = 6000;

/// What a launch leaves behind.
struct Result {
  std::vector<float> memory;  ///< x, y and what lies around them.
  LaunchCounts counts;
  std::string error;
};

/// A launch of a kernel (x, y, M, N) on x of kM rows that repeat every `period` rows.
struct Repeated {
  std::string ptx;
  std::int64_t N = 3;
  std::uint64_t grid = kM;
  std::uint32_t block = 64;
  std::int64_t period = 7;
  std::size_t x_offset = 0, y_offset = 0;
  bool in_place = false;
  std::int64_t M = kM;
  std::optional<std::int64_t> unwritten_row = {};  ///< Of x: nobody has initialised its elements.

  Result run(bool repeat, unsigned host_threads = 1) const {
    PtxRunner runner;
    runner.options.repeat = repeat;
    runner.options.host_threads = host_threads;
    runner.options.resident_blocks = 64;
    const auto program = runner.decode(ptx);
    const auto elements = static_cast<std::size_t>(kM * N);
    const DevicePtr x = runner.memory.allocate((elements + x_offset) * 4) + x_offset * 4;
    DevicePtr y = x;
    if (!in_place) y = runner.memory.allocate((elements + y_offset) * 4) + y_offset * 4;
    std::vector<float> row(static_cast<std::size_t>(N));
    for (std::int64_t r = 0; r < kM; ++r) {
      if (r == unwritten_row) continue;
      for (std::size_t i = 0; i < row.size(); ++i)
        row[i] = static_cast<float>((r % period + 1) * 37 % 6007) / 64 + 0.25f * static_cast<float>(i * 13 % 7);
      runner.memory.upload(x + static_cast<DevicePtr>(r * N) * 4, row.data(), row.size() * 4);
    }
    Result result;
    try {
      result.counts =
          runner.run(program, grid, block, {x, y, static_cast<std::uint64_t>(M), static_cast<std::uint64_t>(N)});
    } catch (const Error& error) {
      result.error = error.what();
    }
    result.memory = runner.download<float>(x, elements);
    const std::vector<float> out = runner.download<float>(y, elements);
    result.memory.insert(result.memory.end(), out.begin(), out.end());
    return result;
  }

  /// Repeats blocks or not, with the same result. Gives how many were repeated.
  std::uint64_t expect_same() const {
    const Result executed = run(false);
    EXPECT_EQ(executed.counts.repeated, 0u);
    std::uint64_t repeated = 0;
    for (const unsigned threads : {1u, 2u}) {
      const Result got = run(true, threads);
      EXPECT_EQ(got.error, executed.error);
      if (!executed.error.empty()) continue;  // which blocks have run by then is open
      EXPECT_EQ(std::memcmp(got.memory.data(), executed.memory.data(), got.memory.size() * 4), 0) << "other bits";
      expect_same_counts(got.counts, executed.counts);
      repeated = got.counts.repeated;
    }
    return repeated;
  }

  static void expect_same_counts(const LaunchCounts& got, const LaunchCounts& expected) {
    EXPECT_EQ(got.blocks, expected.blocks);
    EXPECT_EQ(got.sampled_blocks, expected.sampled_blocks);
    EXPECT_EQ(got.warps, expected.warps);
    EXPECT_EQ(got.warp_instructions, expected.warp_instructions);
    EXPECT_EQ(got.thread_instructions, expected.thread_instructions);
    EXPECT_EQ(got.by_class, expected.by_class);
    EXPECT_EQ(got.by_opcode, expected.by_opcode);
    EXPECT_EQ(got.sectors_load, expected.sectors_load);
    EXPECT_EQ(got.sectors_store, expected.sectors_store);
    EXPECT_EQ(got.bytes_load, expected.bytes_load);
    EXPECT_EQ(got.bytes_store, expected.bytes_store);
    EXPECT_EQ(got.diverged_branches, expected.diverged_branches);
  }
};

inline std::string kernel(const std::string& body) {
  return line_info_ptx("extern \"C\" __global__ void k(const float* x, float* y, long long M, long long N) {\n" + body +
                       "\n}\n");
}

}  // namespace softmax_dispatch::sim
