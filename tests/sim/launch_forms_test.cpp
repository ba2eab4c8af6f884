// Launches that are more than a grid of blocks: cooperative ones, phases, a workspace, an early start.
#include <gmock/gmock.h>

#include <vector>

#include "sim/sim_fixture.hpp"
#include "support/expect_error.hpp"

namespace softmax_dispatch::sim {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using testing::error_of;
using ::testing::HasSubstr;

/// A device, and a kernel `k` on it with the project's parameters.
class LaunchForms : public ::testing::Test {
 protected:
  void make(const std::string& source, const std::string& arch = "sm_75") {
    DeviceInfo info = t4();
    info.arch = arch;
    info.limits = arch_limits(arch);
    device_ = std::make_unique<SimDevice>(info, std::make_shared<OneMicrosecond>(), SimOptions{.host_threads = 2});
    const std::vector<std::string> options{"-std=c++17", "-lineinfo", "--no-source-include"};
    const std::string ptx =
        jit::Nvrtc::open()
            ->compile("test", source, jit::Sources::product().headers(), "compute_" + arch.substr(3), options)
            .image;
    kernel_ = device_->load(ptx, "k");
    x_ = zeroed(kFloats * sizeof(float));
    y_ = zeroed(kFloats * sizeof(float));
    workspace_ = zeroed(kWorkspaceBytes);
  }
  DevicePtr zeroed(std::size_t bytes) {
    const DevicePtr made = device_->allocate(bytes);
    device_->fill(made, 0, bytes);
    return made;
  }
  void launch(const Geometry& geometry) {
    device_->launch({kernel_.get(), geometry, x_, y_, 1, kFloats, workspace_}, {});
  }
  std::string fault(const Geometry& geometry, StatusCode code = StatusCode::device) {
    return error_of(code, [&] { launch(geometry); });
  }
  std::vector<float> y(std::size_t count) {
    std::vector<float> values(count);
    device_->download(values.data(), y_, count * sizeof(float));
    return values;
  }

  static constexpr std::int64_t kFloats = 4096;
  static constexpr std::size_t kWorkspaceBytes = 4096;
  std::unique_ptr<SimDevice> device_;
  std::shared_ptr<const LoadedKernel> kernel_;
  DevicePtr x_ = 0, y_ = 0, workspace_ = 0;
};

/// A cooperative kernel: every block publishes a value, waits until all have, and adds them up. BLOCKS is for whom it
/// waits; the counter comes back to zero, and the epoch in the first word moves on.
std::string sum_over_blocks(const std::string& wait_for = "gridDim.x", const std::string& publish_first = "1") {
  return R"(
__device__ unsigned load_acquire(unsigned* p) {
  unsigned v;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}
__device__ void arrive(unsigned* counter, unsigned* epoch, unsigned blocks) {
  unsigned before;
  asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;" : "=r"(before) : "l"(counter), "r"(blocks - 1) : "memory");
  if (before == blocks - 1) asm volatile("red.release.gpu.global.add.u32 [%0], 1;" : : "l"(epoch) : "memory");
}
extern "C" __global__ void k(const float* x, float* y, long long M, long long N, void* workspace, int phase) {
  unsigned* const epoch = static_cast<unsigned*>(workspace);
  float* const partial = static_cast<float*>(workspace) + 32;
  if (threadIdx.x != 0) return;
  const unsigned mine = load_acquire(epoch);
  if ()" +
         publish_first + R"() partial[blockIdx.x] = blockIdx.x + 1;
  arrive(epoch + 1, epoch, )" +
         wait_for + R"();
  if (!()" +
         publish_first + R"()) partial[blockIdx.x] = blockIdx.x + 1;
  while (load_acquire(epoch) == mine) {  // WAIT
  }
  float sum = 0;
  for (unsigned i = 0; i < gridDim.x; ++i) sum += partial[i];
  y[blockIdx.x] = sum;
}
)";
}

TEST_F(LaunchForms, PartsOfARowAreAParameter) {
  make(R"(
extern "C" __global__ void k(const float* x, float* y, long long M, long long N, void* workspace, int phase, int parts) {
  if (threadIdx.x == 0) y[blockIdx.x] = 10 * phase + parts;
}
)");
  launch({.grid = 6, .block = 32, .parts = 3});
  EXPECT_THAT(y(6), Each(3.0f));
}

TEST_F(LaunchForms, CooperativeBlocksMeetLaunchAfterLaunch) {
  make(sum_over_blocks());
  const Geometry geometry{.grid = 40, .block = 32, .cooperative = true, .workspace_bytes = kWorkspaceBytes};
  for (int i = 0; i < 3; ++i) {
    launch(geometry);
    EXPECT_THAT(y(40), Each(820.0f));
  }
  launch({.grid = 7, .block = 32, .cooperative = true, .workspace_bytes = kWorkspaceBytes});
  EXPECT_THAT(y(7), Each(28.0f)) << "another grid, on what the launches before left";
}

TEST_F(LaunchForms, CooperativeGridThatDoesNotFitIsRefused) {
  make(sum_over_blocks());
  Geometry geometry{.grid = 641, .block = 32, .cooperative = true, .workspace_bytes = kWorkspaceBytes};
  EXPECT_EQ(device_->resident_blocks(*kernel_, geometry), 640) << "16 on each of 40 SMs";
  EXPECT_THAT(device_->co_resident(*kernel_, geometry).reason, HasSubstr("holds 640 blocks"));
  EXPECT_THAT(fault(geometry), AllOf(HasSubstr("a cooperative grid of 641 blocks"), HasSubstr("which holds 640")));
  geometry.cooperative = false;
  EXPECT_TRUE(device_->co_resident(*kernel_, geometry));
}

TEST_F(LaunchForms, SharedMemoryThatIsOptedInLimitsWhatIsResident) {
  make(
      "extern \"C\" __global__ void k(const float* x, float* y) { extern __shared__ float s[]; s[threadIdx.x] = 1;"
      " y[blockIdx.x] = s[threadIdx.x]; }");
  Geometry geometry{.grid = 40, .block = 32, .shared_bytes = 65536, .cooperative = true};
  launch(geometry);
  EXPECT_THAT(y(40), Each(1.0f));
  geometry.grid = 41;
  EXPECT_THAT(fault(geometry), HasSubstr("which holds 40"));
}

TEST_F(LaunchForms, MissingBlockIsADeadlock) {
  make(sum_over_blocks("gridDim.x + 1"));
  EXPECT_THAT(fault({.grid = 8, .block = 32, .cooperative = true, .workspace_bytes = kWorkspaceBytes}),
              AllOf(HasSubstr("kernel k, test.cu:"), HasSubstr("deadlock: 8 of the grid's 8 blocks"),
                    HasSubstr("no block will ever write")));
}

TEST_F(LaunchForms, PartialThatIsPublishedTooEarlyIsARace) {
  make(sum_over_blocks("gridDim.x", "0"));
  EXPECT_THAT(fault({.grid = 8, .block = 32, .cooperative = true, .workspace_bytes = kWorkspaceBytes}),
              AllOf(HasSubstr("kernel k, test.cu:"), HasSubstr("workspace race"), HasSubstr("nothing that orders it")));
}

TEST_F(LaunchForms, PartialThatIsReadWithoutAWaitIsARace) {
  make(R"(
extern "C" __global__ void k(const float* x, float* y, long long M, long long N, float* workspace) {
  if (threadIdx.x != 0) return;
  workspace[blockIdx.x] = 1;
  y[blockIdx.x] = workspace[blockIdx.x == 0 ? 1 : 0];
}
)");
  EXPECT_THAT(fault({.grid = 2, .block = 32, .workspace_bytes = kWorkspaceBytes}), HasSubstr("workspace race"));
}

/// Block 0 looks at a word of the workspace by copies until it is what block 1 writes there.
std::string looks_by_copies(const std::string& store) {
  return R"(
#define STREAM 0
#define TYPE f32
#define THREADS 32
#include "common/bulk.cuh"
extern "C" __global__ void k(const float* x, float* y, long long M, long long N, unsigned* workspace) {
  __shared__ uint4 seen;
  __shared__ CopyBarrier barrier;
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 1) {)" +
         store + R"(
    return;
  }
  barrier.init(1);
  publish_barriers();
  for (unsigned parity = 0;; parity ^= 1) {
    barrier.arm(16);
    bulk_copy(&seen, workspace, 16, &barrier);
    barrier.wait(parity);
    if (seen.y == 7) break;
  }
  y[0] = 1;
}
)";
}

TEST_F(LaunchForms, CopyOfTheWorkspaceReadsWhatAnotherBlockHasStored) {
  const Geometry geometry{.grid = 2, .block = 32, .cooperative = true, .workspace_bytes = kWorkspaceBytes};
  make(looks_by_copies("*reinterpret_cast<volatile unsigned*>(workspace + 1) = 7;"), "sm_90");
  launch(geometry);
  EXPECT_THAT(y(1), Each(1.0f));
  make(looks_by_copies("workspace[1] = 7;"), "sm_90");
  EXPECT_THAT(fault(geometry), AllOf(HasSubstr("workspace race"), HasSubstr("a copy")));
  make(looks_by_copies(""), "sm_90");
  EXPECT_THAT(fault(geometry), HasSubstr("deadlock"));
}

TEST_F(LaunchForms, FlagThatIsSetAfterThePartialIsNone) {
  make(R"(
extern "C" __global__ void k(const float* x, float* y, long long M, long long N, volatile unsigned* workspace) {
  if (threadIdx.x != 0) return;
  float* const partial = (float*)workspace + 1;
  if (blockIdx.x > 0) {
    partial[blockIdx.x] = blockIdx.x;
    __threadfence();
    atomicAdd((unsigned*)workspace, 1);
    return;
  }
  while (*workspace < gridDim.x - 1) {
  }
  __threadfence();
  float sum = 0;
  for (unsigned i = 1; i < gridDim.x; ++i) sum += partial[i];
  y[0] = sum;
}
)");
  launch({.grid = 20, .block = 32, .cooperative = true, .workspace_bytes = kWorkspaceBytes});
  EXPECT_THAT(y(1), Each(190.0f));
}

TEST_F(LaunchForms, ClustersAreNotSimulated) {
  make(sum_over_blocks(), "sm_90");
  const Geometry geometry{.grid = 8, .block = 32, .cluster = 4};
  EXPECT_THAT(fault(geometry, StatusCode::unsupported), HasSubstr("clusters of 4 blocks are not simulated"));
  EXPECT_FALSE(device_->co_resident(*kernel_, geometry));
}

// The first phase writes partial sums of x, the second adds them up.
TEST_F(LaunchForms, PhasesSeeWhatTheOnesBeforeWrote) {
  make(R"(
extern "C" __global__ void k(const float* x, float* y, long long M, long long N, float* workspace, int phase) {
  if (threadIdx.x != 0) return;
  if (phase == 0) workspace[blockIdx.x] = x[blockIdx.x] + blockIdx.x;
  if (phase == 1) {
    float sum = 0;
    for (unsigned i = 0; i < gridDim.x; ++i) sum += workspace[i];
    y[blockIdx.x] = sum;
  }
  if (phase == 2) y[blockIdx.x] += 1000;
}
)");
  const Geometry geometry{.grid = 9, .block = 32, .phases = 3, .workspace_bytes = kWorkspaceBytes};
  launch(geometry);
  EXPECT_THAT(y(9), Each(1036.0f));
  device_->fill(workspace_, 0, kWorkspaceBytes);
  const std::vector<float> before = y(9);
  const Launch one{kernel_.get(), geometry, x_, y_, 1, kFloats, workspace_};
  EXPECT_EQ(device_->model(one).time_us, 3) << "a microsecond for each";
  std::vector<float> word(1);
  device_->download(word.data(), workspace_ + 4, 4);
  EXPECT_EQ(word[0], 0) << "what is only timed leaves the workspace alone";
}

// Block i of a row's 4 stores i + 1 values; only blocks of a cooperative launch may wait for each other.
TEST_F(LaunchForms, BlocksThatMustNotWaitAreSampledByWholeRows) {
  make(R"(
extern "C" __global__ void k(const float* x, float* y, long long M, long long N, volatile float* workspace) {
  if (threadIdx.x <= blockIdx.x % 4) workspace[threadIdx.x] = 1;
}
)");
  constexpr std::int64_t kRows = 1000;
  Launch one{kernel_.get(), {.grid = 4 * kRows, .block = 32}, x_, y_, kRows, 1, workspace_};
  const LaunchCounts sampled = device_->count(one);
  EXPECT_EQ(sampled.blocks, 4000u);
  EXPECT_LT(sampled.sampled_blocks, 200u);
  EXPECT_EQ(sampled.sampled_blocks % 4, 0u);
  EXPECT_EQ(sampled.bytes_store, (1u + 2 + 3 + 4) * 4 * kRows);
  one.geometry.grid = 600;
  one.geometry.cooperative = true;
  EXPECT_EQ(device_->count(one).sampled_blocks, 600u);
}

std::string early_start(const std::string& before, const std::string& after) {
  return "extern \"C\" __global__ void k(const float* x, float* y) {\n" + before +
         "\nasm volatile(\"griddepcontrol.wait;\" ::: \"memory\");\n" + after +
         "\nasm volatile(\"griddepcontrol.launch_dependents;\");\n}\n";
}

TEST_F(LaunchForms, EarlyStartWaitsBeforeItTouchesMemory) {
  const Geometry geometry{.grid = 4, .block = 64, .overlaps = true};
  make(early_start("const int i = threadIdx.x + 64 * blockIdx.x;", "y[i] = x[i] + 1;"), "sm_90");
  launch(geometry);
  EXPECT_THAT(y(256), Each(1.0f));
  make(early_start("const float v = x[threadIdx.x];", "y[threadIdx.x] = v;"), "sm_90");
  EXPECT_THAT(fault(geometry), AllOf(HasSubstr("test.cu:2"), HasSubstr("accessed before griddepcontrol.wait")));
  make(early_start("const float v = x[threadIdx.x];", "y[threadIdx.x] = v;"), "sm_90");
  EXPECT_NO_THROW(launch({.grid = 1, .block = 64})) << "nothing starts early";
}

TEST_F(LaunchForms, OneThreadMayWaitForItsBlock) {
  const std::string body = R"(
extern "C" __global__ void k(const float* x, float* y) {
  if (threadIdx.x == 40) asm volatile("griddepcontrol.wait;" ::: "memory");
  BARRIER
  y[threadIdx.x] = x[threadIdx.x];
}
)";
  const Geometry geometry{.grid = 1, .block = 64, .overlaps = true};
  make("#define BARRIER __syncthreads();\n" + body, "sm_90");
  EXPECT_NO_THROW(launch(geometry));
  make("#define BARRIER\n" + body, "sm_90");
  EXPECT_THAT(fault(geometry), HasSubstr("before griddepcontrol.wait"));
}

TEST_F(LaunchForms, ThereIsNoEarlyStartBeforeSm90) {
  make("extern \"C\" __global__ void k(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x] + 2; }");
  launch({.grid = 1, .block = 64, .overlaps = true});
  EXPECT_THAT(y(64), Each(2.0f));
}

}  // namespace
}  // namespace softmax_dispatch::sim
