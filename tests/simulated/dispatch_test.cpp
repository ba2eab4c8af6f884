// The public interface on matrices in the program's own memory, with SOFTMAX_DISPATCH_DEVICE=sim.
#include <gmock/gmock.h>
#include <softmax_dispatch/c_api.h>

#include <cmath>
#include <limits>
#include <softmax_dispatch/softmax_dispatch.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "simulated/host_matrix.hpp"

namespace softmax_dispatch::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// On the simulated T4, by the table shipped for it, if there is one, else by the rule.
class SimulatedDispatch : public ::testing::Test {
 protected:
  SimulatedDispatch() { EXPECT_TRUE(Dispatcher::create({}, dispatcher_).ok()); }

  void expect_right(HostMatrix matrix) {
    EXPECT_EQ(matrix.wrong(dispatcher_.dispatch(matrix.x(), matrix.y(), matrix.M(), matrix.N())), "") << matrix.name();
    EXPECT_EQ(matrix.wrong_in_place(dispatcher_.dispatch(matrix.x(), matrix.x(), matrix.M(), matrix.N())), "")
        << matrix.name() << ", in place";
  }

  Dispatcher dispatcher_;
};

TEST_F(SimulatedDispatch, EveryShapeIsRight) {
  const std::vector<std::pair<std::int64_t, std::int64_t>> shapes{
      {1, 1}, {70, 3}, {33, 31}, {1025, 8}, {65, 257}, {7, 1023}, {3, 4096}, {2, 16387}, {1, 20000}};
  for (const auto& [M, N] : shapes) expect_right(HostMatrix(M, N));
}

TEST_F(SimulatedDispatch, EveryPlacementIsRight) {
  for (const Placement placement : {Placement{1, 1}, Placement{0, 3}, Placement{2, 0}, Placement{3, 1}}) {
    for (const std::int64_t N : {3, 256, 257, 1024}) expect_right(HostMatrix(5, N, placement));
  }
}

TEST_F(SimulatedDispatch, MatricesWithoutElementsNeedNothing) {
  EXPECT_TRUE(dispatcher_.dispatch(nullptr, nullptr, 0, 257).ok());
  EXPECT_TRUE(dispatcher_.dispatch(nullptr, nullptr, 257, 0).ok());
}

TEST_F(SimulatedDispatch, ArgumentsAreCheckedAsOnAGpu) {
  HostMatrix matrix(4, 64);
  EXPECT_EQ(dispatcher_.dispatch(nullptr, matrix.y(), 4, 64).code(), StatusCode::invalid_argument);
  EXPECT_EQ(dispatcher_.dispatch(matrix.x(), matrix.x() + 1, 4, 63).code(), StatusCode::invalid_argument);
  const auto* odd = reinterpret_cast<const char*>(matrix.x()) + 1;
  EXPECT_EQ(dispatcher_.dispatch(odd, matrix.y(), Problem{DType::bf16, 4, 64}).code(), StatusCode::invalid_argument);
}

TEST_F(SimulatedDispatch, ValuesFollowPyTorch) {
  for (const std::int64_t N : {3, 257, 1023, 4096, 20000}) {
    HostMatrix matrix(6, N);
    matrix.set(0, N - 1, kNan);
    matrix.set(1, 0, kInfinity);
    for (std::int64_t column = 0; column < N; ++column) matrix.set(2, column, -kInfinity);
    matrix.set(3, N / 2, -kInfinity);
    matrix.set(4, 0, 3e38f);
    ASSERT_TRUE(dispatcher_.dispatch(matrix.x(), matrix.y(), 6, N).ok());
    EXPECT_EQ(matrix.wrong({}), "") << matrix.name();
    for (std::int64_t row = 0; row < 3; ++row) EXPECT_TRUE(std::isnan(matrix.y()[row * N + N / 2])) << row;
    EXPECT_EQ(matrix.y()[3 * N + N / 2], 0.0f);
    EXPECT_EQ(matrix.y()[4 * N], 1.0f);
  }
}

TEST_F(SimulatedDispatch, ThreadsShareADispatcherAndAnInput) {
  constexpr std::int64_t kRows = 24, kColumns = 1000;
  HostMatrix shared(kRows, kColumns);
  std::vector<std::string> wrong(4);
  std::vector<std::vector<float>> results(wrong.size(), std::vector<float>(kRows * kColumns));
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    threads.emplace_back([&, i] {
      for (const std::int64_t N : {3, 300, 2000}) {
        HostMatrix own(10 + static_cast<std::int64_t>(i), N, {}, static_cast<unsigned>(i));
        wrong[i] += own.wrong(dispatcher_.dispatch(own.x(), own.y(), own.M(), own.N()));
      }
      // Rows of one x that overlap those of the other threads.
      const auto first = static_cast<std::int64_t>(i);
      wrong[i] +=
          dispatcher_.dispatch(shared.x() + first * kColumns, results[i].data(), kRows - first, kColumns).message();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(wrong, Each(""));
  EXPECT_EQ(shared.wrong(dispatcher_.dispatch(shared.x(), shared.y(), kRows, kColumns)), "");
  // The same call alone gives the same bits. Another M may be another kernel's.
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    const auto first = static_cast<std::int64_t>(i);
    std::vector<float> alone(results[i].size());
    EXPECT_EQ(dispatcher_.dispatch(shared.x() + first * kColumns, alone.data(), kRows - first, kColumns).message(), "");
    EXPECT_EQ(alone, results[i]) << i;
    for (std::int64_t at = 0; at < (kRows - first) * kColumns; ++at) {
      const float same = shared.y()[first * kColumns + at];
      ASSERT_NEAR(results[i][static_cast<std::size_t>(at)], same, 2e-5f * same) << i << " element " << at;
    }
  }
}

TEST_F(SimulatedDispatch, NoStreamIsEverCaptured) {
  char object = 0;
  HostMatrix matrix(4, 257);
  EXPECT_EQ(matrix.wrong(dispatcher_.dispatch(matrix.x(), matrix.y(), 4, 257, reinterpret_cast<Stream>(&object))), "");
}

TEST_F(SimulatedDispatch, ArchitectureByTheOptions) {
  Dispatcher hopper;
  ASSERT_TRUE(Dispatcher::create({"", "", "sim:sm_90"}, hopper).ok());
  HostMatrix matrix(5, 257);
  ::testing::internal::CaptureStderr();
  const Status status = hopper.dispatch(matrix.x(), matrix.y(), 5, 257);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("the simulated NVIDIA H200 (sm_90)"));
  EXPECT_EQ(matrix.wrong(status), "");
}

TEST_F(SimulatedDispatch, SaysOnceThatItIsSimulated) {
  HostMatrix matrix(5, 257);
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(dispatcher_.dispatch(matrix.x(), matrix.y(), 5, 257).ok());
  const std::string log = ::testing::internal::GetCapturedStderr();
  constexpr const char* kLine = "dispatching on the simulated Tesla T4 (sm_75): right values, no speed";
  EXPECT_THAT(log, HasSubstr(kLine));
  EXPECT_EQ(log.find(kLine), log.rfind(kLine)) << log;
}

TEST_F(SimulatedDispatch, ForcedConfigurationsAreRight) {
  for (const char* force : {"v1 THREADS=128", "v7 THREADS=256 VEC_ITEMS=1", "v10 THREADS=128 VEC_ITEMS=8"}) {
    ASSERT_TRUE(Dispatcher::create({"", force}, dispatcher_).ok());
    expect_right(HostMatrix(9, 1000));
  }
}

TEST(SimulatedProcess, FunctionsOfCppAndC) {
  HostMatrix matrix(65, 257);
  EXPECT_EQ(matrix.wrong(dispatch(matrix.x(), matrix.y(), 65, 257)), "");
  const Problem problem{DType::f32, 65, 257};
  EXPECT_TRUE(prewarm(&problem, 1).ok());
  HostMatrix again(65, 257, {1, 2});
  ASSERT_EQ(smd_prewarm(65, 257, SMD_F32), SMD_OK) << smd_last_error();
  ASSERT_EQ(smd_dispatch(again.x(), again.y(), 65, 257, SMD_F32, nullptr), SMD_OK) << smd_last_error();
  EXPECT_EQ(again.wrong({}), "");
}

}  // namespace
}  // namespace softmax_dispatch::testing
