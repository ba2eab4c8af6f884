// The suite on kernels of 16-bit types. What it shares with f32 is tested in run_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "support/elements.hpp"
#include "support/fake_device.hpp"
#include "variants/row_kernel.hpp"
#include "verify/verify.hpp"

namespace softmax_dispatch::verify {
namespace {

using testing::HasSubstr;

const RowKernel& variant() {
  static const RowKernel typed({
      .id = "typed",
      .summary = "every type",
      .needs = "N <= V * VEC_ITEMS * THREADS + V - 1",
      .dtypes = {DType::f32, DType::f16, DType::bf16},
      .scans = 1,
      .owner = RowOwner::block,
      .capacity = Capacity::vectors,
      .capacity_most = 1,
      .accurate_elements_per_thread = kUnbounded,
  });
  return typed;
}

class Run16 : public testing::TestWithParam<DType> {
 protected:
  static Outcome outcome(const FakeKernelFunction& function, Depth depth = Depth::full) {
    FakeDevice device;
    const auto kernel = FakeDevice::kernel(function);
    return run(device, variant(), GetParam(), {{"THREADS", 32}, {"VEC_ITEMS", 1}}, *kernel, depth);
  }
  /// A kernel that is right but for what `after` does to its output.
  static FakeKernelFunction right_then(std::function<void(const Launch&)> after) {
    return [right = fake_softmax_of(GetParam()), after = std::move(after)](const Launch& launch) {
      right(launch);
      after(launch);
    };
  }
  static std::uint16_t* elements(DevicePtr pointer) { return reinterpret_cast<std::uint16_t*>(host_pointer(pointer)); }
  static FakeKernelFunction adding(int units) {
    return right_then([units](const Launch& launch) {
      for (std::int64_t i = 0; i < launch.M * launch.N; ++i) {
        std::uint16_t& bits = elements(launch.y)[i];
        if (!is_nan(GetParam(), bits)) bits = static_cast<std::uint16_t>(bits + units);
      }
    });
  }
  static void expect_failure(const Outcome& outcome, const std::string& reason) {
    EXPECT_FALSE(outcome.passed);
    EXPECT_THAT(outcome.reason, HasSubstr(reason));
  }
};

TEST_P(Run16, PassesARightKernel) {
  for (const Depth depth : {Depth::full, Depth::brief}) {
    const Outcome right = outcome(fake_softmax_of(GetParam()), depth);
    EXPECT_TRUE(right.passed) << right.reason;
    EXPECT_EQ(right.N_to, 8 * 32 + 7);
    EXPECT_EQ(right.worst_error, 0);
  }
}

TEST_P(Run16, PassesOneUnitAndFailsTwo) {
  const Outcome one = outcome(adding(1));
  EXPECT_TRUE(one.passed) << one.reason;
  EXPECT_EQ(one.worst_error, 1);
  expect_failure(outcome(adding(2)), "within 1 unit in the last place of " + std::string(to_string(GetParam())));
}

TEST_P(Run16, NothingOrZerosWritten) {
  expect_failure(outcome([](const Launch&) {}), "column 0 was not written");
  const auto zeros = [](const Launch& launch) {
    std::fill_n(elements(launch.y), launch.M * launch.N, std::uint16_t{0});
  };
  expect_failure(outcome(zeros), "got 0, expected 1");
}

TEST_P(Run16, AHalfOfAWordNotWritten) {
  const auto odd_tail = [](const Launch& launch) {
    if (launch.N % 2 == 1 && launch.x != launch.y) elements(launch.y)[launch.N - 1] = 0xffff;
  };
  expect_failure(outcome(right_then(odd_tail)), "was not written");
}

TEST_P(Run16, WritesBesideTheMatrices) {
  const auto past_end = [](const Launch& launch) { elements(launch.y)[launch.M * launch.N] = 0; };
  expect_failure(outcome(right_then(past_end)), "wrote 0 bytes past the end of the output");
  const auto before = [](const Launch& launch) { elements(launch.y)[-1] = 0; };
  expect_failure(outcome(right_then(before)), "wrote 2 bytes before the start of the output");
  const auto input = [](const Launch& launch) {
    if (launch.x != launch.y) elements(launch.x)[launch.N - 1] ^= 1;
  };
  expect_failure(outcome(right_then(input)), "changed its input at element 0");
}

TEST_P(Run16, WrongOnlyAtOneOfEightAlignments) {
  const auto offset = [](DevicePtr pointer) { return pointer % 16 / 2; };
  const auto wrong_where = [](auto condition) {
    return right_then([=](const Launch& launch) {
      // Long rows of whole vectors: with the base aligned, every row is.
      if (launch.N % 8 == 0 && launch.N > 64 && condition(launch)) elements(launch.y)[0] = 0x4000;
    });
  };
  for (const DevicePtr distance : {1u, 2u, 3u, 4u, 5u, 6u, 7u}) {
    const std::string bytes = std::to_string(2 * distance) + " bytes";
    expect_failure(outcome(wrong_where([=](const Launch& launch) {
                     return launch.x != launch.y && offset(launch.x) == distance && offset(launch.y) == distance;
                   })),
                   "x + " + bytes + ", y + " + bytes);
  }
  const auto differ = [=](const Launch& launch) { return offset(launch.x) != offset(launch.y); };
  expect_failure(outcome(wrong_where(differ)), "x + 0 bytes, y + 4 bytes");
  const auto half_vector = [=](const Launch& launch) { return offset(launch.x) == 4 && offset(launch.y) == 0; };
  expect_failure(outcome(wrong_where(half_vector)), "x + 8 bytes, y + 0 bytes");
  const auto odd = [=](const Launch& launch) {
    return offset(launch.x) != offset(launch.y) && offset(launch.y) % 2 == 1;
  };
  expect_failure(outcome(wrong_where(odd)), "x + 4 bytes, y + 6 bytes");
  const auto in_place = [=](const Launch& launch) { return launch.x == launch.y && offset(launch.x) == 3; };
  expect_failure(outcome(wrong_where(in_place)), "in place + 6 bytes");
}

TEST_P(Run16, WrongOnlyForOneRemainderOfN) {
  for (const std::int64_t remainder : {0, 1, 2, 3, 4, 5, 6, 7}) {
    const auto wrong = [=](const Launch& launch) {
      if (launch.N > 64 && launch.N % 8 == remainder) elements(launch.y)[launch.N - 1] = 0x4000;
    };
    expect_failure(outcome(right_then(wrong)), "got 2, expected");
  }
}

TEST_P(Run16, OtherBitsInASecondRun) {
  const auto flicker = [run = 0](const Launch& launch) mutable {
    if (++run % 2 == 0 && elements(launch.y)[0] > 0 && !is_nan(GetParam(), elements(launch.y)[0]))
      --elements(launch.y)[0];
  };
  expect_failure(outcome(right_then(flicker)), "other bits in a second run");
}

TEST_P(Run16, InputsAreFiniteButForInfinities) {
  // Rows of the largest value have a result; where a large finite input became infinite they would have none.
  bool saw_largest = false, saw_infinity = false;
  const Outcome right = outcome(right_then([&](const Launch& launch) {
    if (launch.x == launch.y) return;
    for (std::int64_t i = 0; i < launch.M * launch.N; ++i) {
      const float x = value_of(GetParam(), elements(launch.x)[i]);
      saw_infinity |= std::isinf(x);
      saw_largest |= x == largest(GetParam()) && !is_nan(GetParam(), elements(launch.y)[i]);
    }
  }));
  EXPECT_TRUE(right.passed) << right.reason;
  EXPECT_TRUE(saw_largest);
  EXPECT_TRUE(saw_infinity);
}

INSTANTIATE_TEST_SUITE_P(Types, Run16, testing::Values(DType::f16, DType::bf16),
                         [](const auto& dtype) { return to_string(dtype.param); });

}  // namespace
}  // namespace softmax_dispatch::verify
