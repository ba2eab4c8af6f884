#include <gmock/gmock.h>

#include <set>

#include "support/elements.hpp"
#include "unit/dispatch/fixture.hpp"

namespace softmax_dispatch::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// The table of three thresholds with a change to each kernel's record.
table::Table changed(const std::function<void(table::Kernel&)>& change) {
  table::Table table = make_table(three_thresholds());
  for (table::Kernel& kernel : table.kernels) change(kernel);
  return table;
}

int verifications_with(const table::Table& table) {
  FakeBackend backend;
  const auto dispatcher = make_dispatcher(backend, table);
  Matrices(8, 64).dispatch(*dispatcher);
  EXPECT_EQ(backend.launches(), 1);
  return backend.verifications;
}

TEST(Eligibility, RecordForThisCodeOnThisDeviceIsEnough) {
  EXPECT_EQ(verifications_with(make_table(three_thresholds())), 0);
}

TEST(Eligibility, AnyOtherRecordMeansVerifying) {
  EXPECT_EQ(verifications_with(changed([](auto& kernel) { kernel.code_hash = "another toolkit's code"; })), 1);
  EXPECT_EQ(verifications_with(changed([](auto& kernel) { kernel.verification->device = "fake GPU 7"; })), 1);
  EXPECT_EQ(verifications_with(changed([](auto& kernel) { kernel.verification->simulated = true; })), 1);
  EXPECT_EQ(verifications_with(changed([](auto& kernel) { kernel.verification->suite = verify::kSuite - 1; })), 1);
  EXPECT_EQ(verifications_with(changed([](auto& kernel) { kernel.verification.reset(); })), 1);
}

/// 16-bit matrices of 8 rows, and a backend whose kernels compute them.
class Eligibility16 : public ::testing::TestWithParam<DType> {
 protected:
  Eligibility16() {
    for (const Variant* variant : registry().all())
      backend_.named(0).define(std::string(variant->id()), fake_softmax_of(GetParam()));
    backend_.on_verify = [this](const Config& config) {
      verified_.push_back(config);
      return rejected_.contains(config) ? fail("two units off") : pass();
    };
  }

  void dispatch(Dispatcher::Impl& dispatcher, std::int64_t N) {
    std::vector<std::uint16_t> x(static_cast<std::size_t>(8 * N), round_to(GetParam(), 1)), y(x.size());
    dispatcher.dispatch(x.data(), y.data(), {GetParam(), 8, N}, {});
    EXPECT_EQ(y.back(), round_to(GetParam(), 1.0 / static_cast<double>(N)));
  }

  FakeBackend backend_;
  std::vector<Config> verified_;
  std::set<Config> rejected_;
};

TEST_P(Eligibility16, AKernelIsVerifiedForItsTypeAtItsFirstUse) {
  const auto dispatcher = make_dispatcher(backend_, make_table(three_thresholds()));
  for (int i = 0; i < 3; ++i) dispatch(*dispatcher, 64);
  ASSERT_EQ(verified_.size(), 1u);
  EXPECT_EQ(verified_[0], dispatcher->choice({GetParam(), 8, 64}, "sm_90"));
  EXPECT_EQ(verified_[0].dtype, GetParam());
  EXPECT_EQ(backend_.compiles, 1);
}

TEST_P(Eligibility16, WhatFailsForOneTypeIsReplacedForThatTypeAlone) {
  const std::string id(unbounded_variant().id());
  const Config table_kernel{id, {{"THREADS", 512}}, GetParam()}, of_f32{id, {{"THREADS", 512}}};
  table::Table table = make_table({{table::kOpen, to_string(of_f32)}});
  table::Table halves = make_table({{table::kOpen, to_string(table_kernel)}});
  halves.tables[0].dtype = GetParam();
  table.tables.push_back(halves.tables[0]);
  table.kernels.push_back(halves.kernels[0]);
  table.kernels[1].verification.reset();
  rejected_ = {table_kernel};
  const auto dispatcher = make_dispatcher(backend_, table);
  dispatch(*dispatcher, 64);
  ASSERT_EQ(verified_.size(), 2u);
  EXPECT_EQ(verified_[0], table_kernel);
  EXPECT_EQ(verified_[1].dtype, GetParam());
  EXPECT_NE(verified_[1], table_kernel);
  EXPECT_EQ(dispatcher->choice({DType::f32, 8, 64}, "sm_90"), of_f32);
}

TEST_P(Eligibility16, PrewarmedShapesAreWarm) {
  const auto dispatcher = make_dispatcher(backend_, std::string());
  const Problem problems[]{{GetParam(), 8, 64}, {GetParam(), 8, 65}};
  dispatcher->prewarm(problems);
  const int compiles = backend_.compiles, cold = backend_.cold_runs;
  dispatch(*dispatcher, 64);
  dispatch(*dispatcher, 65);
  EXPECT_EQ(backend_.compiles, compiles);
  EXPECT_EQ(backend_.cold_runs, cold);
}

INSTANTIATE_TEST_SUITE_P(Types, Eligibility16, ::testing::Values(DType::f16, DType::bf16),
                         [](const auto& dtype) { return to_string(dtype.param); });

/// The first of two devices of one name has it in hardware, the second simulates it.
class TwoOfOneName : public ::testing::Test {
 protected:
  static constexpr const char* kName = "Tesla T4";

  TwoOfOneName() {
    for (int i = 0; i < 2; ++i) backend_.named(i).mutable_info().name = kName;
    backend_.named(1).mutable_info().simulated = true;
  }
  ~TwoOfOneName() override { FakeBackend::current = 0; }

  /// Verifications of the kernels of a table whose records match in all but perhaps what made them.
  int verifications_on(int device, bool simulated_records) {
    table::Table table = make_table(three_thresholds(), "sm_75");
    table.device.name = kName;
    table.device.simulated = simulated_records;
    for (table::Kernel& kernel : table.kernels) {
      kernel.verification->device = kName;
      kernel.verification->simulated = simulated_records;
    }
    const auto dispatcher = make_dispatcher(backend_, table);
    FakeBackend::current = device;
    const int before = backend_.verifications;
    for (const std::int64_t N : {64, 1000, 5000, 64}) Matrices(8, N).dispatch(*dispatcher);
    return backend_.verifications - before;
  }

  FakeBackend backend_{{"sm_75", "sm_75"}};
};

TEST_F(TwoOfOneName, SimulatedRecordNeverStandsForHardware) {
  EXPECT_EQ(verifications_on(0, true), 3);
  EXPECT_EQ(verifications_on(1, true), 0) << "it does for the simulated device that it was made on";
}

TEST_F(TwoOfOneName, RecordOfHardwareNeverStandsForTheSimulatedDevice) {
  EXPECT_EQ(verifications_on(1, false), 3);
  EXPECT_EQ(verifications_on(0, false), 0);
}

TEST_F(TwoOfOneName, OutcomesOnDiskAreKeptApart) {
  const TemporaryDirectory folder;
  backend_.disk = std::make_shared<jit::Cache>(folder.path());
  EXPECT_EQ(verifications_on(1, false), 3);
  EXPECT_EQ(verifications_on(0, true), 3) << "the simulated device's outcomes passed for the hardware's";
  EXPECT_EQ(verifications_on(0, true), 0);
}

TEST(Eligibility, VerifiesOncePerProcess) {
  FakeBackend backend;
  const auto dispatcher = make_dispatcher(backend, changed([](auto& kernel) { kernel.verification.reset(); }));
  for (int i = 0; i < 3; ++i) Matrices(8, 64).dispatch(*dispatcher);
  EXPECT_EQ(backend.verifications, 1);
}

TEST(Eligibility, FailureMovesToTheNextKernelForGood) {
  FakeBackend backend;
  backend.on_verify = [](const Config& config) {
    return config.variant == "v10" ? fail("f32:1x5, aligned: column 4 was not written") : pass();
  };
  std::string launched;
  for (const char* id : {"v10", "v7"}) {
    backend.named(0).define(id, [&launched, id](const Launch&) { launched = id; });
  }
  const auto dispatcher = make_dispatcher(backend, changed([](auto& kernel) { kernel.verification.reset(); }));
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 3; ++i) Matrices(8, 64).dispatch(*dispatcher);
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(launched, "v7");
  EXPECT_EQ(backend.verifications, 2) << "v10 once and v7 once";
  EXPECT_EQ(backend.cold_runs, 1) << "a rejected first choice does not make later calls cold";
  EXPECT_THAT(log, AllOf(HasSubstr(kShort), HasSubstr("column 4 was not written")));
  EXPECT_EQ(log.find(kShort), log.rfind(kShort)) << "said once:\n" << log;
}

TEST(Eligibility, RunnerUpOfTheThresholdComesFirst) {
  FakeBackend backend;
  backend.on_verify = [](const Config& config) { return config.variant == "v10" ? fail("wrong") : pass(); };
  table::Table table = changed([](auto& kernel) { kernel.verification.reset(); });
  table.tables[0].bands[0].thresholds[0].runner_up = kLong;
  std::string launched;
  backend.named(0).define("unbounded", [&](const Launch&) { launched = "unbounded"; });
  const auto dispatcher = make_dispatcher(backend, table);
  Matrices(8, 64).dispatch(*dispatcher);
  EXPECT_EQ(launched, "unbounded");
}

TEST(Eligibility, KernelInLocalMemoryIsNeverLoaded) {
  FakeBackend backend;
  backend.on_compile = [](jit::CompiledKernel kernel) {
    if (kernel.entry == "v10") kernel.resources.stack_bytes = 64;
    return kernel;
  };
  const auto dispatcher = make_dispatcher(backend, make_table(three_thresholds()));
  ::testing::internal::CaptureStderr();
  Matrices(8, 64).dispatch(*dispatcher);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("local memory"), HasSubstr("64 bytes of stack")));
  EXPECT_EQ(backend.compiles, 2);
  EXPECT_EQ(backend.loads, 1);
}

TEST(Eligibility, UnboundedVariantIsTheLastResortOfATableWithoutIt) {
  FakeBackend backend;
  table::Table table = make_table({{131, kShort}, {table::kOpen, "v5 THREADS=1024"}});
  for (table::Kernel& kernel : table.kernels) kernel.verification.reset();
  const auto dispatcher = make_dispatcher(backend, table);
  std::string launched;
  backend.named(0).define("unbounded", [&](const Launch&) { launched = "unbounded"; });
  // A row beyond what v5 sums accurately, though the table gives it every length.
  Matrices(1, 200000).dispatch(*dispatcher);
  EXPECT_EQ(launched, "unbounded");
}

TEST(Eligibility, ErrorNamesEveryRejectedKernelWhereNothingIsLeft) {
  FakeBackend backend;
  backend.on_verify = [](const Config& config) { return fail("wrong bits from " + config.variant); };
  const auto dispatcher = make_dispatcher(backend, changed([](auto& kernel) { kernel.verification.reset(); }));
  for (int i = 0; i < 2; ++i) {
    const std::string message =
        error_of(StatusCode::verification_failed, [&] { Matrices(8, 64).dispatch(*dispatcher); });
    EXPECT_THAT(message, AllOf(HasSubstr("f32:8x64"), HasSubstr("wrong bits from v10"), HasSubstr("wrong bits from v7"),
                               HasSubstr("wrong bits from unbounded")));
  }
  EXPECT_EQ(backend.launches(), 0);
}

TEST(Eligibility, DeviceErrorDuringVerificationIsReportedAndNotRemembered) {
  FakeBackend backend;
  bool lost = true;
  backend.on_verify = [&](const Config&) {
    if (lost) throw Error(StatusCode::device, "CUDA_ERROR_OUT_OF_MEMORY (2)");
    return pass();
  };
  const auto dispatcher = make_dispatcher(backend, changed([](auto& kernel) { kernel.verification.reset(); }));
  EXPECT_THAT(error_of(StatusCode::device, [&] { Matrices(8, 64).dispatch(*dispatcher); }), HasSubstr("(2)"));
  lost = false;
  EXPECT_NO_THROW(Matrices(8, 64).dispatch(*dispatcher));
}

class OnDisk : public ::testing::Test {
 protected:
  int verifications(
      bool passes, const std::function<void(FakeBackend&)>& change = [](FakeBackend&) {}) {
    FakeBackend backend;
    backend.disk = std::make_shared<jit::Cache>(folder_.path());
    backend.on_verify = [&](const Config& config) {
      return passes || config.variant == "unbounded" ? pass() : fail("wrong");
    };
    change(backend);
    const auto dispatcher = make_dispatcher(backend, changed([](auto& kernel) { kernel.verification.reset(); }));
    Matrices(8, 5000).dispatch(*dispatcher);
    Matrices(8, 1000).dispatch(*dispatcher);
    return backend.verifications;
  }
  TemporaryDirectory folder_;
};

TEST_F(OnDisk, NextProcessKnowsThatAKernelPassed) {
  EXPECT_EQ(verifications(true), 2);
  EXPECT_EQ(verifications(true), 0);
}

TEST_F(OnDisk, NextProcessKnowsThatAKernelFailed) {
  EXPECT_EQ(verifications(false), 2);
  EXPECT_EQ(verifications(true), 0) << "v7 was asked again";
}

TEST_F(OnDisk, OutcomeIsAboutTheCodeTheDeviceAndTheDriver) {
  EXPECT_EQ(verifications(true), 2);
  EXPECT_EQ(verifications(true, [](FakeBackend& b) { b.named(0).mutable_info().name = "fake GPU 1"; }), 2);
  EXPECT_EQ(verifications(true, [](FakeBackend& b) { b.named(0).mutable_info().driver_version = 12040; }), 2);
  EXPECT_EQ(verifications(true, [](FakeBackend& b) { b.named(0).mutable_info().simulated = true; }), 2);
  EXPECT_EQ(verifications(true,
                          [](FakeBackend& b) {
                            b.on_compile = [](jit::CompiledKernel kernel) {
                              kernel.code_hash += " of another toolkit";
                              return kernel;
                            };
                          }),
            2);
  EXPECT_EQ(verifications(true), 0);
}

}  // namespace
}  // namespace softmax_dispatch::testing
