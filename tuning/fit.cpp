#include "tuning/fit.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <span>

#include "support/error.hpp"
#include "tuning/fit_choice.hpp"
#include "tuning/fit_data.hpp"
#include "tuning/fit_subset.hpp"

namespace softmax_dispatch::tuning {
namespace {

/// Figures in a table are for people: no more digits than a measurement has.
double rounded(double value, double digits) {
  return std::round(value * digits) / digits;
}

table::Kernel kernel_of(const FitCandidate& candidate, const table::DeviceRecord& device) {
  const jit::Resources& used = candidate.compiled->resources;
  table::Kernel kernel;
  kernel.name = table::kernel_name(candidate.config);
  kernel.config = candidate.config;
  kernel.source_hash = candidate.compiled->source_hash;
  kernel.code_hash = candidate.compiled->code_hash;
  kernel.resources = {used.registers, used.stack_bytes, used.spill_store_bytes, used.spill_load_bytes,
                      used.shared_bytes};
  if (candidate.verified) {
    const verify::Outcome& outcome = candidate.verified->outcome;
    kernel.verification = table::VerificationRecord{device.name,   device.simulated, verify::kSuite,
                                                    outcome.cases, outcome.N_to,     outcome.worst_error};
  }
  return kernel;
}

/// Thresholds of one dtype.
class OpFit {
 public:
  OpFit(const FitData& data, double tie_pct, std::size_t most_kernels)
      : data_(data), few_(fastest_few(data, most_kernels)), bands_(choose_bands(few_, tie_pct)) {}

  table::OpTable table(DType dtype) const {
    table::OpTable result;
    result.dtype = dtype;
    if (bands_.empty()) {
      table::Threshold threshold;
      threshold.use = name(any_unbounded(data_.candidates));
      result.bands.push_back({1, table::kOpen, {threshold}});
    }
    for (std::size_t i = 0; i < bands_.size(); ++i) {
      table::Band band;
      band.M_from = i == 0 ? 1 : result.bands.back().M_to + 1;
      band.M_to = i + 1 == bands_.size() ? table::kOpen : middle(bands_[i].M.back(), bands_[i + 1].M.front());
      for (const auto& [alignment, stretches] : bands_[i].stretches)
        add_thresholds(band, bands_[i], alignment, stretches);
      result.bands.push_back(std::move(band));
    }
    return result;
  }

 private:
  std::string name(std::size_t candidate) const { return table::kernel_name(data_.candidates[candidate].config); }

  void add_thresholds(table::Band& band, const BandChoice& choice, table::Alignment alignment,
                      std::span<const StretchChoice> stretches) const {
    // Where one class was not measured, what serves the other is the best guess for it.
    const auto shown = choice.stretches.size() == 1 ? table::Alignment::any : alignment;
    for (std::size_t begin = 0, end = 0; begin < stretches.size(); begin = end) {
      const std::size_t candidate = stretches[begin].candidate;
      while (end < stretches.size() && stretches[end].candidate == candidate) ++end;
      const StretchChoice& last = stretches[end - 1];
      table::Threshold threshold;
      threshold.alignment = shown;
      threshold.use = name(candidate);
      threshold.N_to = last.N_to;
      const auto longer = few_.times.at(alignment).by_N().upper_bound(last.N);
      if (last.N_to != table::kOpen && longer != few_.times.at(alignment).by_N().end())
        threshold.crossover_N = std::pair(last.N, longer->first);
      add_runner_up(threshold, choice, alignment, stretches.subspan(begin, end - begin));
      band.thresholds.push_back(std::move(threshold));
    }
    if (band.thresholds.back().N_to == table::kOpen) return;
    table::Threshold last;
    last.alignment = shown;
    last.use = name(choice.unbounded.at(alignment));
    band.thresholds.push_back(std::move(last));
  }

  /// The fastest other candidate of those that could serve all of the threshold's stretches and were measured there.
  void add_runner_up(table::Threshold& threshold, const BandChoice& choice, table::Alignment alignment,
                     std::span<const StretchChoice> stretches) const {
    const FitTimes& times = data_.times.at(alignment);
    const std::size_t chosen = stretches.front().candidate;
    std::map<std::size_t, std::vector<double>> ratios;
    std::set<std::pair<std::int64_t, std::int64_t>> places;
    for (const StretchChoice& stretch : stretches) {
      for (const std::int64_t M : choice.M) {
        // Where the choice was measured, which is not everywhere if it is one of few.
        const std::int64_t source = source_M(few_.times.at(alignment), M, stretch.N);
        const FitTimes::Field& field = *times.at(source, stretch.N);
        // Beyond the capacity of another it may be chosen for what it does at the next length.
        if (!field.contains(chosen) || !places.emplace(source, stretch.N).second) continue;
        for (const auto& [candidate, time_us] : field) {
          const bool serves =
              !stretch.beyond_capacity || data_.candidates[candidate].limit_of(alignment) >= stretch.N_to;
          if (candidate != chosen && serves) ratios[candidate].push_back(std::log(time_us / field.at(chosen)));
        }
      }
    }
    std::pair best{static_cast<double>(INFINITY), std::size_t{0}};
    for (const auto& [candidate, logs] : ratios)
      if (logs.size() == places.size())
        best = std::min(best,
                        {std::accumulate(logs.begin(), logs.end(), 0.0) / static_cast<double>(logs.size()), candidate});
    if (best.first == INFINITY) return;
    threshold.margin_pct = rounded(100 * std::expm1(best.first), 10);
    threshold.runner_up = to_string(data_.candidates[best.second].config);
  }

  const FitData& data_;  ///< Of all candidates.
  FitData few_;          ///< Of those that the table may name.
  std::vector<BandChoice> bands_;
};

/// A person's pins with their kernels as they were: under the names that this tune gives to configurations, and without
/// the verification record of one that was tried again, for which only the new one counts.
std::vector<table::Kernel> take_pins(table::Table& table, const Journal& journal, const table::Table& previous) {
  std::vector<table::Kernel> kernels;
  for (table::Pin pin : previous.pins) {
    const table::Kernel* found = previous.find(pin.use);
    if (!found) continue;
    table::Kernel kernel = *found;
    kernel.name = pin.use = table::kernel_name(kernel.config);
    const auto tried = [&](const CompileEvent& event) { return event.config == kernel.config; };
    if (std::any_of(journal.compiles.begin(), journal.compiles.end(), tried)) kernel.verification.reset();
    table.pins.push_back(std::move(pin));
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

/// The kernels that thresholds and pins use.
void add_kernels(table::Table& table, const std::vector<FitData>& all, const std::vector<table::Kernel>& pinned) {
  std::set<std::string> used;
  for (const table::OpTable& op : table.tables)
    for (const table::Band& band : op.bands)
      for (const table::Threshold& threshold : band.thresholds) used.insert(threshold.use);
  for (const table::Pin& pin : table.pins) used.insert(pin.use);
  for (const FitData& data : all)
    for (const FitCandidate& candidate : data.candidates)
      if (used.erase(table::kernel_name(candidate.config)) > 0)
        table.kernels.push_back(kernel_of(candidate, table.device));
  for (const table::Kernel& kernel : pinned)
    if (used.erase(kernel.name) > 0) table.kernels.push_back(kernel);
  // A record says up to which row length it counts. A pin beyond it stays, and its kernel is verified at its first use.
  for (const table::Pin& pin : table.pins)
    for (table::Kernel& kernel : table.kernels)
      if (kernel.name == pin.use && kernel.verification && kernel.verification->N_to < pin.N_to)
        kernel.verification.reset();
}

/// Times of choices over the best, as logarithms.
struct Regret {
  double sum = 0, worst = 0;
  int count = 0;

  void add(double regret) {
    sum += regret;
    worst = std::max(worst, regret);
    ++count;
  }
  /// To a table, or to one type's part of it.
  void write_to(auto& record) const {
    if (count == 0) return;
    record.regret_geomean = rounded(std::exp(sum / count), 1e4);
    record.regret_worst = rounded(std::exp(worst), 1e4);
  }
};

/// Time of the table's choice over the best, over the measured shapes at which the choice was measured too.
void add_regret(table::Table& table, const std::vector<FitData>& all, const std::vector<DType>& dtypes) {
  Regret overall;
  for (std::size_t d = 0; d < all.size(); ++d) {
    Regret regret;
    for (const auto& [alignment, times] : all[d].times) {
      for (const auto& [N, fields] : times.by_N()) {
        for (const auto& [M, field] : fields) {
          const table::Kernel* kernel = table::lookup(table, {dtypes[d], M, N}, alignment).kernel;
          for (const auto& [candidate, time_us] : field) {
            if (all[d].candidates[candidate].config != kernel->config) continue;
            regret.add(std::log(time_us / best_us(field)));
          }
        }
      }
    }
    overall.sum += regret.sum;
    overall.worst = std::max(overall.worst, regret.worst);
    overall.count += regret.count;
    if (all.size() > 1) regret.write_to(table.tables[d]);
  }
  overall.write_to(table);
}

table::SweepRecord sweep_record(const Journal& journal) {
  table::SweepRecord sweep = journal.run->sweep;
  std::set<std::pair<Config, std::string>> measured;
  for (const MeasureEvent& event : journal.measurements) measured.emplace(event.config, to_string(event.problem));
  sweep.measurements = static_cast<std::int64_t>(measured.size());
  sweep.duration_s = journal.end ? rounded(journal.end->duration_s, 10) : 0;
  sweep.partial = !journal.end || journal.end->partial;
  return sweep;
}

}  // namespace

table::Table fit(const Journal& journal, const Registry& registry, const table::Table* previous, double tie_pct,
                 std::size_t most_kernels) {
  table::Table table;
  table.library_version = journal.run->library_version;
  table.device = journal.run->device;
  table.toolchain = journal.run->toolchain;
  table.sweep = sweep_record(journal);
  const std::vector<table::Kernel> pinned =
      previous ? take_pins(table, journal, *previous) : std::vector<table::Kernel>{};

  std::set<DType> compiled;
  for (const CompileEvent& event : journal.compiles) compiled.insert(event.config.dtype);
  const std::vector<DType> dtypes(compiled.begin(), compiled.end());
  std::vector<FitData> all;
  for (const DType dtype : dtypes) {
    all.push_back(fit_data(journal, registry, dtype));
    if (any_unbounded(all.back().candidates) == all.back().candidates.size())
      throw_error(
          StatusCode::verification_failed,
          "no configuration without a limit on N is compiled and verified for {}, so that long rows would have no "
          "kernel: see the rejected configurations for the reason",
          to_string(dtype));
    table.tables.push_back(OpFit(all.back(), tie_pct, most_kernels).table(dtype));
  }
  if (dtypes.empty())
    throw_error(StatusCode::verification_failed, "the journal has no compiled configuration: tune again");
  add_kernels(table, all, pinned);
  add_regret(table, all, dtypes);
  return table;
}

}  // namespace softmax_dispatch::tuning
