#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "device/cuda/cuda.hpp"
#include "device/cuda/driver.hpp"
#include "support/expect_error.hpp"
#include "unit/device/fake_driver/fixture.hpp"

namespace softmax_dispatch::cuda {
namespace {

using softmax_dispatch::testing::error_of;
using ::testing::Each;
using ::testing::HasSubstr;

class CudaDevice : public FakeDriverTest {
 protected:
  void SetUp() override {
    FakeDriverTest::SetUp();
    driver().CtxSetCurrent(nullptr);
  }
  static std::shared_ptr<const LoadedKernel> load(Device& device) { return device.load("cubin", "entry", {}); }
  static Launch launch_of(const std::shared_ptr<const LoadedKernel>& kernel, std::int64_t grid) {
    return {kernel.get(), {grid, 128, 0}, 1, 2, 3, 4};
  }
};

TEST_F(CudaDevice, TellsIdentityAndLimits) {
  EXPECT_EQ(driver_version(), 13000);
  EXPECT_EQ(device_count(), 2);
  const DeviceInfo info = device_info(1);
  EXPECT_EQ(info.name, "Fake T4 Ti");
  EXPECT_EQ(info.arch, "sm_75");
  EXPECT_EQ(info.ordinal, 1);
  EXPECT_EQ(info.sm_count, 40);
  EXPECT_EQ(info.l2_bytes, 4 << 20);
  EXPECT_EQ(info.memory_bytes, std::int64_t{16} << 30);
  EXPECT_EQ(info.driver_version, 13000);
  EXPECT_NEAR(info.dram_peak_gb_per_s(), 320.1, 0.1);
  EXPECT_EQ(info.limits.max_threads_per_sm, 1024);
  EXPECT_EQ(info.limits.shared_bytes_per_block_optin, 65536);
  EXPECT_EQ(state().live_contexts, 0) << "no context is needed to describe a device";
}

TEST_F(CudaDevice, MayReportNoClock) {
  state().memory_clock_result = CUDA_ERROR_INVALID_VALUE;
  EXPECT_EQ(device_info(0).memory_clock_khz, 0);
  EXPECT_EQ(device_info(0).dram_peak_gb_per_s(), 0);
}

TEST_F(CudaDevice, MustExist) {
  for (const int ordinal : {-1, 2}) {
    const std::string expected = fmt::format("there is no GPU {}: this process sees 2", ordinal);
    EXPECT_EQ(error_of(StatusCode::no_device, [&] { open(ordinal); }), expected);
    EXPECT_EQ(error_of(StatusCode::no_device, [&] { device_info(ordinal); }), expected);
    EXPECT_EQ(error_of(StatusCode::no_device, [&] { current_context_device(ordinal); }), expected);
  }
}

TEST_F(CudaDevice, MovesMemory) {
  const auto device = open(0);
  std::vector<char> host(1000, 'a'), back(1000);
  Buffer buffer(*device, host.size());
  device->upload(buffer.get(), host.data(), host.size());
  device->fill(buffer.get() + 500, 'b', 500);
  device->download(back.data(), buffer.get(), back.size());
  std::fill(host.begin() + 500, host.end(), 'b');
  EXPECT_EQ(back, host);
  const Buffer empty(*device, 0);
  device->upload(empty.get(), nullptr, 0);
  device->download(nullptr, empty.get(), 0);
  device->fill(empty.get(), 0, 0);
  EXPECT_THAT(error_of(StatusCode::device, [&] { device->allocate(std::size_t{1} << 50); }),
              HasSubstr("cannot allocate 1125899906842624 bytes on Fake T4"));
}

TEST_F(CudaDevice, LoadsAKernelWithAllSharedMemoryAllowed) {
  const auto device = open(0);
  {
    const auto kernel = load(*device);
    EXPECT_EQ(state().live_libraries, 1);
    EXPECT_EQ(state().dynamic_shared_bytes_allowed, 65536 - 1000);
  }
  EXPECT_EQ(state().live_libraries, 0);
  EXPECT_THAT(error_of(StatusCode::device, [&] { device->load("cubin", "other", {}); }),
              HasSubstr("find kernel other"));
  EXPECT_THAT(error_of(StatusCode::device, [&] { device->load("not one", "entry", {}); }),
              HasSubstr("load the 7 bytes of kernel entry"));
  EXPECT_EQ(state().live_libraries, 0);
}

TEST_F(CudaDevice, LaunchesWithTheArgumentsOfTheLaunch) {
  const auto device = open(0);
  const auto kernel = load(*device);
  constexpr std::int64_t kRows = (std::int64_t{1} << 40) + 1;
  device->launch({kernel.get(), {2147483647, 256, 50000}, 0x1000, 0x2000, kRows, 257}, {});
  EXPECT_EQ(state().legacy_stream_uses, 1) << "null is the legacy default stream";
  device->launch({kernel.get(), {1, 32, 0}, 1, 2, 3, 4}, device->stream());
  EXPECT_EQ(state().legacy_stream_uses, 1);
  ASSERT_EQ(state().launches.size(), 2U);
  const FakeDriverState::Launch& seen = state().launches[0];
  EXPECT_EQ(seen.grid, 2147483647U);
  EXPECT_EQ(seen.block, 256U);
  EXPECT_EQ(seen.shared_bytes, 50000U);
  EXPECT_EQ(seen.x, 0x1000U);
  EXPECT_EQ(seen.y, 0x2000U);
  EXPECT_EQ(seen.M, kRows);
  EXPECT_EQ(seen.N, 257);
}

TEST_F(CudaDevice, RefusesAGridThatIsTooLarge) {
  const auto device = open(0);
  const auto kernel = load(*device);
  for (const std::int64_t grid : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 31, std::int64_t{1} << 32}) {
    EXPECT_THAT(error_of(StatusCode::unsupported, [&] { device->launch(launch_of(kernel, grid), {}); }),
                HasSubstr(fmt::format("cannot launch {} blocks: a grid has 1 to 2147483647", grid)));
  }
  EXPECT_TRUE(state().launches.empty());
}

TEST_F(CudaDevice, TimesABatchAlone) {
  const auto device = open(0);
  const auto kernel = load(*device);
  const auto batch = device->record(std::vector{launch_of(kernel, 10), launch_of(kernel, 20), launch_of(kernel, 60)});
  EXPECT_TRUE(state().launches.empty()) << "recording runs nothing";
  EXPECT_NEAR(batch->replay_us(), 30, 1e-5);
  EXPECT_NEAR(batch->replay_us(), 30, 1e-5);
  EXPECT_EQ(state().launches.size(), 6U);

  const Buffer from(*device, 5000), to(*device, 5000);
  device->fill(from.get(), 'x', 5000);
  const auto copies = device->record(std::vector{Copy{from.get(), to.get(), 1000}, Copy{from.get(), to.get(), 5000}});
  EXPECT_NEAR(copies->replay_us(), 3, 1e-5);
  std::vector<char> back(5000);
  device->download(back.data(), to.get(), back.size());
  EXPECT_THAT(back, Each('x'));
}

TEST_F(CudaDevice, RecordsAgainAfterARecordingThatFailed) {
  const auto device = open(0);
  const auto kernel = load(*device);
  EXPECT_THAT(error_of(StatusCode::internal, [&] { device->record(std::vector<Launch>()); }),
              HasSubstr("at least one"));
  state().launch_result = CUDA_ERROR_INVALID_VALUE;
  EXPECT_THAT(error_of(StatusCode::device, [&] { device->record(std::vector{launch_of(kernel, 8)}); }),
              HasSubstr("launch 8 blocks of 128 threads"));
  EXPECT_FALSE(is_capturing(device->stream()));
  state().launch_result = 0;
  EXPECT_NEAR(device->record(std::vector{launch_of(kernel, 8)})->replay_us(), 8, 1e-5);
}

TEST_F(CudaDevice, FollowsThePublishedProtocol) {
  const auto device = open(0);
  const auto kernel = load(*device);
  EXPECT_NEAR(device->time_stream_us(launch_of(kernel, 7), 100, 1000), 7, 1e-5);
  EXPECT_EQ(state().launches.size(), 1100U);
  EXPECT_THROW(device->time_stream_us(launch_of(kernel, 7), 0, 0), Error);
}

TEST_F(CudaDevice, FreesEveryHandle) {
  {
    const auto device = open(0);
    const auto kernel = load(*device);
    const Buffer buffer(*device, 100);
    const auto batch = device->record(std::vector{launch_of(kernel, 1)});
    batch->replay_us();
    device->time_stream_us(launch_of(kernel, 1), 1, 1);
    device->synchronize();
    EXPECT_EQ(state().live_contexts, 1);
  }
  EXPECT_EQ(state().live_contexts, 0);
  EXPECT_EQ(state().live_streams, 0);
  EXPECT_EQ(state().live_events, 0);
  EXPECT_EQ(state().live_graphs, 0);
  EXPECT_EQ(state().live_libraries, 0);
  EXPECT_EQ(state().live_memory, 0);
  CUcontext context = nullptr;
  driver().CtxGetCurrent(&context);
  EXPECT_EQ(context, nullptr) << "no dead context stays current";
}

TEST_F(CudaDevice, TwoDevicesKeepToTheirContexts) {
  const auto first = open(0), second = open(1);
  EXPECT_EQ(current_device(), 1);
  const Buffer on_first(*first, 10);
  EXPECT_EQ(current_device(), 0);
  const Stream of_first = first->stream();
  const Stream of_second = second->stream();
  EXPECT_NE(of_first, of_second);
  EXPECT_EQ(current_device(), 1);
  std::thread([&] {
    const Buffer elsewhere(*first, 10);  // a thread without a context of its own
    EXPECT_EQ(current_device(), 0);
  }).join();
}

TEST_F(CudaDevice, TakesDeviceZeroWhereNoContextIsCurrent) {
  EXPECT_EQ(current_device(), 0);
  CUcontext context = nullptr;
  driver().CtxGetCurrent(&context);
  EXPECT_NE(context, nullptr);
  const int contexts = state().live_contexts;
  std::thread([] { EXPECT_EQ(current_device(), 0); }).join();
  EXPECT_EQ(state().live_contexts, contexts) << "retained once in a process";
  const auto other = open(1);
  EXPECT_EQ(current_device(), 1);
}

TEST_F(CudaDevice, OfTheCurrentContextLeavesTheContextAndTheLegacyStreamAlone) {
  const auto owner = open(1);  // stands for the host program
  Device& device = current_context_device(1);
  EXPECT_EQ(&device, &current_context_device(1));
  EXPECT_NE(&device, &current_context_device(0));
  const int contexts = state().live_contexts;
  const Buffer buffer(device, 4);
  const auto kernel = load(device);
  int value = 5, back = 0;
  device.upload(buffer.get(), &value, 4);
  device.launch(launch_of(kernel, 1), device.stream());
  device.synchronize();
  device.download(&back, buffer.get(), 4);
  EXPECT_EQ(back, 5);
  EXPECT_EQ(state().live_contexts, contexts);
  EXPECT_EQ(state().legacy_stream_uses, 0);
  EXPECT_EQ(current_device(), 1);
  std::thread([&] { EXPECT_THROW(device.allocate(1), Error) << "a thread without a context"; }).join();
}

TEST_F(CudaDevice, KnowsWhetherAStreamIsCaptured) {
  const auto device = open(0);
  const Stream stream = device->stream();
  EXPECT_FALSE(is_capturing(stream));
  EXPECT_FALSE(is_capturing({}));
  driver().StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
  EXPECT_TRUE(is_capturing(stream));
  CUgraph graph = nullptr;
  driver().StreamEndCapture(stream, &graph);
  driver().GraphDestroy(graph);
  EXPECT_FALSE(is_capturing(stream));
  state().other_stream_captures = true;
  EXPECT_FALSE(is_capturing({})) << "the driver's refusal to answer is no error";
}

TEST_F(CudaDevice, RelaxesTheCaptureModeForAWhile) {
  const auto exchange = [](CUstreamCaptureMode mode) {
    driver().ThreadExchangeStreamCaptureMode(&mode);
    return mode;
  };
  const CUstreamCaptureMode before = exchange(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  {
    const RelaxedCapture relaxed;
    EXPECT_EQ(exchange(CU_STREAM_CAPTURE_MODE_RELAXED), CU_STREAM_CAPTURE_MODE_RELAXED);
  }
  EXPECT_EQ(exchange(before), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
}

TEST_F(CudaDevice, ErrorsNameTheDriversNumber) {
  const auto device = open(0);
  const auto kernel = load(*device);
  state().launch_result = CUDA_ERROR_ILLEGAL_ADDRESS;
  EXPECT_THAT(error_of(StatusCode::device, [&] { device->launch(launch_of(kernel, 1), {}); }),
              HasSubstr("(700), a description; a kernel that ran before broke the CUDA context"));
}

}  // namespace
}  // namespace softmax_dispatch::cuda
