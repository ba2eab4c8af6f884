#include <gtest/gtest.h>
#include <softmax_dispatch/c_api.h>

#include <softmax_dispatch/softmax_dispatch.hpp>
#include <string>
#include <thread>

namespace softmax_dispatch::testing {
namespace {

TEST(CApi, NumbersAreThoseOfTheCppInterface) {
  EXPECT_EQ(SMD_OK, static_cast<int>(StatusCode::ok));
  EXPECT_EQ(SMD_INVALID_ARGUMENT, static_cast<int>(StatusCode::invalid_argument));
  EXPECT_EQ(SMD_UNSUPPORTED, static_cast<int>(StatusCode::unsupported));
  EXPECT_EQ(SMD_NO_DEVICE, static_cast<int>(StatusCode::no_device));
  EXPECT_EQ(SMD_TOOLCHAIN, static_cast<int>(StatusCode::toolchain));
  EXPECT_EQ(SMD_BAD_TABLE, static_cast<int>(StatusCode::bad_table));
  EXPECT_EQ(SMD_IO, static_cast<int>(StatusCode::io));
  EXPECT_EQ(SMD_NOT_WARMED, static_cast<int>(StatusCode::not_warmed));
  EXPECT_EQ(SMD_DEVICE, static_cast<int>(StatusCode::device));
  EXPECT_EQ(SMD_VERIFICATION_FAILED, static_cast<int>(StatusCode::verification_failed));
  EXPECT_EQ(SMD_INTERNAL, static_cast<int>(StatusCode::internal));
  EXPECT_EQ(SMD_F32, static_cast<int>(DType::f32));
  EXPECT_EQ(SMD_F16, static_cast<int>(DType::f16));
  EXPECT_EQ(SMD_BF16, static_cast<int>(DType::bf16));
  EXPECT_STREQ(smd_version(), SOFTMAX_DISPATCH_VERSION);
}

TEST(CApi, TypesAndSizesAreChecked) {
  EXPECT_EQ(smd_dispatch(nullptr, nullptr, 0, 8, SMD_F32, nullptr), SMD_OK);
  EXPECT_EQ(smd_dispatch(nullptr, nullptr, 4, 8, SMD_F32, nullptr), SMD_INVALID_ARGUMENT);
  for (const smd_dtype dtype : {SMD_F16, SMD_BF16}) {
    EXPECT_EQ(smd_dispatch(nullptr, nullptr, 0, 8, dtype, nullptr), SMD_OK);
    EXPECT_EQ(smd_dispatch(nullptr, nullptr, 4, 8, dtype, nullptr), SMD_INVALID_ARGUMENT);
    EXPECT_EQ(smd_prewarm(0, 8, dtype), SMD_OK);
  }
  EXPECT_EQ(smd_dispatch(nullptr, nullptr, 4, 8, 3, nullptr), SMD_INVALID_ARGUMENT);
  EXPECT_EQ(smd_prewarm(0, 8, SMD_F32), SMD_OK);
  EXPECT_EQ(smd_prewarm(-1, 8, SMD_F32), SMD_INVALID_ARGUMENT);
  EXPECT_EQ(smd_prewarm(4, 8, -1), SMD_INVALID_ARGUMENT);
}

TEST(CApi, LastErrorBelongsToTheThreadAndOutlivesSuccess) {
  std::thread([] {
    EXPECT_STREQ(smd_last_error(), "");
    EXPECT_EQ(smd_dispatch(nullptr, nullptr, -4, 8, SMD_F32, nullptr), SMD_INVALID_ARGUMENT);
    const std::string message = smd_last_error();
    EXPECT_NE(message.find("M is -4"), std::string::npos) << message;
    EXPECT_EQ(smd_dispatch(nullptr, nullptr, 0, 0, SMD_F32, nullptr), SMD_OK);
    EXPECT_EQ(smd_last_error(), message);
    std::thread([] { EXPECT_STREQ(smd_last_error(), ""); }).join();
  }).join();
}

}  // namespace
}  // namespace softmax_dispatch::testing
