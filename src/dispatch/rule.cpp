#include "dispatch/rule.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "support/error.hpp"
#include "variants/registry.hpp"

namespace softmax_dispatch::runtime {
namespace {

/// Rows up to N_to get this many threads.
struct Step {
  std::int64_t N_to = 0;
  std::int64_t threads = 0;
};

// Each length is what up to four float4 per thread hold, with a tail of three: a row then fills at least half of the
// registers that are held for it. The first three are for the threads of a warp, the others for those of the block.
constexpr std::array<Step, 8> kSteps{
    {{131, 128}, {259, 128}, {515, 128}, {1027, 256}, {2051, 256}, {4099, 256}, {8195, 512}, {16387, 1024}}};

/// Four float4 and a share of the tail: a thread that holds more of a row (as those of a kernel with one scan do) costs
/// occupancy.
constexpr std::int64_t kMostPerThread = 17;

/// The variant's configuration with least capacity for rows of N; none where it cannot serve them.
std::optional<Config> configure(const Variant& variant, DType dtype, std::int64_t N, const Constants& set,
                                const Target& target) {
  const Problem problem{dtype, 1, N};
  try {
    Config config{std::string(variant.id()), variant.complete(problem, set, target), dtype};
    const bool serves = variant.supports(problem.dtype, config.constants, target) &&
                        variant.supports(problem, config.constants, target) &&
                        variant.accurate_N(problem.dtype, config.constants) >= N;
    if (serves) return config;
  } catch (const Error& error) {
    if (error.code() != StatusCode::unsupported) throw;
  }
  return std::nullopt;
}

/// Whether the launch is an ordinary one, which any device can make for any number of rows.
bool stands_alone(const Geometry& geometry) {
  return geometry.together() == 1 && geometry.phases == 1 && geometry.workspace_bytes == 0;
}

/// Of the variants that serve the step: fewest scans, then the capacity that is wasted least, then the simplest.
std::optional<Config> configure(const Step& step, DType dtype, const Target& target, const Registry& variants) {
  std::optional<Config> best;
  std::tuple<int, std::int64_t, int> best_key;
  for (const Variant* variant : variants.all()) {
    if (!variant->selectable() || !variant->computes(dtype) || variant->serves_every_shape()) continue;
    auto config = configure(*variant, dtype, step.N_to, {{"THREADS", step.threads}}, target);
    if (!config || !stands_alone(variant->geometry({dtype, 1, step.N_to}, config->constants))) continue;
    const std::int64_t capacity = variant->capacity_N(config->dtype, config->constants);
    const std::int64_t threads_of_row = step.threads / variant->rows_per_block(config->constants);
    if (variant->scans() == 1 && capacity / threads_of_row > kMostPerThread) continue;
    const std::tuple key(variant->scans(), capacity, variant->complexity());
    if (best && best_key <= key) continue;
    best = std::move(config);
    best_key = key;
  }
  return best;
}

void add_threshold(table::Table& table, table::Band& band, std::int64_t N_to, Config config) {
  const std::string name = table::kernel_name(config);
  if (!band.thresholds.empty() && band.thresholds.back().use == name) {
    band.thresholds.back().N_to = N_to;
    return;
  }
  table::Threshold threshold;
  threshold.N_to = N_to;
  threshold.use = name;
  threshold.kernel.index = table.kernels.size();
  // A pin may name the same kernel.
  if (!table.find(name)) {
    table::Kernel kernel;
    kernel.name = name;
    kernel.config = std::move(config);
    table.kernels.push_back(std::move(kernel));
  }
  band.thresholds.push_back(std::move(threshold));
}

}  // namespace

void add_rule(table::Table& table, const Target& target, const Registry& variants) {
  const auto& all = variants.all();
  const auto last = std::find_if(all.begin(), all.end(), [](const Variant* one) { return one->serves_every_shape(); });
  if (last == all.end()) return;
  const Variant& unbounded = **last;
  for (const DType dtype : unbounded.dtypes()) {
    const auto same = [&](const table::OpTable& one) { return one.dtype == dtype; };
    if (std::any_of(table.tables.begin(), table.tables.end(), same)) continue;
    table::Band band;
    for (const Step& step : kSteps) {
      if (auto config = configure(step, dtype, target, variants))
        add_threshold(table, band, step.N_to, std::move(*config));
    }
    auto config = configure(unbounded, dtype, std::int64_t{1} << 20, {}, target);
    if (!config) throw_error(StatusCode::internal, "{} serves no row on {}", unbounded.id(), target.limits.arch);
    add_threshold(table, band, table::kOpen, std::move(*config));
    table::OpTable& op = table.tables.emplace_back();
    op.dtype = dtype;
    op.bands.push_back(std::move(band));
  }
}

table::Table rule_based_table(const Target& target) {
  table::Table table;
  table.device.arch = target.limits.arch;
  add_rule(table, target);
  return table;
}

}  // namespace softmax_dispatch::runtime
