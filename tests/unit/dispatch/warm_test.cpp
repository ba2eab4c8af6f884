#include <gmock/gmock.h>

#include <thread>

#include "unit/dispatch/allocations.hpp"
#include "unit/dispatch/fixture.hpp"

namespace softmax_dispatch::testing {
namespace {

using ::testing::HasSubstr;

/// Runs f on `count` threads that start together.
template <typename F>
void together(int count, F f) {
  std::atomic<int> waiting{count};
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&] {
      --waiting;
      while (waiting > 0) std::this_thread::yield();
      f();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Warm, SecondCallForAnyShapeOfTheKernelOnlyLaunches) {
  FakeBackend backend;
  const auto dispatcher = make_dispatcher(backend, make_table(three_thresholds()));
  Matrices first(8, 64);
  first.dispatch(*dispatcher);
  EXPECT_EQ(backend.compiles, 1);
  EXPECT_EQ(backend.cold_runs, 1);
  EXPECT_NEAR(first.first_row_sum(), 1.0, 1e-6);
  for (const std::int64_t N : {1, 2, 63, 65, 131}) Matrices(3, N).dispatch(*dispatcher);
  EXPECT_EQ(backend.compiles, 1);
  EXPECT_EQ(backend.cold_runs, 1);
  EXPECT_EQ(backend.launches(), 6);
  Matrices(3, 132).dispatch(*dispatcher);
  EXPECT_EQ(backend.compiles, 2) << "the next threshold's kernel is another one";
}

TEST(Warm, CallAllocatesNothingWhateverTheVariant) {
  const Target target{arch_limits("sm_90"), 8};
  for (const Variant* variant : registry().all()) {
    FakeBackend backend;
    const Problem problem{DType::f32, 3, 100};
    const Config config{std::string(variant->id()), variant->complete(problem, {}, target)};
    const auto dispatcher = make_dispatcher(backend, to_string(config));
    backend.named(0).define(std::string(variant->id()), [](const Launch&) {});
    Matrices matrices(problem.M, problem.N);
    matrices.dispatch(*dispatcher);
    const std::int64_t before = allocations();
    for (int i = 0; i < 100; ++i) matrices.dispatch(*dispatcher);
    EXPECT_EQ(allocations() - before, 0) << to_string(config);
    EXPECT_EQ(backend.launches(), 101);
  }
}

TEST(Warm, CallAllocatesNothingWhereTheTablesChoiceIsRejected) {
  FakeBackend backend;
  backend.on_compile = [](jit::CompiledKernel kernel) {
    if (kernel.entry == "v10") kernel.resources.stack_bytes = 64;
    return kernel;
  };
  backend.named(0).define("v7", [](const Launch&) {});
  table::Table table = make_table(three_thresholds());
  table.tables[0].bands[0].thresholds[0].runner_up = kMiddle;
  const auto dispatcher = make_dispatcher(backend, table);
  Matrices matrices(8, 64);
  matrices.dispatch(*dispatcher);
  const std::int64_t before = allocations();
  for (int i = 0; i < 100; ++i) matrices.dispatch(*dispatcher);
  EXPECT_EQ(allocations() - before, 0);
  EXPECT_EQ(backend.launches(), 101);
}

TEST(Warm, TheCountOfAllocationsSeesOne) {
  const std::int64_t before = allocations();
  const auto owned = std::make_unique<int>(1);
  EXPECT_EQ(allocations() - before, 1) << *owned;
}

TEST(Warm, SixteenThreadsCompileAColdKernelOnce) {
  FakeBackend backend;
  backend.on_compile = [](jit::CompiledKernel kernel) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return kernel;
  };
  const auto dispatcher = make_dispatcher(backend, make_table(three_thresholds()));
  together(16, [&] { Matrices(8, 64).dispatch(*dispatcher); });
  EXPECT_EQ(backend.compiles, 1);
  EXPECT_EQ(backend.loads, 1);
  EXPECT_EQ(backend.launches(), 16);
}

TEST(Warm, ThreadsThatWaitShareAFailureAndALaterCallTriesAgain) {
  FakeBackend backend;
  std::atomic<bool> broken{true};
  backend.on_compile = [&](jit::CompiledKernel kernel) {
    // Until every thread has come as far as its device, and a little further.
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (backend.device_queries < 16 && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    if (broken) throw Error(StatusCode::toolchain, "libnvrtc.so.13 is missing");
    return kernel;
  };
  const auto dispatcher = make_dispatcher(backend, make_table(three_thresholds()));
  std::atomic<int> failed{0};
  together(16, [&] {
    EXPECT_THAT(error_of(StatusCode::toolchain, [&] { Matrices(8, 64).dispatch(*dispatcher); }),
                HasSubstr("libnvrtc.so.13 is missing"));
    ++failed;
  });
  EXPECT_EQ(failed, 16);
  EXPECT_LT(backend.compiles, 16) << "a thread that waited repeated the attempt";
  broken = false;
  Matrices(8, 64).dispatch(*dispatcher);
  EXPECT_EQ(backend.launches(), 1);
}

TEST(Warm, DifferentKernelsAreMadeReadyAtTheSameTime) {
  FakeBackend backend;
  std::atomic<int> inside{0};
  backend.on_compile = [&](jit::CompiledKernel kernel) {
    ++inside;
    // Each compilation ends only when the other has begun: a lock around both would wait for ever.
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (inside < 2 && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
    EXPECT_EQ(inside, 2);
    return kernel;
  };
  const auto dispatcher = make_dispatcher(backend, make_table(three_thresholds()));
  std::atomic<int> next{0};
  together(2, [&] { Matrices(2, next++ == 0 ? 64 : 1000).dispatch(*dispatcher); });
  EXPECT_EQ(backend.compiles, 2);
}

TEST(Warm, SeveralDevicesAndThreadsKeepTheirHandlesApart) {
  FakeBackend backend({"sm_90", "sm_90", "sm_90"});
  const auto dispatcher = make_dispatcher(backend, make_table(three_thresholds()));
  std::atomic<int> next{0};
  together(12, [&] {
    FakeBackend::current = next++ % 3;
    for (int i = 0; i < 50; ++i) {
      for (const std::int64_t N : {7, 131, 132, 999, 5000}) {
        Matrices matrices(2, N);
        matrices.dispatch(*dispatcher);
        EXPECT_NEAR(matrices.first_row_sum(), 1.0, 1e-4);
      }
    }
  });
  EXPECT_EQ(backend.loads, 9) << "three kernels on three devices";
  for (int device = 0; device < 3; ++device) EXPECT_EQ(backend.named(device).launches(), 4 * 50 * 5);
}

TEST(Prewarm, WarmsWhatEitherAlignmentUses) {
  FakeBackend backend;
  table::Table table = make_table({{table::kOpen, kLong}, {table::kOpen, "unbounded THREADS=128"}});
  std::vector<table::Threshold>& thresholds = table.tables[0].bands[0].thresholds;
  thresholds[0].alignment = table::Alignment::aligned;
  thresholds[1].alignment = table::Alignment::unaligned;
  const auto dispatcher = make_dispatcher(backend, table);
  const std::vector<Problem> problems{{DType::f32, 8, 64}};
  dispatcher->prewarm(problems);
  EXPECT_EQ(backend.compiles, 2);
  std::vector<float> data(8 * 64 + 4);
  for (const std::size_t offset : {0u, 1u}) {
    dispatcher->dispatch(data.data() + offset, data.data() + offset, problems[0], {});
  }
  EXPECT_EQ(backend.compiles, 2);
  EXPECT_EQ(backend.launches(), 2);
}

TEST(Prewarm, ChecksShapesAndSkipsEmptyOnes) {
  FakeBackend backend;
  const auto dispatcher = make_dispatcher(backend);
  dispatcher->prewarm(std::vector<Problem>{{DType::f32, 0, 8}, {DType::f32, 8, 0}});
  EXPECT_EQ(backend.compiles, 0);
  error_of(StatusCode::invalid_argument, [&] { dispatcher->prewarm(std::vector<Problem>{{DType::f32, -1, 8}}); });
  error_of(StatusCode::invalid_argument, [&] {
    dispatcher->prewarm(std::vector<Problem>{{static_cast<DType>(3), 1, 8}});
  });
}

TEST(Geometry, GridOfTheTableIsALaunchParameter) {
  FakeBackend backend;
  const auto dispatcher =
      make_dispatcher(backend, make_table({{1000, "v9 GRID=24 THREADS=256 VEC_ITEMS=1"}, {table::kOpen, kLong}}));
  std::int64_t grid_x = 0;
  backend.named(0).define("v9", [&](const Launch& launch) { grid_x = launch.geometry.grid; });
  Matrices(100, 64).dispatch(*dispatcher);
  EXPECT_EQ(grid_x, 24);
  Matrices(10, 64).dispatch(*dispatcher);
  EXPECT_EQ(grid_x, 10) << "no more blocks than rows";
}

}  // namespace
}  // namespace softmax_dispatch::testing
