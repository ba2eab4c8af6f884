#include "dispatch/decisions.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "support/error.hpp"
#include "variants/axes.hpp"
#include "variants/registry.hpp"

namespace softmax_dispatch::runtime {
namespace {

/// The most rows that the variant accepts: any, or as many as its grid and its workspace allow.
std::int64_t most_rows(const Variant& variant, const Config& config, const Target& target) {
  const auto supports = [&](std::int64_t M) {
    return static_cast<bool>(variant.supports(Problem{config.dtype, M, 1}, config.constants, target));
  };
  if (supports(kUnbounded)) return kUnbounded;
  // Mostly as many as the grid's blocks have: a search asks sixty times, each time with a text that says why not.
  const std::int64_t of_grid = variant.rows_per_block(config.constants) * kMostBlocks;
  if (supports(of_grid) && !supports(of_grid + 1)) return of_grid;
  std::int64_t most = 0, too_many = kUnbounded;
  while (too_many - most > 1) {
    const std::int64_t middle = most + (too_many - most) / 2;
    (supports(middle) ? most : too_many) = middle;
  }
  return most;
}

Candidate make_candidate(const Variant& variant, Config config, const Target& target) {
  Candidate candidate;
  candidate.variant = &variant;
  candidate.macros = variant.macros(config.dtype, config.constants);
  candidate.max_M = most_rows(variant, config, target);
  candidate.max_N = variant.accurate_N(config.dtype, config.constants);
  candidate.config = std::move(config);
  return candidate;
}

/// A kernel whose blocks wait for each other exists on a device with as many SMs as the table's, and not on one of the
/// architecture with fewer: there it serves nothing, and others take its rows.
Candidate candidate_of(const table::Kernel& kernel, const Target& target, int sm_count_of_table,
                       const Registry& variants) {
  const Variant* variant = variants.find(kernel.config.variant);
  if (!variant) {
    throw_error(StatusCode::bad_table, "kernel {}: this version has no variant '{}'; retune with softmax-tune",
                kernel.name, kernel.config.variant);
  }
  if (!variant->selectable()) {
    throw_error(StatusCode::bad_table,
                "kernel {}: {} is a control for measurements and is never dispatched; name another variant",
                kernel.name, variant->id());
  }
  if (!variant->computes(kernel.config.dtype)) {
    throw_error(StatusCode::bad_table, "kernel {}: {} does not compute {}; name another variant", kernel.name,
                variant->id(), to_string(kernel.config.dtype));
  }
  const auto supported_by = [&](int sm_count) {
    return variant->supports(kernel.config.dtype, kernel.config.constants, Target{target.limits, sm_count});
  };
  const Support support = supported_by(target.sm_count);
  if (!support && !supported_by(sm_count_of_table)) {
    throw_error(StatusCode::bad_table, "kernel {} ({}) does not exist on {}: {}; retune with softmax-tune", kernel.name,
                to_string(kernel.config), target.limits.arch, support.reason);
  }
  Candidate candidate = make_candidate(*variant, kernel.config, target);
  candidate.code_hash = kernel.code_hash;
  candidate.verification = kernel.verification;
  if (kernel.verification) candidate.max_N = std::min(candidate.max_N, kernel.verification->N_to);
  if (!support) candidate.max_M = candidate.max_N = 0;
  return candidate;
}

}  // namespace

Decisions Decisions::from_table(table::Table table, const Target& target, const Registry& variants) {
  Decisions decisions;
  decisions.table_ = std::move(table);
  for (const table::Kernel& kernel : decisions.table_.kernels) {
    decisions.add(candidate_of(kernel, target, decisions.table_.device.sm_count, variants));
  }
  decisions.add_runner_ups();
  decisions.add_unbounded(target);
  decisions.sort_by_reach();
  return decisions;
}

Decisions Decisions::forced(const std::vector<Config>& configs, const Target& target, const Registry& variants) {
  Decisions decisions;
  std::string reasons;
  for (const Config& config : configs) {
    const Variant& variant = variants.at(config.variant);
    if (const Support support = variant.supports(config.dtype, config.constants, target); !support) {
      reasons += fmt::format("{}'{}': {}", reasons.empty() ? "" : "; ", to_string(config), support.reason);
      continue;
    }
    Candidate candidate = make_candidate(variant, config, target);
    // Who forces a kernel wants to see it beyond its range, too.
    candidate.max_N = variant.capacity_N(config.dtype, config.constants);
    decisions.add(std::move(candidate));
  }
  if (decisions.candidates_.empty()) {
    throw_error(StatusCode::unsupported, "the forced configuration does not exist on {}: {}", target.limits.arch,
                reasons);
  }
  return decisions;
}

void Decisions::add(Candidate candidate) {
  by_reach_[static_cast<std::size_t>(candidate.config.dtype)].push_back(static_cast<int>(candidates_.size()));
  candidates_.push_back(std::move(candidate));
}

void Decisions::add_runner_ups() {
  std::map<std::string, int> by_config;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    by_config.emplace(to_string(candidates_[i].config), static_cast<int>(i));
  }
  for (const table::OpTable& op : table_.tables) {
    for (const table::Band& band : op.bands) {
      for (const table::Threshold& threshold : band.thresholds) {
        if (!threshold.runner_up) continue;
        const auto found = by_config.find(*threshold.runner_up);
        if (found != by_config.end()) runner_ups_.emplace(&threshold, found->second);
      }
    }
  }
}

int Decisions::runner_up_of(const table::Threshold* threshold) const noexcept {
  const auto found = runner_ups_.find(threshold);
  return found == runner_ups_.end() ? kNone : found->second;
}

/// What serves every shape, whatever the table holds and whichever of its kernels are rejected.
void Decisions::add_unbounded(const Target& target) {
  const Variant& variant = unbounded_variant();
  for (const DType dtype : variant.dtypes()) {
    Config config{std::string(variant.id()), variant.complete(Problem{dtype, 1, 1}, {}, target), dtype};
    const auto same = [&](int index) { return candidates_[static_cast<std::size_t>(index)].config == config; };
    const std::vector<int>& present = by_reach_[static_cast<std::size_t>(dtype)];
    if (std::any_of(present.begin(), present.end(), same)) continue;
    add(make_candidate(variant, std::move(config), target));
  }
}

void Decisions::sort_by_reach() {
  for (std::vector<int>& of_type : by_reach_) {
    std::stable_sort(of_type.begin(), of_type.end(), [&](int a, int b) {
      return candidates_[static_cast<std::size_t>(a)].max_N < candidates_[static_cast<std::size_t>(b)].max_N;
    });
  }
}

}  // namespace softmax_dispatch::runtime
