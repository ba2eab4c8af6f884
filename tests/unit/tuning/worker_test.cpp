#include "tuning/worker.hpp"

#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "support/error.hpp"
#include "support/expect_error.hpp"
#include "support/files.hpp"
#include "tuning/tuner.hpp"
#include "unit/tuning/planted.hpp"

namespace softmax_dispatch::tuning::testing {
namespace {

using softmax_dispatch::testing::error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;

const Config kV2{"v2", {{"THREADS", 128}}};

class WorkerTest : public ::testing::Test {
 protected:
  WorkerSettings settings(int device = -1) const { return {"sm_90", device, folder_.path() / "cache", ""}; }

  /// The message of the WorkerLost that a worker of this mode ends a compilation with.
  std::string lost(const std::string& mode, double timeout_s) const {
    Worker worker(worker_command(mode), settings());
    try {
      worker.compile(kV2, timeout_s);
    } catch (const WorkerLost& error) {
      return error.what();
    }
    return "not lost";
  }

  TemporaryDirectory folder_;
};

TEST_F(WorkerTest, CompilesAndFillsTheSharedCache) {
  Worker worker(worker_command("product"), settings());
  const CompileResult result = worker.compile(kV2, 120);
  EXPECT_EQ(result.error, std::nullopt);
  EXPECT_EQ(result.code_hash.size(), 32U);
  EXPECT_EQ(result.source_hash, jit::Sources::product().hash("v2"));
  EXPECT_GT(result.resources.registers, 0);
  EXPECT_FALSE(std::filesystem::is_empty(settings().cache));
  EXPECT_GT(result.compile_s.value_or(0), 0);
  const CompileResult cached = Worker(worker_command("product"), settings()).compile(kV2, 120);
  EXPECT_EQ(cached.code_hash, result.code_hash);
  EXPECT_EQ(cached.compile_s, std::nullopt);
  EXPECT_THAT(worker.nvrtc_build(), HasSubstr("."));
}

TEST_F(WorkerTest, ReportsWhatDoesNotCompile) {
  Worker worker(worker_command("planted"), settings());
  const CompileResult result = worker.compile({kBroken, {{"ITEMS", 1}, {"THREADS", 64}}}, 120);
  ASSERT_TRUE(result.error);
  EXPECT_THAT(*result.error, HasSubstr("error"));
  EXPECT_THAT(worker.compile({"v99", {}}, 120).error.value_or(""), HasSubstr("v99"));
}

TEST_F(WorkerTest, SaysHowItEnded) {
  EXPECT_THAT(lost("exit", 60), AllOf(HasSubstr("exited with code 7"), HasSubstr("during the thing"),
                                      HasSubstr("last words: terminate called after throwing something")));
  EXPECT_THAT(lost("chatter", 60), HasSubstr("exited with code 8"));
  EXPECT_THAT(lost("garbage", 60), AllOf(HasSubstr("no message"), HasSubstr("Segmentation fault (core dumped)")));
  EXPECT_THAT(lost("lie", 60), AllOf(HasSubstr("no message"), HasSubstr("many")));
  EXPECT_THAT(lost("hang", 0.3), AllOf(HasSubstr("time limit of 0.3 s"), HasSubstr("during the thing")));
}

TEST_F(WorkerTest, NamesTheSignalThatKilledIt) {
  Worker worker(worker_command("planted"), settings(0));
  const Config config{kCrash, {{"ITEMS", 1}, {"THREADS", 64}}};
  try {
    worker.verify(config, verify::Depth::brief, 60);
    FAIL() << "the worker lives";
  } catch (const WorkerLost& lost) {
    EXPECT_THAT(lost.what(), AllOf(HasSubstr("SIGABRT (Aborted)"), HasSubstr(to_string(config))));
    EXPECT_THAT(worker.last_activity(), HasSubstr(to_string(config)));
  }
  EXPECT_THROW(worker.compile(kV2, 60), WorkerLost) << "a dead worker answers nothing";
}

TEST_F(WorkerTest, ADeviceErrorEndsTheWorker) {
  Worker worker(worker_command("planted"), settings(0));
  const Config config{kSticky, {{"ITEMS", 1}, {"THREADS", 64}}};
  try {
    worker.verify(config, verify::Depth::brief, 60);
    FAIL() << "the worker lives";
  } catch (const WorkerLost& lost) {
    EXPECT_THAT(lost.what(), AllOf(HasSubstr("CUDA_ERROR_MISALIGNED_ADDRESS"), HasSubstr(to_string(config))));
  }
}

TEST_F(WorkerTest, AStartThatFailsStopsTheOwner) {
  EXPECT_THAT(error_of(StatusCode::io,
                       [&] {
                         Worker({"/no/such/program", {}}, settings());
                       }),
              HasSubstr("/no/such/program"));
  EXPECT_THAT(error_of(StatusCode::internal, [&] { Worker(worker_command("mute"), settings()); }),
              HasSubstr("exited with code 3"));
  WorkerSettings no_nvrtc = settings();
  no_nvrtc.nvrtc = "/no/such/libnvrtc.so.13";
  EXPECT_THAT(error_of(StatusCode::toolchain, [&] { Worker(worker_command("product"), no_nvrtc); }),
              HasSubstr("/no/such/libnvrtc.so.13"));
  Worker compiler(worker_command("planted"), settings());
  EXPECT_THAT(error_of(StatusCode::internal, [&] { compiler.device_info(); }), HasSubstr("without a device"));
}

TEST_F(WorkerTest, CtrlCDoesNotReachIt) {
  ASSERT_EQ(::setpgid(0, 0), 0) << "the signal is not for the program that runs the tests";
  Worker worker(worker_command("product"), settings());
  const auto before = ::signal(SIGINT, SIG_IGN);
  ::kill(0, SIGINT);  // as a terminal does: to every process of the group
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  ::signal(SIGINT, before);
  EXPECT_EQ(worker.compile(kV2, 120).error, std::nullopt);
}

TEST_F(WorkerTest, CompileAllKeepsTheOrderAndGoesOn) {
  std::vector<Config> configs;
  for (const std::int64_t threads : {64, 96, 128})
    configs.push_back({kSoundShort, {{"ITEMS", 1}, {"THREADS", threads}}});
  configs.insert(configs.begin() + 1, {kBroken, {{"ITEMS", 1}, {"THREADS", 64}}});
  std::vector<std::size_t> progress;
  const auto results =
      compile_all(configs, worker_command("planted"), settings(), [&](std::size_t done) { progress.push_back(done); });
  EXPECT_THAT(progress, ::testing::ElementsAre(1, 2, 3, 4));
  ASSERT_EQ(results.size(), 4U);
  Worker worker(worker_command("planted"), settings());
  for (const std::size_t i : {0U, 2U, 3U}) EXPECT_EQ(results[i].code_hash, worker.compile(configs[i], 120).code_hash);
  EXPECT_TRUE(results[1].error);
}

TEST_F(WorkerTest, CompileAllOutlivesWorkersThatDie) {
  const auto results = compile_all({kV2, {"v5", {{"THREADS", 64}}}}, worker_command("exit"), settings(), {});
  ASSERT_EQ(results.size(), 2U);
  for (const CompileResult& result : results) EXPECT_THAT(result.error.value_or(""), HasSubstr("exited with code 7"));
}

}  // namespace
}  // namespace softmax_dispatch::tuning::testing
