// The simulated device behind the device interface.
#include "device/sim/sim_device.hpp"

#include <gmock/gmock.h>

#include "sim/sim_fixture.hpp"
#include "support/expect_error.hpp"

namespace softmax_dispatch::sim {
namespace {

using ::testing::AllOf;
using testing::error_of;
using ::testing::HasSubstr;

// y = 2 x, one element a thread, in blocks of blockDim.x.
const char* const kDouble = R"(
extern "C" __global__ void k(const float* x, float* y, long long M, long long N) {
  const long long i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
  if (i < M * N) y[i] = 2 * x[i];
}
)";

/// Notes what it is asked, and takes a nanosecond for each warp instruction.
class Recording : public TimingModel {
 public:
  ModelledTime launch(const TimedLaunch& launch) const override {
    ++launches;
    last_registers = launch.resources.registers;
    last_shared_bytes = launch.shared_bytes;
    last_bytes_between_uses = launch.bytes_between_uses;
    return {1e-3 * static_cast<double>(launch.counts.warp_instructions), "issue", {}};
  }
  double copy_us(const DeviceInfo& /*device*/, std::size_t bytes, std::int64_t /*between*/) const override {
    return 1e-3 * static_cast<double>(bytes);
  }
  mutable int launches = 0, last_registers = 0;
  mutable std::int64_t last_shared_bytes = 0, last_bytes_between_uses = 0;
};

TEST(SimDevice, IdentityAndLimits) {
  const auto device = simulated_t4();
  EXPECT_TRUE(device->info().simulated);
  EXPECT_EQ(device->info().arch, "sm_75");
  EXPECT_EQ(device->info().sm_count, 40);
}

TEST(SimDevice, MemoryHoldsWhatIsPutThere) {
  const auto device = simulated_t4();
  const DevicePtr a = device->allocate(1000), b = device->allocate(1000);
  EXPECT_EQ(a % 256, 0u);
  EXPECT_EQ(b % 256, 0u);
  std::vector<unsigned char> bytes(1000, 7), got(1000);
  device->upload(a, bytes.data(), 1000);
  device->fill(a + 10, 9, 20);
  device->download(got.data(), a, 1000);
  std::fill_n(bytes.begin() + 10, 20, static_cast<unsigned char>(9));
  EXPECT_EQ(got, bytes);
  const Copy copy{a, b, 1000};
  EXPECT_DOUBLE_EQ(device->record(std::span(&copy, 1))->replay_us(), 1.0);
  device->download(got.data(), b, 1000);
  EXPECT_EQ(got, bytes);
  device->release(a);
  EXPECT_THAT(error_of(StatusCode::device, [&] { device->download(got.data(), a, 1); }),
              HasSubstr("not near any allocation that exists"));
  EXPECT_THAT(error_of(StatusCode::device, [&] { device->upload(b + 990, bytes.data(), 11); }),
              HasSubstr("has 1000 bytes"));
  EXPECT_THAT(error_of(StatusCode::device, [&] { device->allocate(std::size_t{16} << 30); }),
              HasSubstr("no 17179869184 bytes left"));
}

TEST(SimDevice, LaunchesAreCompleteAtOnce) {
  const auto device = simulated_t4();
  const auto kernel = device->load(line_info_ptx(kDouble), "k");
  std::vector<float> values(1000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  Buffer x(*device, 4000), y(*device, 4000);
  device->upload(x.get(), values.data(), 4000);
  device->launch({kernel.get(), {10, 100, 0}, x.get(), y.get(), 10, 100}, {});
  device->synchronize();
  std::vector<float> got(1000);
  device->download(got.data(), y.get(), 4000);
  for (float& one : values) one *= 2;
  EXPECT_EQ(got, values);
}

DevicePtr address(const std::vector<float>& values) {
  return reinterpret_cast<std::uintptr_t>(values.data());
}

TEST(SimDevice, MatricesInTheMemoryOfTheProgram) {
  const auto device = simulated_t4({.host_memory = true});
  const auto kernel = device->load(line_info_ptx(kDouble), "k");
  std::vector<float> x(100, 4), y(100);
  device->launch({kernel.get(), {1, 128, 0}, address(x), address(y), 1, 100}, {});
  EXPECT_EQ(y, std::vector<float>(100, 8));
  device->launch({kernel.get(), {1, 128, 0}, address(x), address(x), 1, 100}, {});
  EXPECT_EQ(x, std::vector<float>(100, 8)) << "in place";
  Buffer of_device(*device, 400);
  device->launch({kernel.get(), {1, 128, 0}, address(x), of_device.get(), 1, 100}, {});
  device->download(y.data(), of_device.get(), 400);
  EXPECT_EQ(y, std::vector<float>(100, 16));
}

TEST(SimDevice, MatricesOfTheProgramEndWithTheirLastElementAndTheDeviceGoesOn) {
  const auto device = simulated_t4({.host_memory = true, .sticky_faults = false});
  const auto kernel = device->load(line_info_ptx(kDouble), "k");
  const auto beyond = device->load(
      line_info_ptx("extern \"C\" __global__ void k(const float* x, float* y, long long M, long long N) {\n"
                    "  if (threadIdx.x == 0) y[M * N] = x[0];\n"
                    "  if (threadIdx.x == 1) y[0] = x[-1];\n"
                    "}"),
      "k");
  // In the middle of more memory, all of which the program may access.
  std::vector<float> x(300, 4), y(300);
  const auto launch = [&](const LoadedKernel& one, int threads) {
    device->launch({&one, {1, threads, 0}, address(x) + 400, address(y) + 400, 1, 100}, {});
  };
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(error_of(StatusCode::device, [&] { launch(*beyond, 1); }),
                AllOf(HasSubstr("test.cu:2"), HasSubstr("store"),
                      HasSubstr("0 bytes past the end of the matrix y of 400 bytes")));
    EXPECT_EQ(y, std::vector<float>(300));
  }
  EXPECT_THROW(launch(*beyond, 2), Fault);
  launch(*kernel, 128);
  EXPECT_EQ(std::count(y.begin() + 100, y.begin() + 200, 8.0f), 100);
  EXPECT_EQ(std::count(y.begin(), y.end(), 0.0f), 200);
}

TEST(SimDevice, MemoryOfTheProgramIsOutOfBoundsUnlessAskedFor) {
  const auto device = simulated_t4();
  const auto kernel = device->load(line_info_ptx(kDouble), "k");
  std::vector<float> x(100, 4);
  const Launch launch{kernel.get(), {1, 128, 0}, address(x), address(x), 1, 100};
  EXPECT_THAT(error_of(StatusCode::device, [&] { device->launch(launch, {}); }), HasSubstr("out of bounds"));
  EXPECT_THAT(error_of(StatusCode::device, [&] { device->synchronize(); }), HasSubstr("out of bounds"))
      << "a fault ends the device, unless asked for otherwise";
}

TEST(SimDevice, LaunchesThatTheTargetCannotMake) {
  const auto device = simulated_t4();
  const std::string ptx = line_info_ptx(kDouble);
  const auto refused = [&](const Geometry& geometry, const Resources& resources) {
    const auto kernel = device->load(ptx, "k", resources);
    Buffer x(*device, 64), y(*device, 64);
    device->fill(x.get(), 0, 64);
    const std::string message = error_of(StatusCode::device, [&] {
      device->launch({kernel.get(), geometry, x.get(), y.get(), 1, 16}, {});
    });
    EXPECT_THAT(message, HasSubstr("cannot launch kernel k on the simulated Tesla T4"));
    return message;
  };
  EXPECT_THAT(refused({1, 1025, 0}, {}), HasSubstr("1025 threads in a block; it can have 1 to 1024"));
  EXPECT_THAT(refused({1, 0, 0}, {}), HasSubstr("0 threads"));
  EXPECT_THAT(refused({0, 32, 0}, {}), HasSubstr("0 blocks"));
  EXPECT_THAT(refused({std::int64_t{1} << 31, 32, 0}, {}), HasSubstr("2147483648 blocks"));
  EXPECT_THAT(refused({1, 32, 65537}, {}), HasSubstr("65537 bytes of shared memory in a block; it can have 65536"));
  EXPECT_THAT(refused({1, 1024, 0}, {.registers = 65}),
              HasSubstr("1024 threads of 65 registers do not fit the 65536 registers of an SM"));
  // None of these was a fault: the device goes on.
  device->synchronize();
  const auto kernel = device->load(ptx, "k", {.registers = 64});
  Buffer x(*device, 64), y(*device, 64);
  device->fill(x.get(), 0, 64);
  device->launch({kernel.get(), {1, 1024, 65536}, x.get(), y.get(), 1, 16}, {});
}

TEST(SimDevice, LaunchBoundsOfTheKernel) {
  const auto device = simulated_t4();
  const auto kernel = device->load(product_ptx("v5", Constants{{"THREADS", 128}}), "v5");
  Buffer x(*device, 64), y(*device, 64);
  device->fill(x.get(), 0, 64);
  EXPECT_THAT(error_of(StatusCode::device,
                       [&] {
                         device->launch({kernel.get(), {1, 256, 0}, x.get(), y.get(), 1, 16}, {});
                       }),
              HasSubstr("256 threads in a block; it can have 1 to 128"));
}

TEST(SimDevice, ImagesThatCannotBeLoaded) {
  const auto device = simulated_t4();
  const std::string ptx = line_info_ptx(kDouble);
  EXPECT_THAT(error_of(StatusCode::device, [&] { device->load(ptx, "other"); }),
              HasSubstr("has no kernel other; it has k"));
  EXPECT_THAT(
      error_of(
          StatusCode::device,
          [&] { device->load(line_info_ptx("extern \"C\" __global__ void k(float* x, int n) { *x = n; }"), "k"); }),
      HasSubstr("first ones of (const T* x, T* y, int64 M, int64 N, void* workspace, int phase, int parts)"));
  EXPECT_THAT(error_of(StatusCode::unsupported, [&] { device->load("\177ELF...", "k"); }), HasSubstr("PTX line 1"));
}

TEST(SimDevice, TimesComeFromTheModelOncePerKindOfLaunch) {
  const auto model = std::make_shared<Recording>();
  SimDevice device(t4(), model);
  const auto kernel = device.load(line_info_ptx(kDouble), "k", {.registers = 10});
  Buffer x(device, 4096), y(device, 4096), other(device, 4096);
  const Launch launch{kernel.get(), {8, 128, 512}, x.get(), y.get(), 8, 128};
  Launch elsewhere = launch;
  elsewhere.y = other.get();
  const std::vector<Launch> two{launch, elsewhere};
  const auto batch = device.record(two);
  // 8 blocks of 4 warps; that they read memory nobody wrote does not matter to a count.
  const double time_us = 1e-3 * static_cast<double>(device.count(launch).warp_instructions);
  EXPECT_GT(time_us, 8 * 4 * 1e-3);
  EXPECT_DOUBLE_EQ(batch->replay_us(), time_us);
  EXPECT_DOUBLE_EQ(batch->replay_us(), time_us);
  EXPECT_EQ(model->launches, 1) << "buffers that lie alike are one kind of launch";
  EXPECT_EQ(model->last_bytes_between_uses, 3 * 4096);
  EXPECT_DOUBLE_EQ(device.time_stream_us(launch, 100, 1000), time_us);
  EXPECT_EQ(model->launches, 2) << "the same launch again and again finds its buffers in L2 earlier";
  EXPECT_EQ(model->last_bytes_between_uses, 2 * 4096);
  EXPECT_EQ(model->last_registers, 10);
  EXPECT_EQ(model->last_shared_bytes, 512);
  elsewhere.y = other.get() + 4;
  elsewhere.M = 7;
  EXPECT_LE(device.model(elsewhere).time_us, time_us);
  EXPECT_EQ(model->launches, 3);
}

TEST(SimDevice, LaunchesFromManyThreads) {
  const auto device = simulated_t4();
  const auto kernel = device->load(line_info_ptx(kDouble), "k");
  Buffer x(*device, 4 * 1024), y(*device, 8 * 4 * 1024);
  const std::vector<float> ones(1024, 1);
  device->upload(x.get(), ones.data(), x.bytes());
  std::vector<std::thread> threads;
  for (DevicePtr i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 20; ++round)
        device->launch({kernel.get(), {8, 128, 0}, x.get(), y.get() + i * 4096, 1, 1024}, {});
    });
  }
  for (std::thread& one : threads) one.join();
  std::vector<float> got(8 * 1024);
  device->download(got.data(), y.get(), y.bytes());
  EXPECT_EQ(got, std::vector<float>(8 * 1024, 2));
}

}  // namespace
}  // namespace softmax_dispatch::sim
