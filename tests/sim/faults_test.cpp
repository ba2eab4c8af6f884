// Planted faults: each is found, and named with kernel, line, block, thread and address. Line numbers are those of the
// lines marked HERE.
#include <fmt/core.h>
#include <gmock/gmock.h>

#include <algorithm>

#include "sim/sim_fixture.hpp"
#include "support/expect_error.hpp"

namespace softmax_dispatch::sim {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

/// The number of the line with the mark.
long line_of(const std::string& source, const std::string& mark) {
  const auto at = source.find(mark);
  EXPECT_NE(at, std::string::npos) << mark;
  return 1 + std::count(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(at), '\n');
}

struct Planted {
  std::string body;  ///< Of kernel k(const float* x, float* y, long long M, long long N).
  std::string before = {};
  int grid = 1, block = 64;
  std::int64_t shared_bytes = 0;
  std::size_t y_elements = 64;

  std::string source() const {
    return before + "\nextern \"C\" __global__ void k(const float* x, float* y, long long M, long long N) {\n" + body +
           "\n}\n";
  }

  /// Runs it on 64 inputs, and gives the error of the launch.
  std::string error() const {
    SimOptions options;
    options.host_threads = 1;
    const auto device = simulated_t4(options);
    const auto kernel = device->load(line_info_ptx(source()), "k");
    const std::vector<float> input(64, 1.0f);
    Buffer x(*device, 256), y(*device, y_elements * 4);
    device->upload(x.get(), input.data(), 256);
    const std::string message = testing::error_of(StatusCode::device, [&] {
      device->launch({kernel.get(), {grid, block, shared_bytes}, x.get(), y.get(), 1, 64}, {});
    });
    // Like a GPU after a fault, the device refuses everything from then on.
    EXPECT_THROW(device->synchronize(), Error);
    EXPECT_THROW(device->allocate(4), Error);
    return message;
  }

  void expect(const ::testing::Matcher<std::string>& what) const {
    const std::string message = error();
    EXPECT_THAT(message, HasSubstr(fmt::format("kernel k, test.cu:{}", line_of(source(), "HERE"))));
    EXPECT_THAT(message, what);
  }

  /// Of two accesses that race either may come first; both are named.
  void expect_race() const {
    const std::string message = error();
    const std::string one = fmt::format("test.cu:{}", line_of(source(), "HERE"));
    const std::string other = fmt::format("test.cu:{}", line_of(source(), "AND THERE"));
    EXPECT_THAT(message, AnyOf(AllOf(HasSubstr("kernel k, " + one), HasSubstr(" at " + other)),
                               AllOf(HasSubstr("kernel k, " + other), HasSubstr(" at " + one))));
    EXPECT_THAT(message,
                ContainsRegex("shared memory race at address 0x[0-9a-f]+: a (read|write) with no barrier after a "
                              "(read|write) by (thread|warp) [0-9]+"));
  }
};

TEST(Faults, GlobalLoadPastTheEnd) {
  Planted{.body = "y[threadIdx.x] = x[threadIdx.x + 1];  // HERE"}.expect(
      AllOf(HasSubstr("global load of 4 bytes out of bounds at address 0x"),
            HasSubstr("0 bytes past the end of the allocation of 256 bytes"), HasSubstr("block 0, thread 63")));
}

TEST(Faults, GlobalStoreBeforeTheStart) {
  Planted{.body = "y[static_cast<int>(threadIdx.x) - 3] = 1;  // HERE"}.expect(
      AllOf(HasSubstr("global store of 4 bytes out of bounds"),
            HasSubstr("12 bytes before the start of the allocation of 256 bytes"), HasSubstr("thread 0")));
}

TEST(Faults, VectorAccessThatReachesPastTheEnd) {
  Planted{.body = R"(
  if (threadIdx.x == 16)
    reinterpret_cast<float4*>(y)[threadIdx.x - 1] = make_float4(0, 0, 0, 0);  // HERE
)",
          .y_elements = 63}
      .expect(AllOf(HasSubstr("global store of 16 bytes out of bounds"), HasSubstr("thread 16")));
}

TEST(Faults, MisalignedVectorAccess) {
  Planted{.body = R"(
  const float4 v = *reinterpret_cast<const float4*>(x + 5 * threadIdx.x / 8);  // HERE
  y[threadIdx.x] = v.x + v.y + v.z + v.w;
)"}
      .expect(AllOf(HasSubstr("misaligned global load of 16 bytes at address 0x"), HasSubstr("thread 2")));
}

TEST(Faults, MemoryThatWasReleased) {
  const auto device = simulated_t4();
  const auto kernel = device->load(
      line_info_ptx("extern \"C\" __global__ void k(const float* x, float* y, long long M, long long N) {\n  y[0] = "
                    "x[0];\n}"),
      "k");
  const DevicePtr x = device->allocate(64);
  Buffer y(*device, 64);
  device->fill(x, 0, 64);
  device->launch({kernel.get(), {1, 1, 0}, x, y.get(), 1, 1}, {});
  device->release(x);
  Buffer another(*device, 64);
  EXPECT_NE(another.get(), x) << "an address is never given twice";
  const std::string message = testing::error_of(StatusCode::device, [&] {
    device->launch({kernel.get(), {1, 1, 0}, x, y.get(), 1, 1}, {});
  });
  EXPECT_THAT(message, AllOf(HasSubstr("kernel k, test.cu:2: global load of 4 bytes out of bounds"),
                             HasSubstr("not near any allocation that exists")));
}

TEST(Faults, UninitialisedGlobalMemory) {
  Planted{.body = R"(
  if (threadIdx.x != 7) y[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  const float v = y[63 - threadIdx.x] + 1;  // HERE
  __syncthreads();
  y[threadIdx.x] = v;
)"}
      .expect(AllOf(HasSubstr("global load of 4 uninitialised bytes at address 0x"), HasSubstr("thread 56")));
}

TEST(Faults, SharedIndexOutOfBounds) {
  Planted{.body = R"(
  __shared__ float a[64];
  __shared__ float b[64];
  a[threadIdx.x + N / 64] = 1;  // HERE
  b[threadIdx.x] = 2;
  __syncthreads();
  y[threadIdx.x] = a[threadIdx.x] + b[63 - threadIdx.x];
)"}
      .expect(AllOf(HasSubstr("shared store of 4 bytes out of bounds at address 0x"),
                    HasSubstr("0 bytes past the end of a shared variable"), HasSubstr("thread 63")));
}

TEST(Faults, DynamicSharedMemoryOutOfBounds) {
  Planted{.body = R"(
  extern __shared__ float a[];
  a[threadIdx.x] = 1;  // HERE
  y[threadIdx.x] = a[threadIdx.x];
)",
          .shared_bytes = 200}
      .expect(AllOf(HasSubstr("shared store of 4 bytes out of bounds"), HasSubstr("thread 50")));
}

TEST(Faults, UninitialisedSharedMemory) {
  Planted{.body = R"(
  __shared__ float a[64];
  if (threadIdx.x < 60) a[threadIdx.x] = 1;
  __syncthreads();
  y[threadIdx.x] = a[63 - threadIdx.x];  // HERE
)"}
      .expect(AllOf(HasSubstr("shared load of 4 uninitialised bytes"), HasSubstr("thread 0")));
}

TEST(Faults, ReadAndWriteOfTwoWarpsWithoutBarrier) {
  Planted{.body = R"(
  __shared__ float a[64];
  a[threadIdx.x] = 1;
  __syncthreads();
  a[threadIdx.x] = x[threadIdx.x] + 1;   // HERE
  y[threadIdx.x] = a[63 - threadIdx.x];  // AND THERE
)"}
      .expect_race();
  Planted{.body = R"(
  __shared__ float a[64];
  a[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  const float v = a[63 - threadIdx.x];  // HERE
  a[threadIdx.x] = v + 1;               // AND THERE
  __syncthreads();
  y[threadIdx.x] = a[threadIdx.x];
)"}
      .expect_race();
}

TEST(Faults, TwoWritesOfOtherValues) {
  Planted{.body = R"(
  __shared__ float a[1];
  a[0] = x[0] + threadIdx.x / 32;  // HERE
  __syncthreads();
  y[threadIdx.x] = a[0];
)"}
      .expect(AllOf(HasSubstr("shared memory race"), HasSubstr("a write with no barrier after a write by thread"),
                    HasSubstr(" at test.cu:5")));
}

TEST(Faults, LanesOfOneWarpWithoutWarpBarrier) {
  Planted{.body = R"(
  __shared__ float a[64];
  a[threadIdx.x] = x[threadIdx.x];
  y[threadIdx.x] = a[threadIdx.x ^ 1];  // HERE
)"}
      .expect(AllOf(HasSubstr("shared memory race"), HasSubstr("a read with no barrier after a write by thread")));
}

TEST(Faults, UninitialisedLocalMemory) {
  Planted{.body = R"(
  float a[16];
  for (int i = 1; i < 16; ++i) a[i] = x[i];
  y[threadIdx.x] = a[threadIdx.x % 16 * (N / 64)];  // HERE
)"}
      .expect(AllOf(HasSubstr("local load of 4 uninitialised bytes at address 0x0"), HasSubstr("thread 0")));
}

TEST(Faults, LocalIndexOutOfBounds) {
  Planted{.body = R"(
  float a[16];
  for (int i = 0; i < 16; ++i) a[i] = x[i];
  y[threadIdx.x] = a[threadIdx.x % 16 + N / 64];  // HERE
)"}
      .expect(AllOf(HasSubstr("local load of 4 bytes out of bounds at address 0x40: a thread has 64 bytes"),
                    HasSubstr("thread 15")));
}

TEST(Faults, BarrierThatSomeThreadsDoNotReach) {
  Planted{.body = R"(
  if (threadIdx.x < 32) return;
  __syncthreads();  // HERE
  y[threadIdx.x] = 1;
)"}
      .expect(
          HasSubstr("barrier not reached by all threads: 32 of the block's 64 threads wait here, 0 wait elsewhere, 32 "
                    "have finished"));
}

TEST(Faults, BarrierThatLanesOfAWarpDoNotReach) {
  Planted{.body = R"(
  if (threadIdx.x % 2 == 0) return;
  __syncthreads();  // HERE
  y[threadIdx.x] = 1;
)"}
      .expect(HasSubstr("barrier not reached by all threads: 32 of the block's 64 threads wait here"));
}

TEST(Faults, BarriersOnTwoSidesOfABranch) {
  Planted{.body = R"(
  if (x[threadIdx.x] + threadIdx.x > 17) {
    y[threadIdx.x] = 1;
    __syncthreads();
    y[threadIdx.x] += y[0];
  } else {
    y[threadIdx.x] = 2;
    __syncthreads();
    y[threadIdx.x] += y[1];
  }
)"}
      .error();
}

TEST(Faults, ShuffleFromALaneThatDoesNotTakePart) {
  Planted{.body = R"(
  float v = x[threadIdx.x];
  if (threadIdx.x < 20) v = __shfl_down_sync(0xfffff, v, 1);  // HERE
  y[threadIdx.x] = v;
)",
          .block = 32}
      .expect(AllOf(HasSubstr("shuffle reads lane 20, which does not take part"), HasSubstr("thread 19")));
}

TEST(Faults, ShuffleInAWarpThatIsNotFull) {
  Planted{.body = R"(
  y[threadIdx.x] = __shfl_down_sync(0xffffffff, x[threadIdx.x], 1);  // HERE
)",
          .block = 40}
      .expect(AllOf(HasSubstr("shuffle reads lane 8, which does not take part"), HasSubstr("thread 39")));
}

TEST(Faults, ShuffleWhoseMaskLeavesTheLaneOut) {
  Planted{.body = R"(
  y[threadIdx.x] = __shfl_xor_sync(0xffff, x[threadIdx.x], 1);  // HERE
)",
          .block = 32}
      .expect(AllOf(HasSubstr("shuffle whose mask 0x0000ffff does not name the lane that executes it, 16"),
                    HasSubstr("thread 16")));
}

TEST(Faults, WarpSynchronisationThatALaneNeverReaches) {
  Planted{.body = R"(
  if (threadIdx.x < 16) {
    y[threadIdx.x] = __ballot_sync(0xffffffff, x[threadIdx.x] > 0);  // HERE
  }
  __syncthreads();
)",
          .block = 32}
      .expect(HasSubstr("warp synchronisation not reached by all threads: 16 of the block's 32 threads wait here, 16 "
                        "wait elsewhere"));
}

TEST(Faults, Trap) {
  Planted{.body = R"(
  if (x[threadIdx.x] > 0 && threadIdx.x == 5) __trap();  // HERE
)"}
      .expect(AllOf(HasSubstr("executed trap"), HasSubstr("thread 5")));
}

TEST(Faults, InlinedCodeIsNamedWithItsCaller) {
  const Planted planted{.body = R"(
  y[threadIdx.x] = element(x, threadIdx.x + 1);  // CALLER
)",
                        .before = R"(
__device__ __forceinline__ float element(const float* p, unsigned i) {
  return p[i];  // HERE
})"};
  planted.expect(HasSubstr(fmt::format(", inlined at test.cu:{}: ", line_of(planted.source(), "CALLER"))));
}

TEST(Faults, OfSeveralTheFirstInTheOrderOfTheSeed) {
  const Planted planted{.body = "if (blockIdx.x % 3 == 1) y[100 + blockIdx.x] = 1;  // HERE", .grid = 90};
  const std::string first = planted.error();
  EXPECT_EQ(planted.error().substr(first.find("; block")), first.substr(first.find("; block")));
}

// What is right is not found.
TEST(Faults, NoneInOrderlyKernels) {
  const auto runs = [](const std::string& body) {
    const auto device = simulated_t4();
    const auto kernel = device->load(line_info_ptx(Planted{.body = body}.source()), "k");
    const std::vector<float> input(64, 1.0f);
    Buffer x(*device, 256), y(*device, 256);
    device->upload(x.get(), input.data(), 256);
    device->launch({kernel.get(), {1, 64, 0}, x.get(), y.get(), 1, 64}, {});
    std::vector<float> result(64);
    device->download(result.data(), y.get(), 256);
    return result;
  };
  EXPECT_EQ(runs(R"(
  __shared__ float a[64];
  a[threadIdx.x] = x[threadIdx.x];
  __syncwarp();
  y[threadIdx.x] = a[threadIdx.x ^ 1];
)"),
            std::vector<float>(64, 1));
  // Every thread writes the same.
  EXPECT_EQ(runs(R"(
  __shared__ float a[1];
  a[0] = 3;
  __syncthreads();
  y[threadIdx.x] = a[0];
)"),
            std::vector<float>(64, 3));
  // Neighbouring bytes of one word.
  EXPECT_EQ(runs(R"(
  __shared__ unsigned char a[64];
  a[threadIdx.x] = threadIdx.x;
  __syncthreads();
  a[threadIdx.x] += 1;
  __syncthreads();
  y[threadIdx.x] = a[63 - threadIdx.x] + threadIdx.x;
)"),
            std::vector<float>(64, 64));
}

}  // namespace
}  // namespace softmax_dispatch::sim
