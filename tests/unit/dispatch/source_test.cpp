#include <gmock/gmock.h>

#include <filesystem>
#include <memory>

#include "dispatch/decision_source.hpp"
#include "support/files.hpp"
#include "support/log.hpp"
#include "table/snapshot.hpp"
#include "unit/dispatch/fixture.hpp"

namespace softmax_dispatch::testing {
namespace {

using runtime::DecisionSource;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string message_of_options(StatusCode code, const DispatcherOptions& options) {
  return error_of(code, [&] { DecisionSource{options}; });
}

TEST(Source, TableThatCannotBeReadIsAnIoError) {
  EXPECT_THAT(message_of_options(StatusCode::io, {"/no/such/table.yaml", ""}), HasSubstr("/no/such/table.yaml"));
}

TEST(Source, TableThatIsNoneIsABadTable) {
  const TableFile file(std::string("schema: 99\n"));
  EXPECT_THAT(message_of_options(StatusCode::bad_table, {file.path(), ""}), HasSubstr(file.path()));
}

TEST(Source, KernelThatTheTablesArchitectureDoesNotSupportIsFoundWithoutADevice) {
  const TableFile file(make_table({{131, "v7 THREADS=1024 VEC_ITEMS=32"}, {table::kOpen, kLong}}));
  EXPECT_THAT(message_of_options(StatusCode::bad_table, {file.path(), ""}),
              AllOf(HasSubstr(file.path()), HasSubstr("v7 THREADS=1024 VEC_ITEMS=32")));
}

TEST(Source, ForcedConfigurationMustBeComplete) {
  const auto message_of = [](const std::string& force) {
    return message_of_options(StatusCode::invalid_argument, {"", force});
  };
  EXPECT_THAT(message_of("v99 THREADS=256"), HasSubstr("v99"));
  EXPECT_THAT(message_of("v7 THREADS"), HasSubstr("THREADS"));
  EXPECT_THAT(message_of("v7 THREADS=256"), HasSubstr("VEC_ITEMS has no value"));
  EXPECT_THAT(message_of("v7 THREADS=100 VEC_ITEMS=1"), HasSubstr("a multiple of 32"));
  EXPECT_THAT(message_of("v1 THREADS=96"), HasSubstr("a power of two"));
  EXPECT_THAT(message_of("v5 THREADS=256 ITEMS=1"), HasSubstr("no axis ITEMS"));
}

TEST(Source, TableForAnotherArchitectureNamesBothAndTheNextStep) {
  FakeBackend backend({"sm_90", "sm_75"});
  const auto dispatcher = make_dispatcher(backend, make_table(three_thresholds()));
  Matrices matrices(8, 64);
  FakeBackend::current = 1;
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(error_of(StatusCode::bad_table, [&] { matrices.dispatch(*dispatcher); }),
                AllOf(HasSubstr("sm_90"), HasSubstr("sm_75"), HasSubstr("softmax-tune --arch sm_75")));
  }
  FakeBackend::current = 0;
  EXPECT_NO_THROW(matrices.dispatch(*dispatcher)) << "the table's own architecture is served all the same";
}

/// The first kernel for rows of 64.
std::string first_choice(const DecisionSource& source) {
  const runtime::Decisions decisions = source.decisions({arch_limits("sm_90"), 8});
  std::string first;
  decisions.visit({DType::f32, 8, 64}, table::Alignment::aligned, [&](int index) {
    first = to_string(decisions.candidates()[static_cast<std::size_t>(index)].config);
    return true;
  });
  return first;
}

TEST(Source, ATableThatWasReadComesFromTheCache) {
  const TemporaryDirectory folder;
  const auto cache = std::make_shared<jit::Cache>(folder.path() / "cache");
  const TableFile file(make_table({{table::kOpen, kLong}}));
  const auto choice = [&] { return first_choice(DecisionSource({file.path(), ""}, registry(), cache)); };
  EXPECT_EQ(choice(), kLong);
  ASSERT_EQ(cache->usage().entries, 1U);
  const std::filesystem::path entry = std::filesystem::directory_iterator(cache->directory())->path();
  // Another table in its place shows that the text is not read again.
  constexpr char kOther[] = "unbounded THREADS=1024";
  cache->put(entry.stem(), table::to_snapshot(make_table({{table::kOpen, kOther}})));
  EXPECT_EQ(choice(), kOther);
  // An entry that is none is made anew.
  cache->put(entry.stem(), "no snapshot");
  EXPECT_EQ(choice(), kLong);
  EXPECT_EQ(cache->get(entry.stem()), table::to_snapshot(make_table({{table::kOpen, kLong}})));
  // Another text is another table.
  const TableFile edited(table::write(make_table({{table::kOpen, kOther}})));
  EXPECT_EQ(first_choice(DecisionSource({edited.path(), ""}, registry(), cache)), kOther);
  EXPECT_EQ(cache->usage().entries, 2U);
}

TEST(Source, ATableThatIsRefusedIsNotCached) {
  const TemporaryDirectory folder;
  const auto cache = std::make_shared<jit::Cache>(folder.path() / "cache");
  const TableFile file(std::string("schema: 99\n"));
  for (int i = 0; i < 2; ++i)
    error_of(StatusCode::bad_table, [&] { DecisionSource({file.path(), ""}, registry(), cache); });
  EXPECT_EQ(cache->usage().entries, 0U);
}

/// What a dispatcher says on stderr, over two kernels and several calls.
std::string log_of(FakeBackend& backend, const table::Table& table) {
  const auto dispatcher = make_dispatcher(backend, table);
  ::testing::internal::CaptureStderr();
  for (const std::int64_t N : {64, 64, 1000, 1000}) Matrices(8, N).dispatch(*dispatcher);
  return ::testing::internal::GetCapturedStderr();
}

std::ptrdiff_t lines(const std::string& text) {
  return std::count(text.begin(), text.end(), '\n');
}

TEST(Source, TableMadeOnThisDeviceNeedsNoWord) {
  FakeBackend backend;
  EXPECT_EQ(log_of(backend, make_table(three_thresholds())), "");
}

TEST(Source, StalenessIsSaidOnce) {
  FakeBackend other_gpu, other_driver, simulated;
  other_gpu.named(0).mutable_info().name = "fake GPU X";
  std::string log = log_of(other_gpu, make_table(three_thresholds()));
  EXPECT_THAT(log, AllOf(HasSubstr("measured on fake GPU 0"), HasSubstr("fake GPU X"), HasSubstr("retune")));
  EXPECT_EQ(lines(log), 1) << log;
  EXPECT_EQ(other_gpu.verifications, 2);

  other_driver.named(0).mutable_info().driver_version = 12040;
  log = log_of(other_driver, make_table(three_thresholds()));
  EXPECT_THAT(log, AllOf(HasSubstr("driver 13.0"), HasSubstr("12.4"), HasSubstr("retune")));
  EXPECT_EQ(lines(log), 1) << log;
  EXPECT_EQ(other_driver.verifications, 0) << "the same code on the same model of GPU";

  table::Table table = make_table(three_thresholds());
  table.device.simulated = true;
  for (table::Kernel& kernel : table.kernels) kernel.verification->simulated = true;
  log = log_of(simulated, table);
  EXPECT_THAT(log, HasSubstr("simulated"));
  EXPECT_EQ(lines(log), 1) << log;
  EXPECT_EQ(simulated.verifications, 2);
}

TEST(Source, KernelsForMoreMultiprocessorsThanThereAreIsSaidOnce) {
  FakeBackend backend;
  table::Table table =
      make_table({{131, "split BLOCKS=1 GRID=132 PARTS=32 SHARED_ITEMS=0 STREAM=1 THREADS=1024 VEC_ITEMS=2"},
                  {table::kOpen, kLong}});
  table.device.sm_count = 132;
  const std::string log = log_of(backend, table);
  EXPECT_THAT(log,
              AllOf(HasSubstr("than the 8 SMs of device 0 (fake GPU 0) hold (1 of them, e.g. split BLOCKS=1 GRID=132"),
                    HasSubstr("softmax-tune --arch sm_90")));
  EXPECT_EQ(lines(log), 1) << log;
}

/// Of a table for the device that says of itself what made it.
table::Table table_of_kind(bool simulated) {
  table::Table table = make_table(three_thresholds());
  table.device.simulated = simulated;
  for (table::Kernel& kernel : table.kernels) kernel.verification->simulated = simulated;
  return table;
}

TEST(Source, SimulatedTableOnHardwareIsSaidOnce) {
  FakeBackend backend;
  const std::string log = log_of(backend, table_of_kind(true));
  EXPECT_THAT(log, AllOf(HasSubstr("the thresholds in use on device 0 (fake GPU 0) are simulated, not measured"),
                         HasSubstr("softmax-tune --arch sm_90")));
  EXPECT_EQ(lines(log), 1) << log;
}

TEST(Source, SimulatedDeviceIsSaidOnceWhateverTheTable) {
  for (const bool simulated_table : {true, false}) {
    FakeBackend backend;
    backend.named(0).mutable_info().simulated = true;
    backend.named(0).mutable_info().driver_version = 0;
    const std::string log = log_of(backend, table_of_kind(simulated_table));
    EXPECT_THAT(log, HasSubstr("dispatching on the simulated fake GPU 0 (sm_90): right values, no speed"));
    EXPECT_EQ(lines(log), 1) << log;
  }
}

TEST(Source, MeasuredTableOnTheSimulatedDeviceIsSaidToWhoAsks) {
  FakeBackend backend;
  backend.named(0).mutable_info().simulated = true;
  set_log_level(LogLevel::info);
  const std::string log = log_of(backend, table_of_kind(false));
  set_log_level(LogLevel::warn);
  constexpr const char* kLine = "the table in use on the simulated fake GPU 0 (sm_90) was measured on hardware";
  EXPECT_THAT(log, HasSubstr(kLine));
  EXPECT_EQ(log.find(kLine), log.rfind(kLine)) << log;
}

TEST(Source, TableForAnotherSimulatedDeviceIsSaid) {
  FakeBackend backend;
  backend.named(0).mutable_info().simulated = true;
  table::Table table = table_of_kind(true);
  table.device.name = "fake GPU X";
  EXPECT_THAT(log_of(backend, table), HasSubstr("made for the simulated fake GPU X"));
}

TEST(Source, ForcedConfigurationServesWhatItSupports) {
  FakeBackend backend;
  const auto dispatcher = make_dispatcher(backend, std::string(kMiddle));
  std::string launched;
  backend.named(0).define("v7", [&](const Launch& launch) { launched = std::to_string(launch.geometry.block); });
  Matrices(8, 64).dispatch(*dispatcher);
  EXPECT_EQ(launched, "256");
  EXPECT_EQ(backend.verifications, 1) << "forced or not, a kernel is verified first";
  EXPECT_THAT(error_of(StatusCode::unsupported, [&] { Matrices(8, 4100).dispatch(*dispatcher); }),
              HasSubstr("f32:8x4100"));
  EXPECT_EQ(to_string(dispatcher->choice({DType::f32, 8, 64}, "sm_75")), kMiddle);
  error_of(StatusCode::unsupported, [&] { dispatcher->choice({DType::f32, 8, 4100}, "sm_75"); });
}

TEST(Source, ForcedKernelThatFailsVerificationHasNoSubstitute) {
  FakeBackend backend;
  backend.on_verify = [](const Config&) { return fail("wrong"); };
  const auto dispatcher = make_dispatcher(backend, std::string(kMiddle));
  error_of(StatusCode::verification_failed, [&] { Matrices(8, 64).dispatch(*dispatcher); });
}

TEST(Source, TypesOfWhichTheTableSaysNothingFollowTheRule) {
  FakeBackend backend;
  const auto dispatcher = make_dispatcher(backend, make_table(three_thresholds()));
  for (const DType dtype : unbounded_variant().dtypes()) {
    if (dtype == DType::f32) continue;
    for (const std::int64_t N : {8, 131, 1000, 4096, 1 << 20}) {
      const Problem problem{dtype, 8, N};
      const Config chosen = dispatcher->choice(problem, "sm_90");
      EXPECT_EQ(chosen.dtype, dtype) << to_string(chosen);
    }
  }
}

TEST(Source, AForcedConfigurationIsForEveryTypeOrForTheOneItNames) {
  FakeBackend backend;
  const auto every = make_dispatcher(backend, std::string(kLong));
  const auto one = make_dispatcher(backend, std::string("unbounded bf16 THREADS=256"));
  for (const DType dtype : unbounded_variant().dtypes()) {
    const Config expected{"unbounded", {{"THREADS", 256}}, dtype};
    EXPECT_EQ(every->choice({dtype, 8, 64}, "sm_75"), expected);
    if (dtype == DType::bf16)
      EXPECT_EQ(one->choice({dtype, 8, 64}, "sm_75"), expected);
    else
      error_of(StatusCode::unsupported, [&] { (void)one->choice({dtype, 8, 64}, "sm_75"); });
  }
  const auto f32_alone = make_dispatcher(backend, std::string(kMiddle));
  error_of(StatusCode::unsupported, [&] { (void)f32_alone->choice({DType::f16, 8, 64}, "sm_75"); });
}

TEST(Source, ChoiceComesFromTheTableAlone) {
  FakeBackend backend;
  const auto dispatcher = make_dispatcher(backend, make_table(three_thresholds()));
  EXPECT_EQ(to_string(dispatcher->choice({DType::f32, 8, 131}, "sm_90")), kShort);
  EXPECT_EQ(to_string(dispatcher->choice({DType::f32, 8, 132}, "sm_90")), kMiddle);
  EXPECT_EQ(to_string(dispatcher->choice({DType::f32, 8, 1 << 20}, "sm_90")), kLong);
  error_of(StatusCode::bad_table, [&] { dispatcher->choice({DType::f32, 8, 64}, "sm_80"); });
  EXPECT_EQ(backend.device_queries, 0);
  EXPECT_EQ(backend.compiles, 0);
}

}  // namespace
}  // namespace softmax_dispatch::testing
