#include <gmock/gmock.h>

#include "unit/dispatch/fixture.hpp"

namespace softmax_dispatch::testing {
namespace {

using ::testing::HasSubstr;

class Capture : public ::testing::Test {
 protected:
  Capture() { backend_.capturing.insert(capturing_stream()); }
  std::string message_of_cold_call(std::int64_t N) {
    return error_of(StatusCode::not_warmed, [&] { Matrices(8, N).dispatch(*dispatcher_, capturing_stream()); });
  }

  FakeBackend backend_;
  std::unique_ptr<Dispatcher::Impl> dispatcher_ = make_dispatcher(backend_, make_table(three_thresholds()));
};

TEST_F(Capture, ColdCallDoesNoWorkAndSaysWhatToDo) {
  const std::string message = message_of_cold_call(64);
  EXPECT_THAT(message, HasSubstr("f32:8x64"));
  EXPECT_THAT(message, HasSubstr("prewarm()"));
  EXPECT_EQ(backend_.compiles, 0);
  EXPECT_EQ(backend_.cold_runs, 0);
  EXPECT_EQ(backend_.launches(), 0);
}

TEST_F(Capture, WarmCallIsLaunched) {
  Matrices matrices(8, 64);
  matrices.dispatch(*dispatcher_);
  matrices.dispatch(*dispatcher_, capturing_stream());
  EXPECT_EQ(backend_.launches(), 2);
  EXPECT_EQ(backend_.compiles, 1);
}

TEST_F(Capture, PrewarmedCallIsLaunched) {
  dispatcher_->prewarm(std::vector<Problem>{{DType::f32, 8, 64}});
  EXPECT_EQ(backend_.launches(), 0);
  Matrices(8, 64).dispatch(*dispatcher_, capturing_stream());
  EXPECT_EQ(backend_.launches(), 1);
}

TEST_F(Capture, ColdKernelGivesWayToAWarmOneThatServesTheShape) {
  std::string launched;
  for (const char* id : {"v10", "v7", "unbounded"}) {
    backend_.named(0).define(id, [&launched, id](const Launch&) { launched = id; });
  }
  Matrices(8, 1000).dispatch(*dispatcher_);
  ASSERT_EQ(launched, "v7");
  launched.clear();
  Matrices(8, 64).dispatch(*dispatcher_, capturing_stream());
  EXPECT_EQ(launched, "v7") << "v10 is cold";
  message_of_cold_call(5000);
  EXPECT_EQ(backend_.compiles, 1) << "v7 does not serve rows of 5000, and nothing may be compiled";
}

TEST_F(Capture, OtherDeviceIsColdForItself) {
  FakeBackend two({"sm_90", "sm_90"});
  two.capturing.insert(capturing_stream());
  const auto dispatcher = make_dispatcher(two, make_table(three_thresholds()));
  Matrices matrices(8, 64);
  matrices.dispatch(*dispatcher);
  FakeBackend::current = 1;
  error_of(StatusCode::not_warmed, [&] { matrices.dispatch(*dispatcher, capturing_stream()); });
  FakeBackend::current = 0;
  EXPECT_NO_THROW(matrices.dispatch(*dispatcher, capturing_stream()));
}

}  // namespace
}  // namespace softmax_dispatch::testing
