#include "device/cuda/driver.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/expect_error.hpp"
#include "unit/device/fake_driver/fixture.hpp"

namespace softmax_dispatch::cuda {
namespace {

using softmax_dispatch::testing::error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;

class DriverTest : public FakeDriverTest {
 protected:
  static std::string failure(const std::string& library = SOFTMAX_DISPATCH_FAKE_DRIVER) {
    return error_of(StatusCode::no_device, [&] { load_driver(library); });
  }
};

TEST_F(DriverTest, IsNotThere) {
  EXPECT_THAT(
      failure("libcuda_that_is_not_there.so.1"),
      AllOf(HasSubstr("no NVIDIA driver"), HasSubstr("libcuda_that_is_not_there.so.1"), HasSubstr("No such file"),
            HasSubstr("install NVIDIA driver 525 or newer"), HasSubstr("--gpus all")));
}

TEST_F(DriverTest, IsAnotherLibrary) {
  EXPECT_THAT(failure("libm.so.6"), AllOf(HasSubstr("libm.so.6"), HasSubstr("is not the NVIDIA driver's library")));
}

TEST_F(DriverTest, IsTooOld) {
  state().version = 11080;
  EXPECT_THAT(failure(), AllOf(HasSubstr("of CUDA 11.8"), HasSubstr("12.0 is the oldest"), HasSubstr("525 or newer")));
}

TEST_F(DriverTest, LacksAFunction) {
  state().missing = "cuLibraryLoadData";
  EXPECT_THAT(failure(), HasSubstr("has no cuLibraryLoadData of CUDA 12.0"));
}

TEST_F(DriverTest, FindsNoGpu) {
  state().version = 12040;
  state().init_result = CUDA_ERROR_NO_DEVICE;
  EXPECT_THAT(failure(), AllOf(HasSubstr("(CUDA 12.4) finds no GPU"), HasSubstr("CUDA_ERROR_OF_THE_FAKE (100)"),
                               HasSubstr("nvidia-smi"), HasSubstr("CUDA_VISIBLE_DEVICES")));
}

TEST_F(DriverTest, DoesNotStart) {
  state().init_result = CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
  EXPECT_THAT(failure(), AllOf(HasSubstr("(CUDA 13.0) does not start"), HasSubstr("(803), a description"),
                               HasSubstr("restarted")));
}

TEST_F(DriverTest, Loads) {
  EXPECT_EQ(load_driver(SOFTMAX_DISPATCH_FAKE_DRIVER).version, 13000);
  EXPECT_EQ(&driver(), &driver());
}

TEST_F(DriverTest, FailuresSayWhatWasDone) {
  EXPECT_NO_THROW(check(CUDA_SUCCESS, "do {}", "nothing"));
  EXPECT_EQ(error_of(StatusCode::device, [] { check(CUDA_ERROR_OUT_OF_MEMORY, "allocate {} bytes", 12); }),
            "cannot allocate 12 bytes: CUDA_ERROR_OF_THE_FAKE (2), a description");
  EXPECT_THAT(error_of(StatusCode::device, [] { check(CUDA_ERROR_MISALIGNED_ADDRESS, "wait"); }),
              AllOf(HasSubstr("cannot wait"), HasSubstr("every later call in this process fails too")));
}

}  // namespace
}  // namespace softmax_dispatch::cuda
