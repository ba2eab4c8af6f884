#include <gmock/gmock.h>
#include <softmax_dispatch/c_api.h>

#include <random>
#include <softmax_dispatch/softmax_dispatch.hpp>
#include <thread>
#include <vector>

#include "device/cuda/cuda.hpp"
#include "dispatch/rule.hpp"
#include "gpu/dispatch_matrix.hpp"
#include "support/decimal_comma.hpp"
#include "support/files.hpp"
#include "table/table.hpp"

namespace softmax_dispatch::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class GpuDispatch : public ::testing::Test {
 protected:
  GpuDispatch() { EXPECT_TRUE(Dispatcher::create({}, dispatcher_).ok()); }

  /// A dispatcher on the rule's choices for an architecture, read from a file.
  Status create_with_table(const std::string& arch) {
    table::Table table = runtime::rule_based_table({arch_limits(arch), 0});
    table.library_version = SOFTMAX_DISPATCH_VERSION;
    table.device.name = "a device that is not here";
    table.toolchain.nvrtc = table.toolchain.driver = "0.0";
    table.sweep.effort = "quick";
    table.sweep.protocol = "graph";
    table.sweep.buffers = "warm";
    for (table::Kernel& kernel : table.kernels) kernel.source_hash = kernel.code_hash = "0";
    const std::string path = (folder_.path() / "table.yaml").string();
    write_file_atomically(path, table::write(table));
    return Dispatcher::create({path, ""}, dispatcher_);
  }

  TemporaryDirectory folder_;
  std::unique_ptr<Device> device_ = cuda::open(0);
  Dispatcher dispatcher_;
};

TEST_F(GpuDispatch, EveryShapeAndPlacementIsRight) {
  const std::vector<std::pair<std::int64_t, std::int64_t>> shapes{
      {1, 1},       {1, 2},      {3, 3},     {70001, 3}, {4096, 8},   {5, 31},     {7, 131},
      {7, 132},     {1025, 257}, {64, 515},  {129, 516}, {65, 1027},  {33, 2051},  {9, 4099},
      {1024, 4096}, {5, 8195},   {3, 16387}, {2, 16388}, {2, 100003}, {1, 1048576}};
  for (const auto& [M, N] : shapes) {
    for (const Placement placement : {Placement{0, 0}, Placement{1, 1}, Placement{0, 3}, Placement{2, 0}}) {
      Matrix matrix(*device_, M, N, placement);
      EXPECT_EQ(matrix.wrong(dispatcher_.dispatch(matrix.x(), matrix.y(), M, N)), "") << matrix.name();
      EXPECT_EQ(matrix.wrong_in_place(dispatcher_.dispatch(matrix.x(), matrix.x(), M, N)), "") << matrix.name();
    }
  }
}

TEST_F(GpuDispatch, ProcessWideFunctionsAreRight) {
  Matrix matrix(*device_, 1025, 257);
  EXPECT_EQ(matrix.wrong(dispatch(matrix.x(), matrix.y(), 1025, 257)), "");
  Matrix again(*device_, 1025, 257);
  ASSERT_EQ(smd_dispatch(again.x(), again.y(), 1025, 257, SMD_F32, nullptr), SMD_OK) << smd_last_error();
  EXPECT_EQ(again.wrong({}), "");
}

TEST_F(GpuDispatch, ThreadsThatShareAColdDispatcherAreRight) {
  std::vector<std::string> wrong(8);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    threads.emplace_back([&, i] {
      const std::int64_t M = 100 + static_cast<std::int64_t>(i);
      for (const std::int64_t N : {100, 300, 1000, 3000, 20000}) {
        // Each thread has a device object of its own: only launches may be shared.
        const std::unique_ptr<Device> device = cuda::open(0);
        Matrix matrix(*device, M, N);
        wrong[i] += matrix.wrong(dispatcher_.dispatch(matrix.x(), matrix.y(), M, N));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(wrong, ::testing::Each(""));
}

TEST_F(GpuDispatch, TableIsReadAndServedUnderADecimalComma) {
  const DecimalComma comma;
  ASSERT_TRUE(create_with_table(device_->info().arch).ok());
  Matrix matrix(*device_, 1025, 257);
  EXPECT_EQ(matrix.wrong(dispatcher_.dispatch(matrix.x(), matrix.y(), 1025, 257)), "");
}

TEST_F(GpuDispatch, TableForAnotherArchitectureIsRefused) {
  const std::string other = device_->info().arch == "sm_75" ? "sm_80" : "sm_75";
  ASSERT_TRUE(create_with_table(other).ok());
  Matrix matrix(*device_, 4, 4);
  const Status status = dispatcher_.dispatch(matrix.x(), matrix.y(), 4, 4);
  EXPECT_EQ(status.code(), StatusCode::bad_table);
  EXPECT_THAT(status.message(), AllOf(HasSubstr(other), HasSubstr("softmax-tune --arch " + device_->info().arch)));
}

TEST_F(GpuDispatch, ForcedConfigurationIsRightOrRefused) {
  ASSERT_TRUE(Dispatcher::create({"", "v7 THREADS=256 VEC_ITEMS=1"}, dispatcher_).ok());
  Matrix matrix(*device_, 33, 1027);
  EXPECT_EQ(matrix.wrong(dispatcher_.dispatch(matrix.x(), matrix.y(), 33, 1027)), "");
  EXPECT_EQ(dispatcher_.dispatch(matrix.x(), matrix.y(), 1, 1028).code(), StatusCode::unsupported);
}

}  // namespace
}  // namespace softmax_dispatch::testing
