// What the timing model does, each cause by itself.
#include <gmock/gmock.h>

#include <algorithm>

#include "device/sim/model/physical_model.hpp"
#include "device/sim/open.hpp"
#include "sim/model/fit.hpp"
#include "support/expect_error.hpp"

namespace softmax_dispatch::sim {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

double term(const ModelledTime& time, const std::string& name) {
  const auto found =
      std::find_if(time.terms.begin(), time.terms.end(), [&](const TimeTerm& one) { return one.name == name; });
  EXPECT_NE(found, time.terms.end()) << name;
  return found == time.terms.end() ? 0 : found->time_us;
}

class Behaviour : public ::testing::Test {
 protected:
  static WorkloadMaker& maker() {
    static WorkloadMaker made(file().info, PhysicalModel(file().constants).costs());
    return made;
  }
  static const DeviceFile& file() {
    static const DeviceFile t4 = read_device_file("t4.yaml");
    return t4;
  }
  static Workload workload(const std::string& config, std::int64_t M, std::int64_t N, std::int64_t between = 0) {
    return maker().make(parse_config(config), M, N, between);
  }
  static ModelledTime time(const Workload& workload) {
    return PhysicalModel(file().constants).launch(workload.launch());
  }
  static ModelledTime time(const std::string& config, std::int64_t M, std::int64_t N, std::int64_t between = 0) {
    return time(workload(config, M, N, between));
  }
};

constexpr std::int64_t kCold = std::int64_t{1} << 40;

TEST_F(Behaviour, MoreRowsNeverTakeLess) {
  for (const char* config : {"v2 THREADS=256", "v7 THREADS=256 VEC_ITEMS=1", "v8 THREADS=128",
                             "v9 GRID=80 THREADS=256 VEC_ITEMS=2", "v10 THREADS=128 VEC_ITEMS=8"}) {
    for (const std::int64_t N : {33, 1000}) {
      double before = 0;
      for (std::int64_t M = 1; M <= 20000; M = M * 5 / 3 + 1) {
        const double now = time(config, M, N, kCold).time_us;
        // Where the last block is full or not, and which positions of rows a sample holds, is worth a percent.
        EXPECT_GE(now, 0.99 * before) << config << " at " << M << "x" << N;
        before = now;
      }
    }
  }
}

TEST_F(Behaviour, LongerRowsNeverTakeLess) {
  for (const char* config : {"v2 THREADS=256", "v5 THREADS=128", "v8 THREADS=128"}) {
    double before = 0;
    for (std::int64_t N = 32; N <= 8192; N *= 2) {
      const double now = time(config, 500, N, kCold).time_us;
      EXPECT_GE(now, before) << config << " at " << N;
      before = now;
    }
  }
}

TEST_F(Behaviour, OneReadAndOneWriteOfMuchDataIsBoundedByDram) {
  const ModelledTime read_once = time("v7 THREADS=128 VEC_ITEMS=8", 16384, 4096);
  EXPECT_EQ(read_once.bound, "dram");
  const double bytes = 8.0 * 16384 * 4096;
  EXPECT_NEAR(term(read_once, "dram"), bytes / file().constants.dram_gb_per_s * 1e-3, 1e-6 * bytes);
  const double copy_us =
      PhysicalModel(file().constants)
          .copy_us(file().info, static_cast<std::size_t>(bytes / 2), static_cast<std::int64_t>(bytes));
  EXPECT_NEAR(read_once.time_us / copy_us, 1.05, 0.05);
}

// A block-per-row kernel has 160 rows of 16 KB live, which L2 holds; a warp-per-row kernel 1280.
TEST_F(Behaviour, RowsThatAreReadAgainComeFromDramWhereTooManyAreLive) {
  const double once_us = 8.0 * 8192 * 4096 / file().constants.dram_gb_per_s * 1e-3;
  const double block_us = term(time("v5 THREADS=256", 8192, 4096), "dram") / once_us;
  const double warp_us = term(time("v8 THREADS=256", 8192, 4096), "dram") / once_us;
  EXPECT_LT(block_us, 1.3);
  EXPECT_GT(warp_us, 1.45);
  EXPECT_LT(warp_us, 1.51) << "two reads and a write instead of one and one";
  EXPECT_NEAR(term(time("v7 THREADS=256 VEC_ITEMS=4", 8192, 4096), "dram") / once_us, 1, 1e-2) << "read once";
}

TEST_F(Behaviour, InputThatIsStillInL2CostsNoDram) {
  const ModelledTime warm = time("v7 THREADS=256 VEC_ITEMS=1", 256, 1024);
  const ModelledTime cold = time("v7 THREADS=256 VEC_ITEMS=1", 256, 1024, kCold);
  EXPECT_LT(term(warm, "dram"), 0.1 * term(cold, "dram"));
  EXPECT_LT(term(warm, "chain"), term(cold, "chain"));
  EXPECT_LT(warm.time_us, 0.9 * cold.time_us);
}

TEST_F(Behaviour, OneBlockIsBoundedByItsChain) {
  const ModelledTime one = time("v8 THREADS=32", 1, 1024, kCold);
  EXPECT_EQ(one.bound, "chain");
  EXPECT_GT(one.time_us, 5);
  // The same row by 512 threads: a chain of two elements, not 32.
  EXPECT_LT(term(time("v5 THREADS=512", 1, 1024, kCold), "chain"), 0.6 * term(one, "chain"));
}

TEST_F(Behaviour, ABlockMoreThanFitsIsAnotherWave) {
  const Workload full = workload("v7 THREADS=1024 VEC_ITEMS=1", 40, 4096);
  ASSERT_EQ(blocks_per_sm(full.device.limits, 1024, full.resources.registers, full.shared_bytes), 1);
  const ModelledTime one = time(full), two = time("v7 THREADS=1024 VEC_ITEMS=1", 41, 4096);
  EXPECT_DOUBLE_EQ(term(one, "tail"), 0);
  EXPECT_NEAR(term(two, "chain") + term(two, "barrier") + term(two, "tail"),
              2 * (term(one, "chain") + term(one, "barrier")), 0.01 * term(one, "chain"));
  EXPECT_GT(two.time_us, 1.3 * one.time_us);
  EXPECT_NEAR(time("v7 THREADS=1024 VEC_ITEMS=1", 80, 4096).time_us, two.time_us, 0.2 * two.time_us);
}

TEST_F(Behaviour, RegistersDecideHowManyBlocksHideLatency) {
  Workload many = workload("v7 THREADS=256 VEC_ITEMS=4", 1024, 4096), few = many;
  many.resources.registers = 40;
  few.resources.registers = 255;
  EXPECT_GT(time(few).time_us, 1.1 * time(many).time_us);
}

TEST_F(Behaviour, NothingTakesLessThanALaunch) {
  const ModelledTime least = time("v8 THREADS=32", 1, 1);
  EXPECT_DOUBLE_EQ(term(least, "launch"), file().constants.launch_us);
  EXPECT_GT(least.time_us, file().constants.launch_us);
  EXPECT_LT(least.time_us, file().constants.launch_us + 2);
}

TEST_F(Behaviour, AccessesInPartCostMore) {
  // Of rows of 4093 floats three in four are read by scalars 16 bytes apart.
  const ModelledTime aligned = time("v7 THREADS=256 VEC_ITEMS=4", 1024, 4096);
  const ModelledTime split = time("v7 THREADS=256 VEC_ITEMS=4", 1024, 4093);
  EXPECT_GT(term(split, "load_store"), 2 * term(aligned, "load_store"));
  EXPECT_GT(split.time_us, aligned.time_us);
}

TEST_F(Behaviour, TermsAndBoundAreNamed) {
  const ModelledTime some = time("v2 THREADS=256", 1024, 4096);
  std::vector<std::string> names;
  double most = 0;
  for (const TimeTerm& one : some.terms) {
    names.push_back(one.name);
    EXPECT_GE(one.time_us, 0) << one.name;
    most = std::max(most, one.time_us);
  }
  EXPECT_THAT(names, ::testing::ElementsAre("dram", "l2", "l2_port", "issue", "fp32", "special_function", "chain",
                                            "barrier", "tail", "load_store", "code", "block_start", "launch"));
  EXPECT_DOUBLE_EQ(term(some, some.bound), most);
  EXPECT_GE(some.time_us, most);
}

TEST_F(Behaviour, CopiesFollowTheSameConstants) {
  const PhysicalModel model(file().constants);
  const double cold_us = model.copy_us(file().info, std::size_t{1} << 28, std::int64_t{2} << 28);
  EXPECT_NEAR(2.0 * (1 << 28) / cold_us * 1e-3, file().constants.dram_gb_per_s, 0.03 * file().constants.dram_gb_per_s);
  EXPECT_LT(model.copy_us(file().info, 1 << 19, 1 << 20), 0.6 * model.copy_us(file().info, 1 << 19, kCold));
  EXPECT_GT(model.copy_us(file().info, 4, 8), file().constants.launch_us);
}

// The clock of the device: what the tuner sees.
TEST_F(Behaviour, ReplaysOfABatchDependOnItsBuffers) {
  const auto device = open("sm_75");
  const jit::Compiler compiler(jit::Nvrtc::open(), jit::Sources::product(), nullptr);
  const Constants constants{{"THREADS", 256}, {"VEC_ITEMS", 1}};
  const auto kernel = device->load(compiler.compile_ptx("v7", constants, "sm_75"), "v7",
                                   compiler.compile("v7", constants, "sm_75").resources);
  constexpr std::int64_t kM = 256, kN = 1024, kPairs = 16;
  constexpr std::size_t kBytes = kM * kN * sizeof(float);
  Buffer x(*device, kPairs * kBytes), y(*device, kPairs * kBytes);
  device->fill(x.get(), 0, x.bytes());
  std::vector<Launch> rotating, same;
  for (std::size_t i = 0; i < kPairs; ++i) {
    rotating.push_back({kernel.get(), {kM, 256, 0}, x.get() + i * kBytes, y.get() + i * kBytes, kM, kN});
    same.push_back(rotating.front());
  }
  const double cold_us = device->record(rotating)->replay_us(), warm_us = device->record(same)->replay_us();
  EXPECT_GT(cold_us, 1.2 * warm_us);
  EXPECT_DOUBLE_EQ(device->model(same.front()).time_us, warm_us);
  EXPECT_DOUBLE_EQ(device->time_stream_us(same.front(), 100, 1000), warm_us);
}

std::string error_of_constants(const std::string& name, const std::string& line) {
  std::string text;
  for (const NamedConstant& one : named_constants())
    if (one.name != name) text += std::string(one.name) + ": 1\n";
  return error_of(StatusCode::bad_table, [&] { read_constants(yaml::parse(text + line, "gpu.yaml")); });
}

TEST(ModelConstants, AreReadStrictly) {
  EXPECT_THAT(error_of_constants("launch_us", ""), HasSubstr("launch_us"));
  EXPECT_THAT(error_of_constants("launch_us", "launch_us: 0\n"), HasSubstr("launch_us is 0, but must be positive"));
  EXPECT_THAT(error_of_constants("launch_us", "launch_us: -1\n"), HasSubstr("must be positive"));
  EXPECT_THAT(error_of_constants("launch_us", "launch_us: fast\n"), HasSubstr("launch_us"));
  EXPECT_THAT(error_of_constants("", "v7_bonus: 2\n"), HasSubstr("v7_bonus"));
  EXPECT_THAT(error_of_constants("", ""), HasSubstr("must ascend"));
}

}  // namespace
}  // namespace softmax_dispatch::sim
