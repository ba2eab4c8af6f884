// The CUDA device on a real GPU: what a fake driver cannot show.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "device/cuda/cuda.hpp"
#include "device/cuda/handles.hpp"
#include "jit/compiler.hpp"
#include "support/expect_error.hpp"

namespace softmax_dispatch::cuda {
namespace {

using softmax_dispatch::testing::error_of;
using ::testing::Each;
using ::testing::HasSubstr;

// y = 2 x, WORK times over: a kernel of as much work as a test wants.
constexpr const char* kTwice = R"(extern "C" __global__ void twice(const float* x, float* y, long long M, long long N) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= M * N) return;
  float value = x[i];
  for (int step = 1; step < WORK; ++step) value = sinf(value) + x[i] - sinf(value);
  y[i] = value + x[i];
})";
constexpr const char* kWide = R"(extern "C" __global__ void wide(const float*, float* y, long long, long long) {
  extern __shared__ float row[];
  row[WORDS - 1 - threadIdx.x] = threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) y[blockIdx.x] = row[WORDS - 2];
})";
constexpr const char* kWild = R"(extern "C" __global__ void wild(const float*, float* y, long long, long long) {
  *(volatile float*)((unsigned long long)y + (1ull << 45)) = 1.0f;
})";

class GpuDevice : public ::testing::Test {
 protected:
  std::shared_ptr<const LoadedKernel> compile(Device& device, const char* id, const char* text,
                                              const Constants& constants = {}) {
    jit::Sources sources;
    sources.add(id, text);
    const jit::Compiler compiler(jit::Nvrtc::open({}, driver_version() / 1000), sources, nullptr);
    return device.load(compiler.compile(id, constants, device.info().arch).image, id, {});
  }
  std::shared_ptr<const LoadedKernel> twice(Device& device, int work = 1) {
    return compile(device, "twice", kTwice, {{"WORK", work}});
  }
  static Launch launch_of(const LoadedKernel& kernel, const Buffer& x, const Buffer& y) {
    constexpr int kBlock = 256;
    const auto count = static_cast<std::int64_t>(x.bytes() / sizeof(float));
    return {&kernel, {(count + kBlock - 1) / kBlock, kBlock, 0}, x.get(), y.get(), 1, count};
  }
  static std::vector<float> read(Device& device, const Buffer& buffer) {
    std::vector<float> values(buffer.bytes() / sizeof(float));
    device.download(values.data(), buffer.get(), buffer.bytes());
    return values;
  }
  static Buffer filled(Device& device, std::size_t count, float value) {
    Buffer buffer(device, count * sizeof(float));
    device.upload(buffer.get(), std::vector<float>(count, value).data(), buffer.bytes());
    return buffer;
  }

  std::unique_ptr<Device> device_ = open(0);
};

TEST_F(GpuDevice, ReportsTheLimitsOfItsArchitecture) {
  const DeviceInfo& info = device_->info();
  const ArchLimits& table = arch_limits(info.arch);
  EXPECT_FALSE(info.name.empty());
  EXPECT_GT(info.sm_count, 0);
  EXPECT_GT(info.l2_bytes, 0);
  EXPECT_GT(info.memory_bytes, std::int64_t{1} << 30);
  EXPECT_GE(info.driver_version, 12000);
  EXPECT_EQ(info.limits.major, table.major);
  EXPECT_EQ(info.limits.minor, table.minor);
  EXPECT_EQ(info.limits.max_threads_per_block, table.max_threads_per_block);
  EXPECT_EQ(info.limits.max_threads_per_sm, table.max_threads_per_sm);
  EXPECT_EQ(info.limits.max_blocks_per_sm, table.max_blocks_per_sm);
  EXPECT_EQ(info.limits.registers_per_sm, table.registers_per_sm);
  EXPECT_EQ(info.limits.shared_bytes_per_sm, table.shared_bytes_per_sm);
  EXPECT_EQ(info.limits.shared_bytes_per_block, table.shared_bytes_per_block);
  EXPECT_EQ(info.limits.shared_bytes_per_block_optin, table.shared_bytes_per_block_optin);
}

TEST_F(GpuDevice, MovesMemoryAndLaunches) {
  const Buffer x = filled(*device_, 100001, 1.5f);
  const Buffer y(*device_, x.bytes());
  EXPECT_EQ(y.get() % 256, 0U);
  device_->fill(y.get(), 0xff, y.bytes());
  for (const float value : read(*device_, y)) ASSERT_NE(value, value) << "0xff bytes are NaN";
  const auto kernel = twice(*device_);
  device_->launch(launch_of(*kernel, x, y), {});
  EXPECT_THAT(read(*device_, y), Each(3.0f)) << "a transfer waits for the legacy default stream";
  device_->fill(y.get(), 0, y.bytes());
  device_->launch(launch_of(*kernel, x, y), device_->stream());
  device_->synchronize();
  EXPECT_THAT(read(*device_, y), Each(3.0f));
}

TEST_F(GpuDevice, TakesLargeGridsAndRefusesLargerOnes) {
  const Buffer x = filled(*device_, 1, 2.0f), y(*device_, sizeof(float));
  const auto kernel = twice(*device_);
  Launch launch = launch_of(*kernel, x, y);
  launch.geometry = {2147483647, 32, 0};
  device_->launch(launch, {});
  EXPECT_THAT(read(*device_, y), Each(4.0f));
  launch.geometry.grid = std::int64_t{1} << 31;
  EXPECT_THAT(error_of(StatusCode::unsupported, [&] { device_->launch(launch, {}); }), HasSubstr("2147483648 blocks"));
}

TEST_F(GpuDevice, GivesABlockAllTheSharedMemoryThereIs) {
  const int bytes = device_->info().limits.shared_bytes_per_block_optin;
  ASSERT_GT(bytes, 49152);
  const auto kernel = compile(*device_, "wide", kWide, {{"WORDS", bytes / 4}});
  const Buffer y(*device_, 4 * sizeof(float));
  device_->launch({kernel.get(), {4, 64, bytes}, y.get(), y.get(), 1, 4}, {});
  EXPECT_THAT(read(*device_, y), Each(1.0f));
  EXPECT_THROW(device_->launch({kernel.get(), {4, 64, bytes + 4}, y.get(), y.get(), 1, 4}, {}), Error);
}

TEST_F(GpuDevice, TimesBatchesPlausibly) {
  const Buffer x = filled(*device_, 1 << 20, 0.5f), y(*device_, x.bytes());
  const auto small = twice(*device_, 1), large = twice(*device_, 2000);
  const auto time = [&](const LoadedKernel& kernel, std::size_t count) {
    const auto batch = device_->record(std::vector(count, launch_of(kernel, x, y)));
    batch->replay_us();
    return batch->replay_us();
  };
  const double short_us = time(*small, 100), long_us = time(*large, 100);
  EXPECT_GT(short_us, 0.5);
  EXPECT_LT(short_us, 200);
  EXPECT_GT(long_us, 5 * short_us);
  // A time per launch: it does not grow with the batch, nor hold the host's work, which a batch of two could not hide.
  EXPECT_NEAR(time(*large, 20) / long_us, 1, 0.25);
  EXPECT_LT(time(*small, 2), 3 * short_us + 2);
  EXPECT_NEAR(device_->time_stream_us(launch_of(*large, x, y), 10, 100) / long_us, 1, 0.25);
}

TEST_F(GpuDevice, CopiesAtTheSpeedOfItsMemory) {
  constexpr std::size_t kBytes = std::size_t{1} << 30;
  const Buffer x(*device_, kBytes), y(*device_, kBytes);
  device_->fill(x.get(), 7, kBytes);
  device_->fill(y.get(), 0, kBytes);
  const auto batch = device_->record(std::vector(4, Copy{x.get(), y.get(), kBytes}));
  batch->replay_us();
  const double gb_per_s = 2.0 * kBytes / batch->replay_us() / 1e3;
  EXPECT_GT(gb_per_s, 100);
  const double peak = device_->info().dram_peak_gb_per_s();
  if (peak > 0) {
    EXPECT_LT(gb_per_s, peak);
    EXPECT_GT(gb_per_s, peak / 2);
  }
  unsigned char last = 0;
  device_->download(&last, y.get() + kBytes - 1, 1);
  EXPECT_EQ(last, 7);
}

TEST_F(GpuDevice, TwoObjectsShareTheDevice) {
  const auto other = open(0);
  const Buffer x = filled(*other, 1000, 1.0f), y(*device_, x.bytes());
  const auto kernel = twice(*device_);
  other->launch(launch_of(*kernel, x, y), {});
  other->synchronize();
  EXPECT_THAT(read(*device_, y), Each(2.0f));
}

// The rest stands in somebody's program, which has made the primary context current as the CUDA runtime does.
class GpuGuest : public GpuDevice {
 protected:
  void SetUp() override {
    host_.make_current();
    ASSERT_EQ(current_device(), 0);
    stream_ = make_stream();
  }

  PrimaryContext host_{0};
  StreamHandle stream_;
  Device& guest_ = current_context_device(0);
};

TEST_F(GpuGuest, ActsOnTheContextOfTheHost) {
  CUcontext before = nullptr, after = nullptr;
  driver().CtxGetCurrent(&before);
  const Buffer x = filled(guest_, 1000, 2.0f), y(guest_, x.bytes());
  const auto kernel = twice(guest_);
  guest_.launch(launch_of(*kernel, x, y), stream_.get());
  driver().StreamSynchronize(stream_.get());
  EXPECT_THAT(read(guest_, y), Each(4.0f));
  driver().CtxGetCurrent(&after);
  EXPECT_EQ(before, after);
}

TEST_F(GpuGuest, ServesAThreadWithoutAContext) {
  std::thread([&] {
    EXPECT_EQ(current_device(), 0);
    const Buffer x = filled(guest_, 10, 2.0f);
    EXPECT_THAT(read(guest_, x), Each(2.0f));
  }).join();
}

TEST_F(GpuGuest, FirstLaunchMayBeCaptured) {
  const Buffer x = filled(guest_, 1000, 2.0f), y(guest_, x.bytes());
  guest_.fill(y.get(), 0, y.bytes());
  const auto kernel = twice(guest_);
  check(driver().StreamBeginCapture(stream_.get(), CU_STREAM_CAPTURE_MODE_GLOBAL), "begin");
  EXPECT_TRUE(is_capturing(stream_.get()));
  guest_.launch(launch_of(*kernel, x, y), stream_.get());
  CUgraph graph = nullptr;
  check(driver().StreamEndCapture(stream_.get(), &graph), "end");
  const GraphHandle owner(graph);
  EXPECT_FALSE(is_capturing(stream_.get()));
  EXPECT_THAT(read(guest_, y), Each(0.0f)) << "a captured launch does not run";
  CUgraphExec instance = nullptr;
  check(driver().GraphInstantiateWithFlags(&instance, graph, 0), "instantiate");
  const GraphExecHandle exec(instance);
  check(driver().GraphLaunch(instance, stream_.get()), "launch");
  check(driver().StreamSynchronize(stream_.get()), "wait");
  EXPECT_THAT(read(guest_, y), Each(4.0f));
}

/// Everything a cold dispatch does: compile, load, allocate, upload, launch, synchronise, download, free.
void cold_work(Device& device, const std::shared_ptr<const LoadedKernel>& kernel, const Launch& launch,
               const std::function<std::shared_ptr<const LoadedKernel>()>& load) {
  const auto fresh = load();
  Launch own = launch;
  own.kernel = fresh.get();
  const Buffer y(device, static_cast<std::size_t>(launch.N) * sizeof(float));
  own.y = y.get();
  device.fill(y.get(), 0xff, y.bytes());
  device.launch(own, device.stream());
  device.synchronize();
  own.kernel = kernel.get();
  device.launch(own, device.stream());
  float last = 0;
  device.download(&last, y.get() + y.bytes() - sizeof(float), sizeof(float));
  EXPECT_EQ(last, 4.0f);
}

TEST_F(GpuGuest, ColdWorkLeavesACaptureOfAnotherThreadWhole) {
  const Buffer x = filled(guest_, 1000, 2.0f), y(guest_, x.bytes());
  const auto kernel = twice(guest_);
  const Launch launch = launch_of(*kernel, x, y);
  check(driver().StreamBeginCapture(stream_.get(), CU_STREAM_CAPTURE_MODE_GLOBAL), "begin");
  guest_.launch(launch, stream_.get());
  std::thread([&] {
    EXPECT_EQ(current_device(), 0);
    const RelaxedCapture relaxed;
    EXPECT_FALSE(is_capturing({})) << "the legacy default stream, while a stream ordered with it is captured";
    cold_work(guest_, kernel, launch, [&] { return twice(guest_, 3); });
  }).join();
  EXPECT_TRUE(is_capturing(stream_.get()));
  guest_.launch(launch, stream_.get());
  CUgraph graph = nullptr;
  EXPECT_EQ(driver().StreamEndCapture(stream_.get(), &graph), CUDA_SUCCESS) << "the capture was broken";
  const GraphHandle owner(graph);
}

TEST_F(GpuGuest, LaunchesFromSeveralThreads) {
  const Buffer x = filled(guest_, 1000, 2.0f);
  const auto kernel = twice(guest_);
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      host_.make_current();
      const StreamHandle own = make_stream();
      const Buffer y(guest_, x.bytes());
      for (int round = 0; round < 200; ++round) guest_.launch(launch_of(*kernel, x, y), own.get());
      check(driver().StreamSynchronize(own.get()), "wait");
      right += read(guest_, y) == std::vector<float>(1000, 4.0f) ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 4);
}

// In a process of its own, whose context it ends. "threadsafe" starts the test program anew: a forked child of a
// process that has used CUDA cannot use it.
TEST(GpuDeviceDeathTest, AnIllegalAccessIsStickyAndSaysSo) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = [] {
    const auto device = open(0);
    jit::Sources sources;
    sources.add("wild", kWild);
    const jit::Compiler compiler(jit::Nvrtc::open({}, driver_version() / 1000), sources, nullptr);
    const auto kernel = device->load(compiler.compile("wild", {}, device->info().arch).image, "wild", {});
    const Buffer y(*device, 4);
    device->launch({kernel.get(), {1, 32, 0}, y.get(), y.get(), 1, 1}, {});
    int failures = 0;
    std::string first;
    for (const std::function<void()>& call : std::vector<std::function<void()>>{
             [&] { device->synchronize(); }, [&] { device->allocate(4); }, [&] { device->fill(y.get(), 0, 4); }}) {
      try {
        call();
      } catch (const Error& error) {
        if (failures++ == 0) first = error.what();
      }
    }
    std::fprintf(stderr, "%d failures: %s\n", failures, first.c_str());
    std::exit(0);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0),
              "3 failures: .*CUDA_ERROR_ILLEGAL_ADDRESS \\(700\\).*every later call in this process fails too");
}

}  // namespace
}  // namespace softmax_dispatch::cuda
