#include "dispatch/device_choice.hpp"

#include <gmock/gmock.h>

#include <cstdlib>

#include "unit/dispatch/fixture.hpp"

namespace softmax_dispatch::testing {
namespace {

using runtime::DecisionSource;
using runtime::DeviceChoice;
using runtime::parse_device;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// With SOFTMAX_DISPATCH_DEVICE as it says, and not set afterwards.
class DeviceChoiceTest : public ::testing::Test {
 protected:
  DeviceChoiceTest() { ::unsetenv("SOFTMAX_DISPATCH_DEVICE"); }
  ~DeviceChoiceTest() override { ::unsetenv("SOFTMAX_DISPATCH_DEVICE"); }
  static void set_environment(const char* value) { ::setenv("SOFTMAX_DISPATCH_DEVICE", value, 1); }

  static runtime::Backend& backend_of(const std::string& device, const std::string& table = "") {
    const DispatcherOptions options{table, "", device};
    return runtime::backend_for(options, DecisionSource(options));
  }
  /// "sm_75"; "hardware" for the backend of the driver, which is not asked anything.
  static std::string arch_of(const std::string& device, const std::string& table = "") {
    runtime::Backend& backend = backend_of(device, table);
    if (&backend == &runtime::cuda_backend()) return "hardware";
    const DeviceInfo& info = backend.device(backend.current_device()).info();
    EXPECT_TRUE(info.simulated);
    return info.arch;
  }
};

TEST_F(DeviceChoiceTest, Texts) {
  EXPECT_EQ(parse_device("cuda", "d"), (DeviceChoice{false, ""}));
  EXPECT_EQ(parse_device("sim", "d"), (DeviceChoice{true, ""}));
  EXPECT_EQ(parse_device("sim:sm_90", "d"), (DeviceChoice{true, "sm_90"}));
  for (const char* text : {"gpu", "SIM", "cuda:0", "sim ", "sim sm_75", "simulated", "sm_75"}) {
    EXPECT_THAT(error_of(StatusCode::invalid_argument, [&] { parse_device(text, "the setting"); }),
                AllOf(HasSubstr(std::string("the setting is '") + text + "'"), HasSubstr("sim:ARCH"),
                      HasSubstr("leave it out")));
  }
  for (const char* text : {"sim:", "sim:sm_70", "sim:75"}) {
    EXPECT_THAT(error_of(StatusCode::no_device, [&] { parse_device(text, "the setting"); }),
                AllOf(HasSubstr(std::string("the setting is '") + text + "'"), HasSubstr("sm_75")));
  }
}

TEST_F(DeviceChoiceTest, OptionsComeBeforeTheEnvironment) {
  EXPECT_EQ(arch_of(""), "hardware");
  set_environment("");
  EXPECT_EQ(arch_of(""), "hardware");
  set_environment("cuda");
  EXPECT_EQ(arch_of(""), "hardware");
  EXPECT_EQ(arch_of("sim"), "sm_75");
  set_environment("sim:sm_90");
  EXPECT_EQ(arch_of(""), "sm_90");
  EXPECT_EQ(arch_of("sim:sm_75"), "sm_75");
  EXPECT_EQ(arch_of("cuda"), "hardware");
  set_environment("nonsense");
  EXPECT_EQ(arch_of("cuda"), "hardware");
}

TEST_F(DeviceChoiceTest, ArchitectureIsThatOfTheTable) {
  const TableFile hopper(make_table(three_thresholds(), "sm_90"));
  EXPECT_EQ(arch_of("sim", hopper.path()), "sm_90");
  EXPECT_EQ(arch_of("sim:sm_90", hopper.path()), "sm_90");
  EXPECT_THAT(error_of(StatusCode::bad_table, [&] { backend_of("sim:sm_75", hopper.path()); }),
              AllOf(HasSubstr(hopper.path()), HasSubstr("is for sm_90"), HasSubstr("softmax-tune --arch sm_75")));
  const TableFile blackwell(make_table(three_thresholds(), "sm_120"));
  EXPECT_THAT(error_of(StatusCode::no_device, [&] { backend_of("sim", blackwell.path()); }),
              AllOf(HasSubstr(blackwell.path()), HasSubstr("sm_120"), HasSubstr("sm_75")));
  EXPECT_EQ(arch_of("cuda", blackwell.path()), "hardware");
}

TEST_F(DeviceChoiceTest, OneBackendServesAnArchitecture) {
  EXPECT_EQ(&backend_of("sim"), &backend_of("sim:sm_75"));
  EXPECT_NE(&backend_of("sim"), &backend_of("sim:sm_90"));
}

TEST_F(DeviceChoiceTest, CreateReportsWhatIsWrong) {
  Dispatcher dispatcher;
  Status status = Dispatcher::create({"", "", "gpu"}, dispatcher);
  EXPECT_EQ(status.code(), StatusCode::invalid_argument);
  EXPECT_THAT(status.message(), HasSubstr("DispatcherOptions::device is 'gpu'"));
  set_environment("sim:sm_70");
  status = Dispatcher::create({}, dispatcher);
  EXPECT_EQ(status.code(), StatusCode::no_device);
  EXPECT_THAT(status.message(), HasSubstr("SOFTMAX_DISPATCH_DEVICE is 'sim:sm_70'"));
  EXPECT_EQ(dispatcher.dispatch(nullptr, nullptr, 0, 0).code(), StatusCode::bad_table) << "left as it was";
}

}  // namespace
}  // namespace softmax_dispatch::testing
