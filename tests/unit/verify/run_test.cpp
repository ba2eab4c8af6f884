#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "support/config.hpp"
#include "support/fake_device.hpp"
#include "variants/registry.hpp"
#include "variants/row_kernel.hpp"
#include "verify/inputs.hpp"
#include "verify/verify.hpp"

namespace softmax_dispatch::verify {
namespace {

using testing::AllOf;
using testing::HasSubstr;

struct Verified {
  Outcome outcome;
  std::string last_case;
};

Verified verified(const std::string& config_text, const FakeKernelFunction& function, Depth depth = Depth::full) {
  const Config config = parse_config(config_text);
  FakeDevice device;
  Verified result;
  const auto kernel = FakeDevice::kernel(function);
  result.outcome = run(device, registry().at(config.variant), config.dtype, config.constants, *kernel, depth,
                       [&](const std::string& text) { result.last_case = text; });
  EXPECT_EQ(device.live_allocations(), 0u);
  EXPECT_EQ(result.outcome.cases, device.launches());
  return result;
}

/// A kernel that is right but for what `after` does to its output.
FakeKernelFunction right_then(std::function<void(const Launch&)> after) {
  return [after = std::move(after)](const Launch& launch) {
    fake_softmax(launch);
    after(launch);
  };
}

float* output(const Launch& launch) {
  return host_pointer(launch.y);
}
float* row_of(const Launch& launch, std::int64_t row) {
  return output(launch) + row * launch.N;
}

constexpr const char* kBlockKernel = "v7 THREADS=32 VEC_ITEMS=1";
constexpr const char* kWarpKernel = "v10 THREADS=128 VEC_ITEMS=1";
constexpr const char* kGridKernel = "v9 GRID=100 THREADS=32 VEC_ITEMS=1";

void expect_failure(const Verified& result, const testing::Matcher<std::string>& reason) {
  EXPECT_FALSE(result.outcome.passed);
  EXPECT_THAT(result.outcome.reason, reason);
  EXPECT_THAT(result.outcome.reason, HasSubstr(result.last_case)) << "the case is told before it is launched";
}

TEST(Run, PassesARightKernelOfEveryOwnership) {
  for (const char* config : {kBlockKernel, kWarpKernel, kGridKernel}) {
    const Outcome outcome = verified(config, fake_softmax).outcome;
    EXPECT_TRUE(outcome.passed) << config << ": " << outcome.reason;
    EXPECT_EQ(outcome.N_to, 131) << config;
    EXPECT_GT(outcome.cases, 200) << config;
    EXPECT_GT(outcome.worst_error, 0) << config;
    EXPECT_LT(outcome.worst_error, 0.05) << config;
  }
}

TEST(Run, BriefPassesARightKernelWithFewerCases) {
  const Outcome brief = verified(kBlockKernel, fake_softmax, Depth::brief).outcome;
  EXPECT_TRUE(brief.passed) << brief.reason;
  EXPECT_LT(brief.cases, verified(kBlockKernel, fake_softmax).outcome.cases);
}

TEST(Run, ReportsNoLimitForAKernelWithoutOne) {
  const Outcome outcome = verified("unbounded THREADS=256", fake_softmax, Depth::brief).outcome;
  EXPECT_TRUE(outcome.passed) << outcome.reason;
  EXPECT_EQ(outcome.N_to, kUnbounded);
}

TEST(Run, LastRowSkipped) {
  for (const char* config : {kBlockKernel, kWarpKernel, kGridKernel}) {
    const Verified result = verified(config, [](Launch launch) {
      launch.M -= 1;
      fake_softmax(launch);
    });
    expect_failure(result, HasSubstr("column 0 was not written"));
  }
}

TEST(Run, RowsAfterTheFirstRoundOfTheGridSkipped) {
  const Verified result = verified(kGridKernel, [](Launch launch) {
    launch.M = std::min(launch.M, launch.geometry.grid);
    fake_softmax(launch);
  });
  expect_failure(result, AllOf(HasSubstr("f32:101x"), HasSubstr("row 100"), HasSubstr("was not written")));
}

TEST(Run, NothingWritten) {
  expect_failure(verified(kBlockKernel, [](const Launch&) {}), HasSubstr("was not written"));
}

TEST(Run, RowsThatBecomeNaNNotWritten) {
  // What was in the buffer before is NaN, as the result must be.
  const Verified result = verified(kBlockKernel, [](const Launch& launch) {
    for (std::int64_t row = 0; row < launch.M; ++row) {
      Launch one = launch;
      one.M = 1;
      one.x += static_cast<DevicePtr>(row * launch.N) * sizeof(float);
      one.y += static_cast<DevicePtr>(row * launch.N) * sizeof(float);
      float sum = 0;
      for (std::int64_t i = 0; i < launch.N; ++i) sum += host_pointer(one.x)[i] * 1e-30f;
      if (!std::isnan(sum)) fake_softmax(one);
    }
  });
  expect_failure(result, AllOf(HasSubstr("(NaN"), HasSubstr("was not written")));
}

TEST(Run, WritesPastTheEnd) {
  const auto past = [](std::int64_t distance) {
    return right_then([=](const Launch& launch) { output(launch)[launch.M * launch.N + distance] = 0; });
  };
  expect_failure(verified(kBlockKernel, past(0)), HasSubstr("wrote 0 bytes past the end of the output"));
  expect_failure(verified(kBlockKernel, past(4095)), HasSubstr("wrote 16380 bytes past the end of the output"));
}

TEST(Run, WritesBeforeTheStart) {
  const Verified result = verified(kBlockKernel, right_then([](const Launch& launch) { output(launch)[-1] = 0; }));
  expect_failure(result, HasSubstr("wrote 4 bytes before the start of the output"));
}

TEST(Run, WritesAroundTheInput) {
  const auto at_input = [](bool end) {
    return right_then([=](const Launch& launch) {
      if (launch.x != launch.y) host_pointer(launch.x)[end ? launch.M * launch.N : -1] = 1;
    });
  };
  expect_failure(verified(kBlockKernel, at_input(true)), HasSubstr("wrote 0 bytes past the end of the input"));
  expect_failure(verified(kBlockKernel, at_input(false)), HasSubstr("wrote 4 bytes before the start of the input"));
}

TEST(Run, ChangesItsInput) {
  const Verified result = verified(kBlockKernel, right_then([](const Launch& launch) {
                                     if (launch.x != launch.y) host_pointer(launch.x)[0] += 1;
                                   }));
  expect_failure(result, HasSubstr("changed its input at element 0"));
}

TEST(Run, Zeros) {
  const Verified result =
      verified(kBlockKernel, [](const Launch& launch) { std::fill_n(output(launch), launch.M * launch.N, 0.0f); });
  expect_failure(result, HasSubstr("got 0, expected 1 within"));
}

TEST(Run, RelativeErrorOfOneInAThousandEverywhere) {
  const Verified result = verified(kBlockKernel, right_then([](const Launch& launch) {
                                     for (std::int64_t i = 0; i < launch.M * launch.N; ++i) output(launch)[i] *= 1.001f;
                                   }));
  expect_failure(result, HasSubstr("expected 1 within"));
  EXPECT_GT(result.outcome.worst_error, 200);
}

TEST(Run, RelativeErrorInOneElement) {
  const Verified result = verified(kBlockKernel, right_then([](const Launch& launch) {
                                     if (launch.N > 100) row_of(launch, launch.M - 1)[launch.N - 2] *= 1.001f;
                                   }));
  expect_failure(result, HasSubstr("column"));
}

TEST(Run, WrongOnlyForOneRemainderOfN) {
  for (const std::int64_t remainder : {0, 1, 2, 3}) {
    const Verified result = verified(kBlockKernel, right_then([=](const Launch& launch) {
                                       if (launch.N > 64 && launch.N % 4 == remainder) output(launch)[launch.N - 1] = 2;
                                     }));
    expect_failure(result, HasSubstr("got 2, expected"));
  }
}

TEST(Run, WrongOnlyAtItsCapacity) {
  const Verified result = verified(kBlockKernel, right_then([](const Launch& launch) {
                                     if (launch.N == 131) output(launch)[0] = 2;
                                   }));
  expect_failure(result, HasSubstr("x131, aligned"));
}

TEST(Run, WrongOnlyForASingleRow) {
  const Verified result = verified(kBlockKernel, right_then([](const Launch& launch) {
                                     if (launch.M == 1) output(launch)[0] = 2;
                                   }));
  expect_failure(result, HasSubstr("f32:1x1, aligned"));
}

TEST(Run, WrongOnlyBeyond65535Rows) {
  const Verified result = verified(kBlockKernel, right_then([](const Launch& launch) {
                                     if (launch.M > 65535) row_of(launch, 65535)[0] = 2;
                                   }));
  expect_failure(result, HasSubstr("row 65535 "));
}

TEST(Run, WrongOnlyWhereARowIsMisaligned) {
  const auto offset = [](DevicePtr pointer) { return pointer % 16 / 4; };
  const auto wrong_where = [](auto condition) {
    return right_then([=](const Launch& launch) {
      // Long rows of whole vectors: with the base aligned, every row is.
      if (launch.N % 4 == 0 && launch.N > 64 && condition(launch)) output(launch)[0] = 2;
    });
  };
  for (const DevicePtr distance : {1u, 2u, 3u}) {
    const Verified result =
        verified(kBlockKernel, wrong_where([=](const Launch& launch) {
                   return launch.x != launch.y && offset(launch.x) == distance && offset(launch.y) == distance;
                 }));
    const std::string bytes = std::to_string(4 * distance);
    expect_failure(result, HasSubstr("x + " + bytes + " bytes, y + " + bytes + " bytes: row 0"));
  }
  const auto x_alone = wrong_where([=](const Launch& launch) { return offset(launch.x) && !offset(launch.y); });
  expect_failure(verified(kBlockKernel, x_alone), HasSubstr("bytes, y + 0 bytes: row 0"));
  const auto y_alone = wrong_where([=](const Launch& launch) { return !offset(launch.x) && offset(launch.y); });
  expect_failure(verified(kBlockKernel, y_alone), HasSubstr("x + 0 bytes, y + "));
  const auto both_differ = wrong_where([=](const Launch& launch) {
    return offset(launch.x) && offset(launch.y) && offset(launch.x) != offset(launch.y);
  });
  expect_failure(verified(kBlockKernel, both_differ), HasSubstr("x + 8 bytes, y + 12 bytes: row 0"));
}

TEST(Run, WrongOnlyInPlace) {
  const auto wrong = [](DevicePtr offset) {
    return right_then([=](const Launch& launch) {
      if (launch.x == launch.y && launch.x % 16 == offset && launch.N > 1) output(launch)[launch.N - 1] = 2;
    });
  };
  expect_failure(verified(kBlockKernel, wrong(0)), HasSubstr("in place: row"));
  expect_failure(verified(kBlockKernel, wrong(12)), HasSubstr("in place + 12 bytes: row"));
}

TEST(Run, OtherBitsInASecondRun) {
  const Verified result = verified(kBlockKernel, right_then([run = 0](const Launch& launch) mutable {
                                     float& element = output(launch)[0];
                                     if (++run % 2 == 0) element = std::nextafter(element, 0.0f);
                                   }));
  expect_failure(result, HasSubstr("other bits in a second run"));
}

/// A kernel whose launches want a workspace.
class WithWorkspace : public RowKernel {
 public:
  using RowKernel::RowKernel;
  Geometry geometry(const Problem& problem, const Constants& constants) const override {
    Geometry shape = RowKernel::geometry(problem, constants);
    shape.workspace_bytes = 256;
    return shape;
  }
};

TEST(Run, LaunchesFindInTheWorkspaceWhatTheOneBeforeLeft) {
  const WithWorkspace variant({.id = "waits",
                               .summary = "",
                               .needs = "",
                               .capacity = Capacity::items,
                               .accurate_elements_per_thread = kUnbounded});
  FakeDevice device;
  const auto run_with = [&](const FakeKernelFunction& function) {
    const auto kernel = FakeDevice::kernel(function);
    return run(device, variant, DType::f32, {{"ITEMS", 1}, {"THREADS", 32}}, *kernel, Depth::brief);
  };
  std::int64_t launches = 0;
  const Outcome counted = run_with(right_then([&](const Launch& launch) {
    ASSERT_NE(launch.workspace, 0u);
    EXPECT_EQ(launch.workspace % 256, 0u);
    std::int64_t& epoch = *reinterpret_cast<std::int64_t*>(host_pointer(launch.workspace));
    EXPECT_EQ(epoch++, launches++);
  }));
  EXPECT_TRUE(counted.passed) << counted.reason;
  EXPECT_EQ(launches, counted.cases);
  // Right on a fresh workspace alone.
  const Outcome first_only = run_with([](const Launch& launch) {
    std::int64_t& used = *reinterpret_cast<std::int64_t*>(host_pointer(launch.workspace));
    if (used++ == 0) fake_softmax(launch);
  });
  EXPECT_FALSE(first_only.passed);
  EXPECT_EQ(first_only.cases, 2);
}

TEST(Run, SpecialValuesIgnored) {
  // fmax() drops NaN, and a state that starts at -FLT_MAX turns +inf into a finite row.
  const auto cleaned = [](float from, float to) {
    return [=](const Launch& launch) {
      std::vector<float> x(host_pointer(launch.x), host_pointer(launch.x) + launch.M * launch.N);
      for (float& element : x) {
        if (element == from || (std::isnan(from) && std::isnan(element))) element = to;
      }
      Launch clean = launch;
      clean.x = reinterpret_cast<std::uintptr_t>(x.data());
      fake_softmax(clean);
    };
  };
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kMax = std::numeric_limits<float>::max();
  expect_failure(verified(kBlockKernel, cleaned(std::nanf(""), 0)), HasSubstr("expected nan"));
  expect_failure(verified(kBlockKernel, cleaned(kInf, kMax)), AllOf(HasSubstr("inf"), HasSubstr("expected nan")));
  expect_failure(verified(kBlockKernel, cleaned(-kInf, -kMax)),
                 AllOf(HasSubstr("all -inf"), HasSubstr("expected nan")));
}

TEST(Run, LeadingInfinitiesPoisonTheState) {
  // (-inf) - (-inf) where a thread's first element is -inf.
  const Verified result = verified(kBlockKernel, right_then([](const Launch& launch) {
                                     for (std::int64_t row = 0; row < launch.M; ++row) {
                                       float* y = row_of(launch, row);
                                       if (y[0] == 0 && launch.N > 1) y[1] = std::nanf("");
                                     }
                                   }));
  expect_failure(result, HasSubstr("got nan"));
}

TEST(Run, RowsMixed) {
  // The sum of the next row: visible because neighbouring rows hold different inputs.
  const Verified result = verified(kWarpKernel, right_then([](const Launch& launch) {
                                     if (launch.M % 4 == 1 && launch.M > 1)
                                       row_of(launch, launch.M - 2)[0] = row_of(launch, launch.M - 1)[0];
                                   }));
  EXPECT_FALSE(result.outcome.passed);
}

TEST(Run, SerialSumTooLong) {
  const Verified result = verified("v8 THREADS=32", [](const Launch& launch) {
    for (std::int64_t row = 0; row < launch.M; ++row) {
      const float* x = host_pointer(launch.x) + row * launch.N;
      float max = -std::numeric_limits<float>::infinity();
      for (std::int64_t i = 0; i < launch.N; ++i) max = std::max(max, x[i]);
      float sum = 0;
      for (std::int64_t i = 0; i < launch.N; ++i) sum += std::exp(x[i] - max);
      float* y = row_of(launch, row);
      for (std::int64_t i = 0; i < launch.N; ++i) y[i] = std::exp(x[i] - max) / sum;
    }
  });
  expect_failure(result, HasSubstr("(peak first, "));
}

TEST(Run, DeviceErrorsGoToTheCaller) {
  const auto faults = right_then([](const Launch& launch) {
    if (launch.N == 33) throw Error(StatusCode::device, "CUDA_ERROR_MISALIGNED_ADDRESS");
  });
  EXPECT_THROW(verified(kBlockKernel, faults), Error);
}

TEST(Run, ConfigurationThatTheDeviceCannotRun) {
  const Verified result = verified("v7 THREADS=2048 VEC_ITEMS=1", fake_softmax);
  EXPECT_FALSE(result.outcome.passed);
  EXPECT_THAT(result.outcome.reason, HasSubstr("supports none of the shapes"));
}

}  // namespace
}  // namespace softmax_dispatch::verify
