#include "tests/cli/sample.hpp"

#include "tests/cli/program.hpp"
#include "variants/registry.hpp"

namespace softmax_dispatch::testing {
namespace {

table::Kernel kernel_for(const std::string& variant, const Problem& longest, const Target& target) {
  table::Kernel kernel;
  kernel.config = {variant, registry().at(variant).complete(longest, {{"THREADS", 256}}, target)};
  kernel.name = table::kernel_name(kernel.config);
  kernel.source_hash = std::string(32, 'a');
  kernel.code_hash = std::string(32, 'b');
  kernel.resources.registers = 32;
  kernel.verification = table::VerificationRecord{"Sample GPU", false, 1, 1234, table::kOpen, 0.25};
  return kernel;
}

table::Threshold threshold(std::int64_t N_to, table::Alignment alignment, const table::Kernel& kernel) {
  table::Threshold threshold;
  threshold.N_to = N_to;
  threshold.alignment = alignment;
  threshold.use = kernel.name;
  if (N_to != table::kOpen) threshold.crossover_N = {N_to / 2, N_to * 2};
  return threshold;
}

}  // namespace

table::Table sample_table(const std::string& arch) {
  const Target target{arch_limits(arch), 132};
  table::Table table;
  table.library_version = "0.1.0";
  table.device = {"Sample GPU", arch, 132, 52428800, 6144, false};
  table.toolchain = {"13.0.88", {"--std=c++17"}, "13.0"};
  table.sweep = {"quick", "graph", "cold", 42, {1, 1024}, {64, 4096}, 12, 48, 1.5, false};
  table.regret_geomean = 1.002;
  table.regret_worst = 1.01;
  const table::Kernel warp = kernel_for("v8", {DType::f32, 1024, 512}, target);
  const table::Kernel block = kernel_for("v7", {DType::f32, 1024, 4096}, target);
  const table::Kernel any = kernel_for(std::string(unbounded_variant().id()), {DType::f32, 1024, 1 << 20}, target);
  table.kernels = {warp, block, any};
  table.pins = {{DType::f32, 7, 7, 100, 100, block.name}};
  table::Band band;
  band.thresholds = {threshold(512, table::Alignment::aligned, warp), threshold(4096, table::Alignment::aligned, block),
                     threshold(table::kOpen, table::Alignment::aligned, any),
                     threshold(512, table::Alignment::unaligned, warp),
                     threshold(table::kOpen, table::Alignment::unaligned, any)};
  band.thresholds[1].margin_pct = 3.1;
  band.thresholds[1].runner_up = "v3 ITEMS=16 THREADS=256";
  table.tables = {{DType::f32, "softmax", {band}}};
  return table;
}

std::filesystem::path write_sample_table(const std::filesystem::path& folder, const std::string& arch) {
  const std::filesystem::path path = folder / "sample.yaml";
  write(path, table::write(sample_table(arch)));
  return path;
}

}  // namespace softmax_dispatch::testing
