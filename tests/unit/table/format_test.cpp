#include <gmock/gmock.h>

#include <algorithm>

#include "support/decimal_comma.hpp"
#include "support/expect_error.hpp"
#include "support/files.hpp"
#include "support/yaml.hpp"
#include "table/table.hpp"
#include "unit/table/sample.hpp"

namespace softmax_dispatch::table {
namespace {

using ::testing::HasSubstr;

// What a person reads and edits: a change of it is a change of the product.
constexpr const char* kSampleText =
    R"(# Decision table of softmax_dispatch: which verified kernel serves a softmax of M rows of N elements. See docs/table.md.
# To read it: the first of `pins` that holds the shape decides; else, in the band of M, the first threshold of the rows' alignment with N <= N_to.
schema: 1
library: "0.1.0"
device:
  kind: measured
  name: NVIDIA H200
  arch: sm_90
  sm_count: 132
  l2_bytes: 62914560
  memory_bus_bits: 6144
toolchain:
  nvrtc: "13.0.88"
  flags: ["--std=c++17", "-DX=1"]
  driver: "13.0"
sweep:
  effort: quick
  protocol: graph
  buffers: cold
  seed: 42
  M: [1, 64, 4096]
  N: [257, 1024]
  configs: 96
  measurements: 576
  duration_s: 57.25
  partial: false
quality: {regret_geomean: 1.004, regret_worst: 1.03}
kernels:
  - name: v3_i4_t256
    dtype: f32
    variant: v3
    constants: {ITEMS: 4, THREADS: 256}
    source_hash: "0123456789abcdef0123456789abcdef"
    code_hash: "fedcba9876543210fedcba9876543210"
    resources: {registers: 41, stack_bytes: 0, spill_store_bytes: 0, spill_load_bytes: 0, shared_bytes: 256}
    verification: {device: NVIDIA H200, kind: measured, suite: 1, cases: 912, N_to: 1024, worst_error: 0.3125}
  - name: v7_t256_vi4
    dtype: f32
    variant: v7
    constants: {THREADS: 256, VEC_ITEMS: 4}
    source_hash: "0123456789abcdef0123456789abcdef"
    code_hash: "fedcba9876543210fedcba9876543210"
    resources: {registers: 41, stack_bytes: 0, spill_store_bytes: 0, spill_load_bytes: 0, shared_bytes: 256}
    verification: {device: NVIDIA H200, kind: measured, suite: 1, cases: 912, N_to: 4099, worst_error: 0.3125}
  - name: v9_g264_t256_vi4
    dtype: f32
    variant: v9
    constants: {GRID: 264, THREADS: 256, VEC_ITEMS: 4}
    source_hash: "0123456789abcdef0123456789abcdef"
    code_hash: "fedcba9876543210fedcba9876543210"
    resources: {registers: 41, stack_bytes: 0, spill_store_bytes: 0, spill_load_bytes: 0, shared_bytes: 256}
pins:
  - {dtype: f32, M: [8, 8], N: [100, 200], use: v7_t256_vi4}
tables:
  - dtype: f32
    op: softmax
    bands:
      - M: [1, 39]
        thresholds:
          - {N_to: 1024, use: v3_i4_t256, alignment: any, crossover_N: [1024, 1025], margin_pct: 3.1, runner_up: v7 THREADS=256 VEC_ITEMS=4}
          - {N_to: open, use: v9_g264_t256_vi4, alignment: any}
      - M: [40, open]
        thresholds:
          - {N_to: 4096, use: v7_t256_vi4, alignment: aligned, crossover_N: [4096, 8192], margin_pct: 12.5}
          - {N_to: open, use: v9_g264_t256_vi4, alignment: aligned}
          - {N_to: open, use: v9_g264_t256_vi4, alignment: unaligned}
...
)";

TEST(TableText, IsTheTextThatPeopleRead) {
  EXPECT_EQ(write(sample_table()), kSampleText);
}

TEST(TableText, RoundTripsByteForByte) {
  EXPECT_EQ(read(kSampleText, "t.yaml", known_variant), sample_table());
  EXPECT_EQ(write(read(kSampleText, "t.yaml", known_variant)), kSampleText);
}

TEST(TableText, RandomTablesRoundTripUnderADecimalComma) {
  RandomTables random(3);
  for (int i = 0; i < 100; ++i) {
    const Table table = random.next();
    const std::string text = write(table);
    const testing::DecimalComma comma;
    ASSERT_EQ(write(table), text);
    const Table back = read(text, "t.yaml", known_variant);
    ASSERT_EQ(back, table) << text;
    ASSERT_EQ(write(back), text);
  }
}

TEST(TableText, TextThatYamlWouldMisreadIsQuoted) {
  Table table = sample_table();
  table.device.name = "true";
  table.toolchain.flags = {"a, b", "#c", "", "\"d\": \\e", "[f]", "x\ny"};
  table.sweep.effort = "1e3";
  EXPECT_EQ(read(write(table), "t.yaml", known_variant), table);
}

TEST(TableText, CommentsAndOrderOfKeysAreFree) {
  std::string text = kSampleText;
  text.insert(text.find("\n", text.find("- M: [1, 39]")), "   # rows in this band");
  const std::size_t seed = text.find("  seed: 42\n");
  text.erase(seed, 11).insert(text.find("  partial:"), "  seed: 42\n");
  text += "\n# the end\n\n";
  EXPECT_EQ(read(text, "t.yaml", known_variant), sample_table());
}

TEST(TableText, RefusesToWriteNumbersThatAreNotFinite) {
  Table table = sample_table();
  table.kernels[0].verification->worst_error = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(testing::error_of(StatusCode::internal, [&] { write(table); }), HasSubstr("cannot hold the number nan"));
}

void expect_described(const yaml::Node& node, const std::string& manual) {
  if (node.kind() == yaml::Node::Kind::sequence) {
    for (const yaml::Node& item : node.items()) expect_described(item, manual);
  } else if (node.kind() == yaml::Node::Kind::map) {
    for (const auto& [key, value] : node.entries()) {
      EXPECT_THAT(manual, HasSubstr("`" + key + "`")) << "docs/table.md does not describe it";
      expect_described(value, manual);
    }
  }
}

TEST(TableText, EveryKeyIsInTheManual) {
  expect_described(yaml::parse(kSampleText, "t.yaml"), read_file(SOFTMAX_DISPATCH_SOURCE_DIR "/docs/table.md"));
}

TEST(TableText, KernelsOfSeveralTypesShareATable) {
  Table table = sample_table();
  table.kernels.push_back(sample_kernel({"v7", {{"THREADS", 256}, {"VEC_ITEMS", 4}}, DType::bf16}, kOpen));
  OpTable& halves = table.tables.emplace_back();
  halves.dtype = DType::bf16;
  halves.bands = {{1, kOpen, {{kOpen, Alignment::any, "v7_bf16_t256_vi4", {}, {}, {}}}}};
  halves.regret_geomean = 1.002;
  halves.regret_worst = 1.05;
  table.pins.push_back({DType::bf16, 3, 3, 5, 5, "v7_bf16_t256_vi4"});
  const std::string text = write(table);
  EXPECT_THAT(text, HasSubstr("regret_worst: 1.05"));
  const Table read_back = read(text, "t.yaml", known_variant);
  EXPECT_EQ(read_back, table);
  EXPECT_EQ(lookup(read_back, {DType::bf16, 64, 4096}, Alignment::aligned).kernel->config, table.kernels[3].config);
  EXPECT_EQ(lookup(read_back, {DType::f32, 64, 4096}, Alignment::aligned).kernel->name, "v7_t256_vi4");
}

TEST(KernelName, IsTheVariantAndTheInitialsOfItsConstants) {
  EXPECT_EQ(kernel_name({"v7", {{"THREADS", 256}, {"VEC_ITEMS", 4}}}), "v7_t256_vi4");
  EXPECT_EQ(kernel_name({"v7", {{"THREADS", 256}}, DType::bf16}), "v7_bf16_t256");
  EXPECT_EQ(kernel_name({"v4_opt", {}}), "v4_opt");
}

}  // namespace
}  // namespace softmax_dispatch::table
