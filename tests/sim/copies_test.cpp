// Copies in the background and the barriers on which they complete, an instruction at a time.
#include <fmt/core.h>
#include <gmock/gmock.h>

#include <cstdint>
#include <string>
#include <vector>

#include "sim/ptx_runner.hpp"
#include "sim/sim_fixture.hpp"
#include "support/expect_error.hpp"

namespace softmax_dispatch::sim {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

/// A kernel of one block of 64 threads, whose body may use what kernels_src/common/bulk.cuh has.
class Copies : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kWords = 64;

  std::vector<std::uint32_t> run(const std::string& body) {
    const std::string source = R"(
#define STREAM 0
#define TYPE f32
#define THREADS 64
#include "common/bulk.cuh"
extern "C" __global__ void k(const float* x, unsigned* y) {
  __shared__ uint4 words[16];
  __shared__ CopyBarrier barrier;
  const unsigned* const own = reinterpret_cast<const unsigned*>(words) + threadIdx.x;
)" + body + "\n}\n";
    const std::string ptx = jit::Nvrtc::open()
                                ->compile("test", source, jit::Sources::product().headers(), "compute_90",
                                          {"-std=c++17", "-lineinfo", "--no-source-include"})
                                .image;
    std::vector<std::uint32_t> input(kWords);
    for (std::uint32_t i = 0; i < kWords; ++i) input[i] = 100 + i;
    const DevicePtr x = runner_.upload(input), y = runner_.upload(std::vector<std::uint32_t>(kWords));
    runner_.run(ptx, 1, kWords, {x, y});
    return runner_.download<std::uint32_t>(y, kWords);
  }

  std::string fault(const std::string& body) {
    return testing::error_of(StatusCode::device, [&] { run(body); });
  }

  static std::vector<std::uint32_t> counting() {
    std::vector<std::uint32_t> result(kWords);
    for (std::uint32_t i = 0; i < kWords; ++i) result[i] = 100 + i;
    return result;
  }

  PtxRunner runner_;
};

constexpr char kInit[] = "if (threadIdx.x == 0) { barrier.init(1); publish_barriers(); } __syncthreads();";

TEST_F(Copies, ABulkCopyArrivesWhenItsBarrierHasBeenWaitedFor) {
  EXPECT_THAT(run(std::string(kInit) + R"(
  if (threadIdx.x == 32) { barrier.arm(256); bulk_copy(words, x, 256, &barrier); }
  barrier.wait(0);
  y[threadIdx.x] = *own;)"),
              ElementsAreArray(counting()));
}

TEST_F(Copies, ABulkCopyMayBeStreamed) {
  EXPECT_THAT(run(std::string(kInit) + R"(
  if (threadIdx.x == 32) { barrier.arm(256); bulk_copy<true>(words, x, 256, &barrier); }
  barrier.wait(0);
  y[threadIdx.x] = *own;)"),
              ElementsAreArray(counting()));
}

TEST_F(Copies, PhasesFollowOneAnother) {
  EXPECT_THAT(run(std::string(kInit) + R"(
  for (unsigned round = 0; round < 5; ++round) {
    if (threadIdx.x == 0) {
      barrier.arm(round % 2 * 128);
      if (round % 2 == 1) bulk_copy(words + 8 * (round / 2), x + 32 * (round / 2), 128, &barrier);
    }
    barrier.wait(round % 2);
    __syncthreads();
  }
  y[threadIdx.x] = *own;)"),
              ElementsAreArray(counting()));
}

TEST_F(Copies, APhaseIsOverWhenAllThreadsHaveArrived) {
  const std::string init = "if (threadIdx.x == 0) { barrier.init(32); publish_barriers(); } __syncthreads();";
  const std::string write =
      "unsigned* const word = reinterpret_cast<unsigned*>(words);"
      "if (threadIdx.x < 32) word[threadIdx.x] = 100 + threadIdx.x;";
  const std::string read = "if (threadIdx.x >= 32) { barrier.wait(0); y[threadIdx.x] = word[threadIdx.x - 32]; }";
  std::vector<std::uint32_t> expected(kWords);
  for (std::uint32_t i = kWords / 2; i < kWords; ++i) expected[i] = 100 + i - kWords / 2;
  EXPECT_THAT(run(init + write + "if (threadIdx.x < 32) barrier.arrive();" + read), ElementsAreArray(expected));
  EXPECT_THAT(fault(init + write + "if (threadIdx.x < 31) barrier.arrive();" + read), HasSubstr("deadlock"));
  EXPECT_THAT(fault(init + "if (threadIdx.x < 32) barrier.arrive();" + write + read), HasSubstr("race"));
}

TEST_F(Copies, AVectorArrivesWhenItsThreadHasWaited) {
  const std::string copy = "if (threadIdx.x < 16) copy_vector(words + threadIdx.x, x + 4 * threadIdx.x);";
  const std::string rest = "__syncthreads(); y[threadIdx.x] = *own;";
  EXPECT_THAT(run(copy + "wait_for_copies();" + rest), ElementsAreArray(counting()));
  EXPECT_THAT(run(copy + rest), ::testing::Each(0xffffffffu)) << "nothing of what was there, nothing of what comes";
}

TEST_F(Copies, WhoHasNotWaitedRaces) {
  const std::string copy = "if (threadIdx.x == 32) { barrier.arm(256); bulk_copy(words, x, 256, &barrier); }";
  EXPECT_THAT(fault(kInit + copy + "if (threadIdx.x < 32) barrier.wait(0); y[threadIdx.x] = *own;"), HasSubstr("race"));
  EXPECT_THAT(fault("reinterpret_cast<unsigned*>(words)[threadIdx.x] = 1;" + (kInit + copy) +
                    "reinterpret_cast<unsigned*>(words)[threadIdx.x] = 2;"),
              HasSubstr("race"));
  EXPECT_THAT(
      fault(kInit + std::string("y[threadIdx.x] = reinterpret_cast<unsigned*>(words)[threadIdx.x] = 1;") + copy),
      HasSubstr("race"))
      << "written by others with no barrier before the copy";
  EXPECT_THAT(fault("if (threadIdx.x == 0) barrier.init(1); if (threadIdx.x == 32) barrier.arm(0);"),
              HasSubstr("race"));
}

TEST_F(Copies, WhatNoCopyEndsIsADeadlock) {
  EXPECT_THAT(fault(std::string(kInit) + "barrier.wait(0);"), HasSubstr("deadlock"));
  EXPECT_THAT(fault(std::string(kInit) + "if (threadIdx.x == 0) barrier.arm(16); barrier.wait(0);"),
              HasSubstr("deadlock"));
}

TEST_F(Copies, FaultsAreNamed) {
  const auto by_one = [&](const std::string& body) {
    return fault(kInit + ("if (threadIdx.x == 0) { " + body + " }"));
  };
  EXPECT_THAT(fault("barrier.arm(0);"), HasSubstr("is not initialised"));
  EXPECT_THAT(by_one("barrier.arm(16); barrier.arm(16);"), HasSubstr("more threads arrive than it is for"));
  EXPECT_THAT(by_one("bulk_copy(words, x, 16, &barrier); barrier.wait(0);"), HasSubstr("does not wait for"));
  EXPECT_THAT(by_one("bulk_copy(words, x, 24, &barrier);"), HasSubstr("copy of 24 bytes"));
  EXPECT_THAT(by_one("bulk_copy(words, x + 1, 16, &barrier);"), HasSubstr("misaligned copy from global memory of 16"));
  EXPECT_THAT(by_one("bulk_copy(words + 1, x, 256, &barrier);"), HasSubstr("out of bounds"));
  EXPECT_THAT(by_one("bulk_copy(words, x + 4, 256, &barrier);"), HasSubstr("global load of 256 bytes out of bounds"));
}

}  // namespace
}  // namespace softmax_dispatch::sim
