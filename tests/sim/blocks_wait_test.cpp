// Blocks that wait for each other: they get on while all of them are on the device, and a wait that nobody ends is
// found.
#include <fmt/core.h>
#include <gmock/gmock.h>

#include "sim/ptx_runner.hpp"
#include "sim/sim_fixture.hpp"
#include "support/expect_error.hpp"

namespace softmax_dispatch::sim {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Every block adds 1 to a counter, waits until all have, and then reads what the next block wrote before.
const char* const kGridBarrier = R"(
extern "C" __global__ void k(unsigned* out) {
  unsigned* const counter = out;
  if (threadIdx.x == 0) {
    out[1 + blockIdx.x] = 10 * blockIdx.x;
    __threadfence();
    atomicAdd(counter, 1);
    while (*reinterpret_cast<volatile unsigned*>(counter) < gridDim.x) {  // HERE
    }
    __threadfence();
    out[1 + gridDim.x + blockIdx.x] = *reinterpret_cast<volatile unsigned*>(out + 1 + (blockIdx.x + 1) % gridDim.x);
  }
}
)";

class GridBarrier : public ::testing::TestWithParam<unsigned> {
 protected:
  /// What each block read.
  std::vector<std::uint32_t> run(std::uint32_t blocks, std::uint64_t resident) {
    PtxRunner runner;
    runner.options.host_threads = GetParam();
    runner.options.resident_blocks = resident;
    const DevicePtr out = runner.upload(std::vector<std::uint32_t>(1 + 2 * blocks));
    runner.run(line_info_ptx(kGridBarrier), blocks, 64, {out});
    const auto words = runner.download<std::uint32_t>(out, 1 + 2 * blocks);
    return {words.begin() + 1 + blocks, words.end()};
  }
};

TEST_P(GridBarrier, OfBlocksThatAreAllOnTheDevice) {
  for (const std::uint32_t blocks : {1u, 2u, 40u, 160u}) {
    const auto seen = run(blocks, blocks);
    for (std::uint32_t i = 0; i < blocks; ++i) ASSERT_EQ(seen[i], 10 * ((i + 1) % blocks)) << i << " of " << blocks;
  }
}

TEST_P(GridBarrier, OfMoreBlocksThanTheDeviceHoldsIsADeadlock) {
  const std::string message = testing::error_of(StatusCode::device, [&] { run(41, 40); });
  EXPECT_THAT(message, AllOf(HasSubstr("kernel k, test.cu:8: deadlock"), HasSubstr("of the grid's 41 blocks"),
                             HasSubstr("block "), HasSubstr("thread 0")));
}

INSTANTIATE_TEST_SUITE_P(HostThreads, GridBarrier, ::testing::Values(1u, 3u));

std::string error_of_source(const std::string& source, std::uint32_t grid, std::uint32_t block) {
  PtxRunner runner;
  runner.options.resident_blocks = 100;
  const DevicePtr out = runner.upload(std::vector<std::uint32_t>(64));
  return testing::error_of(StatusCode::device, [&] { runner.run(line_info_ptx(source), grid, block, {out}); });
}

TEST(BlocksWait, ForAFlagThatNobodySets) {
  EXPECT_THAT(error_of_source(R"(
extern "C" __global__ void k(unsigned* out) {
  if (blockIdx.x == 2) {
    while (atomicCAS(out + 5, 1, 0) != 1) {  // never
    }
  }
  out[8 + blockIdx.x] = 1;
}
)",
                              4, 32),
              AllOf(HasSubstr("kernel k, test.cu:4: deadlock"), HasSubstr("block 2")));
}

TEST(BlocksWait, ForEver) {
  EXPECT_THAT(error_of_source(R"(
extern "C" __global__ void k(unsigned* out) {
  volatile unsigned* flag = out;
  unsigned n = 0;
  while (flag[0] == 0) ++n;  // the count comes round after 2^32 steps, but nobody reads it
  out[1] = 2;
}
)",
                              1, 32),
              HasSubstr("deadlock"));
}

TEST(BlocksWait, WarpForAWarpThatHasFinished) {
  EXPECT_THAT(error_of_source(R"(
extern "C" __global__ void k(unsigned* out) {
  __shared__ unsigned flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x < 32) return;
  while (atomicAdd(&flag, 0) == 0) {
  }
  out[0] = 1;
}
)",
                              1, 64),
              AllOf(HasSubstr("kernel k, test.cu:7: deadlock"), HasSubstr("block 0, thread 32")));
}

// Blocks that only take long are not taken for a deadlock.
TEST(BlocksWait, LongLoopsAreNone) {
  PtxRunner runner;
  const DevicePtr out = runner.upload(std::vector<std::uint32_t>(32));
  runner.run(line_info_ptx(R"(
extern "C" __global__ void k(unsigned* out) {
  unsigned x = threadIdx.x + 1;
  for (int i = 0; i < 3000000; ++i) x = x * 1664525u + 1013904223u;
  out[threadIdx.x] = x;
}
)"),
             1, 32, {out});
  std::uint32_t x = 1;
  for (int i = 0; i < 3000000; ++i) x = x * 1664525u + 1013904223u;
  EXPECT_EQ(runner.download<std::uint32_t>(out, 1).at(0), x);
}

TEST(BlocksWait, ProducersAndConsumersThroughAcquireAndRelease) {
  // Block b waits for block b - 1, and the order of starting is the seed's.
  PtxRunner runner;
  runner.options.resident_blocks = 64;
  runner.options.host_threads = 2;
  const DevicePtr out = runner.upload(std::vector<std::uint32_t>(65, 0));
  const std::uint32_t one = 1;
  runner.memory.upload(out, &one, 4);
  runner.run(ptx_kernel(R"(
  mad.wide.u32 %rd1, %ctaid, 4, %out;
WAIT:
  ld.acquire.gpu.global.u32 %r1, [%rd1];
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra WAIT;
  mul.lo.u32 %r1, %r1, 3;
  st.release.gpu.global.u32 [%rd1+4], %r1;)"),
             64, 1, {out});
  std::uint32_t expected = 1;
  for (const std::uint32_t word : runner.download<std::uint32_t>(out, 65)) {
    EXPECT_EQ(word, expected);
    expected *= 3;
  }
}

}  // namespace
}  // namespace softmax_dispatch::sim
