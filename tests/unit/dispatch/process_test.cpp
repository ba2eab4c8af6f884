#include <gtest/gtest.h>
#include <softmax_dispatch/c_api.h>

#include <cstdlib>
#include <cstring>
#include <softmax_dispatch/softmax_dispatch.hpp>
#include <thread>

#include "support/files.hpp"

namespace softmax_dispatch::testing {
namespace {

/// 0 where every public function returns an error with these words, whichever thread calls and however often.
int every_call_names(const char* words) {
  const Status first = dispatch(nullptr, nullptr, 0, 0);
  if (first.ok() || !std::strstr(first.message(), words)) return 1;
  for (int i = 0; i < 3; ++i) {
    Status other;
    std::thread([&] { other = dispatch(nullptr, nullptr, 4, 4); }).join();
    if (other.code() != first.code() || std::strcmp(other.message(), first.message()) != 0) return 2;
  }
  const Problem problem{DType::f32, 4, 4};
  if (prewarm(&problem, 1).code() != first.code()) return 3;
  if (smd_dispatch(nullptr, nullptr, 0, 0, SMD_F32, nullptr) != static_cast<int>(first.code())) return 4;
  return std::strcmp(smd_last_error(), first.message()) == 0 ? 0 : 5;
}

// Each case needs a process of its own, in which the process-wide dispatcher does not exist yet.
class ProcessWide : public ::testing::Test {
 protected:
  ProcessWide() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(ProcessWide, TableThatDoesNotExistFailsEveryCall) {
  EXPECT_EXIT(
      {
        ::setenv("SOFTMAX_DISPATCH_TABLE", "/no/such/table.yaml", 1);
        std::exit(every_call_names("/no/such/table.yaml"));
      },
      ::testing::ExitedWithCode(0), "");
}

TEST_F(ProcessWide, TruncatedTableFailsEveryCall) {
  EXPECT_EXIT(
      {
        const TemporaryDirectory folder;
        const std::string path = (folder.path() / "cut.yaml").string();
        write_file_atomically(path, "schema: 1\ndevice: {name: ");
        ::setenv("SOFTMAX_DISPATCH_TABLE", path.c_str(), 1);
        const int code = every_call_names(path.c_str());
        std::exit(code);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST_F(ProcessWide, DeviceThatIsNoneFailsEveryCall) {
  EXPECT_EXIT(
      {
        ::setenv("SOFTMAX_DISPATCH_DEVICE", "gpu", 1);
        std::exit(every_call_names("SOFTMAX_DISPATCH_DEVICE is 'gpu'"));
      },
      ::testing::ExitedWithCode(0), "");
}

/// 0 where smd_select_device() comes before the environment, and is refused once the dispatcher is made.
int selection() {
  ::setenv("SOFTMAX_DISPATCH_DEVICE", "gpu", 1);
  if (smd_select_device(nullptr) != SMD_INVALID_ARGUMENT) return 1;
  if (smd_select_device("gpu") != SMD_INVALID_ARGUMENT || !std::strstr(smd_last_error(), "sim:sm_75")) return 2;
  if (smd_select_device("sim:sm_70") != SMD_NO_DEVICE || !std::strstr(smd_last_error(), "sm_75")) return 3;
  if (smd_select_device("sim") != SMD_OK) return 4;
  if (smd_dispatch(nullptr, nullptr, 0, 0, SMD_F32, nullptr) != SMD_OK) return 5;
  if (smd_select_device("sim") != SMD_INVALID_ARGUMENT) return 6;
  return std::strstr(smd_last_error(), "before the first dispatch") ? 0 : 7;
}

TEST_F(ProcessWide, DeviceIsSelectedBeforeTheFirstCall) {
  EXPECT_EXIT(std::exit(selection()), ::testing::ExitedWithCode(0), "");
}

TEST_F(ProcessWide, EmptySelectionLeavesTheChoiceToTheEnvironment) {
  EXPECT_EXIT(
      {
        ::setenv("SOFTMAX_DISPATCH_DEVICE", "gpu", 1);
        if (smd_select_device("cuda") != SMD_OK || smd_select_device("") != SMD_OK) std::exit(10);
        std::exit(every_call_names("SOFTMAX_DISPATCH_DEVICE is 'gpu'"));
      },
      ::testing::ExitedWithCode(0), "");
}

TEST_F(ProcessWide, WithoutATableIsMadeOnce) {
  EXPECT_EXIT(
      {
        ::unsetenv("SOFTMAX_DISPATCH_TABLE");
        const bool made = dispatch(nullptr, nullptr, 0, 0).ok();
        ::setenv("SOFTMAX_DISPATCH_TABLE", "/no/such/table.yaml", 1);
        std::exit(made && dispatch(nullptr, nullptr, 0, 0).ok() ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace softmax_dispatch::testing
