#include "tuning/tuner.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "support/error.hpp"
#include "support/log.hpp"
#include "tuning/candidates.hpp"
#include "tuning/fit.hpp"
#include "tuning/journal.hpp"
#include "tuning/run_event.hpp"
#include "tuning/shape_pool.hpp"
#include "tuning/shape_timer.hpp"
#include "tuning/stages.hpp"

namespace softmax_dispatch::tuning {
namespace {

using Clock = std::chrono::steady_clock;

std::string local_memory_text(const jit::Resources& resources) {
  return fmt::format(
      "uses local memory, which is device memory: a stack of {} bytes, spills of {} bytes stored and {} loaded",
      resources.stack_bytes, resources.spill_store_bytes, resources.spill_load_bytes);
}

/// One tune of one device. The steps share what came out of the ones before them.
class Tune {
 public:
  Tune(const TuneOptions& options, const Registry& registry, const jit::Sources& sources)
      : options_(options),
        registry_(registry),
        sources_(sources),
        settings_{options.arch, options.device, options.cache, "", options.simulated},
        timer_(options.worker, settings_,
               [this](const Config& config, const std::string& reason) { quarantine(config, "measure", reason); }) {}

  TuneResult run() {
    open_device();
    journal_.emplace(options_.journal);
    journal_->append(run_event());
    const bool verify_all = options_.verify_all.value_or(!info_.simulated);
    for (const auto& [dtype, configs] : configs_) {
      std::vector<Config> candidates = compile(configs);
      if (verify_all) candidates = verify(candidates);
      std::erase_if(candidates, [&](const Config& one) { return !registry_.at(one.variant).selectable(); });
      ++dtypes_begun_;
      measure(dtype, candidates);
    }
    if (!verify_all) verify_chosen();
    journal_->append(EndEvent{elapsed_s(), partial_});
    journal_.reset();
    report("fit", 0, 1, "");
    TuneResult result{fit_journal(), std::move(rejected_)};
    report("fit", 1, 1, "");
    return result;
  }

 private:
  double elapsed_s() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  bool interrupted() const { return options_.interrupted && options_.interrupted->load(); }

  void report(const std::string& stage, std::size_t done, std::size_t total, const std::string& detail,
              std::optional<double> seconds_left = {}) const {
    if (options_.progress)
      options_.progress(
          {stage, static_cast<std::int64_t>(done), static_cast<std::int64_t>(total), detail, seconds_left});
  }

  void reject(const Config& config, const std::string& stage, const std::string& reason) {
    log(LogLevel::info, "{} rejected ({}): {}", to_string(config), stage, reason);
    rejected_.push_back({config, stage, reason});
  }

  void quarantine(const Config& config, const std::string& stage, const std::string& reason) {
    journal_->append(QuarantineEvent{config, stage, reason});
    reject(config, stage, reason);
  }

  void open_device() {
    info_ = timer_.worker().device_info();
    if (info_.arch != options_.arch)
      throw_error(StatusCode::no_device,
                  "device {} is a {} of architecture {}, not {}: name its own architecture, or another device",
                  options_.device, info_.name, info_.arch, options_.arch);
    target_ = {info_.limits, info_.sm_count};
    for (const DType dtype : options_.dtypes) {
      std::vector<Config> configs = sweep_configs(options_.sweep, registry_, target_, dtype);
      if (options_.simulated) drop_what_is_not_modelled(configs);
      if (configs.empty())
        throw_error(StatusCode::unsupported, "no variant computes {}: take another dtype", to_string(dtype));
      const std::vector<Problem> shapes = shapes_of(dtype);
      if (shapes.empty())
        throw_error(StatusCode::invalid_argument,
                    "no shape of the sweep has at most {} elements and fits the device's memory: take smaller M or N",
                    options_.sweep.max_elements);
      keep_candidates(configs, shapes, registry_, target_);
      add_pinned(dtype, configs);
      configs_.emplace_back(dtype, std::move(configs));
    }
  }

  /// The kernels of a person's pins are verified again with the others, so that their records are of today's code.
  /// The timing model knows nothing of blocks that wait for each other.
  void drop_what_is_not_modelled(std::vector<Config>& configs) const {
    std::erase_if(configs, [&](const Config& config) {
      return registry_.at(config.variant).geometry({config.dtype, 1, 1}, config.constants).together() > 1;
    });
  }

  void add_pinned(DType dtype, std::vector<Config>& configs) const {
    if (!options_.previous) return;
    for (const table::Pin& pin : options_.previous->pins) {
      const table::Kernel* kernel = options_.previous->find(pin.use);
      if (!kernel || kernel->config.dtype != dtype ||
          std::find(configs.begin(), configs.end(), kernel->config) != configs.end())
        continue;
      const Variant* variant = registry_.find(kernel->config.variant);
      if (variant && variant->supports(dtype, kernel->config.constants, target_)) configs.push_back(kernel->config);
    }
  }

  RunEvent run_event() {
    std::int64_t count = 0;
    for (const auto& [dtype, configs] : configs_) count += static_cast<std::int64_t>(configs.size());
    return tuning::run_event(options_, info_, timer_.worker().nvrtc_build(), count);
  }

  /// Remaining time at the pace so far.
  static std::optional<double> seconds_left(Clock::time_point start, double done, double total) {
    if (done <= 0) return std::nullopt;
    return std::chrono::duration<double>(Clock::now() - start).count() / done * (total - done);
  }

  /// A table made by other kernels than this program has would be refused kernel by kernel when it is dispatched on.
  void check_source(const Config& code, const CompileResult& result) const {
    if (!result.error && result.source_hash != sources_.hash(code.variant))
      throw_error(StatusCode::internal,
                  "the worker {} has another source of {} than this program: run the two from one build",
                  options_.worker.program, code.variant);
  }

  /// Configurations that compiled and stay out of local memory. Launch parameters do not change the code: each code is
  /// compiled once.
  std::vector<Config> compile(const std::vector<Config>& configs) {
    std::vector<Config> codes;
    std::map<Config, std::vector<Config>> configs_of_code;
    for (const Config& config : configs) {
      Config code{config.variant, registry_.at(config.variant).compile_time(config.constants), config.dtype};
      auto& users = configs_of_code[code];
      if (users.empty()) codes.push_back(std::move(code));
      users.push_back(config);
    }
    std::map<Config, bool> usable;
    std::size_t done = 0;
    const Clock::time_point start = Clock::now();
    const auto on_result = [&](std::size_t i, const CompileResult& result) {
      check_source(codes[i], result);
      for (const Config& config : configs_of_code.at(codes[i])) {
        journal_->append(CompileEvent{config, result.source_hash, result.code_hash, result.resources, result.error});
        if (result.error)
          reject(config, "compile", *result.error);
        else if (result.resources.uses_local_memory())
          reject(config, "resources", local_memory_text(result.resources));
        else
          code_hash_[config] = result.code_hash;
      }
      ++done;
      report("compile", done, codes.size(), to_string(codes[i]),
             seconds_left(start, static_cast<double>(done), static_cast<double>(codes.size())));
    };
    report("compile", 0, codes.size(), "");
    compile_configs(codes, options_.worker, settings_, on_result, options_.interrupted);
    std::vector<Config> compiled;
    for (const Config& config : configs)
      if (code_hash_.contains(config)) compiled.push_back(config);
    return compiled;
  }

  std::vector<Config> verify(const std::vector<Config>& configs) {
    std::set<Config> passed;
    std::size_t done = 0;
    const Clock::time_point start = Clock::now();
    const auto on_result = [&](std::size_t i, const Verified& verified) {
      const Config& config = configs[i];
      if (verified.lost) {
        quarantine(config, "verify", verified.outcome.reason);
      } else {
        journal_->append(VerifyEvent{config, code_hash_.at(config), verified.outcome});
        if (verified.outcome.passed)
          passed.insert(config);
        else
          reject(config, "verify", verified.outcome.reason);
      }
      ++done;
      report("verify", done, configs.size(), to_string(config),
             seconds_left(start, static_cast<double>(done), static_cast<double>(configs.size())));
    };
    report("verify", 0, configs.size(), "");
    verify_configs(configs, verify::Depth::full, options_.worker, settings_, on_result, options_.interrupted,
                   options_.verify_limit_s);
    std::vector<Config> verified;
    for (const Config& config : configs)
      if (passed.contains(config)) verified.push_back(config);
    return verified;
  }

  /// Until every kernel of the table is verified, but for what a person pinned and failed.
  void verify_chosen() {
    std::set<Config> tried;
    while (!interrupted()) {
      std::vector<Config> chosen;
      for (const table::Kernel& kernel : fit_journal().kernels) {
        const bool unknown = !kernel.verification && code_hash_.contains(kernel.config);
        if (unknown && tried.insert(kernel.config).second) chosen.push_back(kernel.config);
      }
      if (chosen.empty()) return;
      // Those for the longest rows take longest: no worker is to be left with one at the end.
      const auto N_to = [&](const Config& one) {
        return registry_.at(one.variant).accurate_N(one.dtype, one.constants);
      };
      std::ranges::stable_sort(chosen, std::ranges::greater(), N_to);
      verify(chosen);
    }
    partial_ = true;
  }

  bool time_is_up() const {
    if (interrupted()) return true;
    if (!options_.budget_s) return false;
    const double share = static_cast<double>(dtypes_begun_) / static_cast<double>(configs_.size());
    return elapsed_s() >= share * *options_.budget_s;
  }

  /// The shapes of a dtype, and how far measuring them is; a shape takes as long as it has candidates.
  struct Measuring {
    std::vector<ShapeField> todo;
    double total = 0, done = 0;
    std::size_t shapes_done = 0;
    Clock::time_point start = Clock::now();
  };

  void measure(DType dtype, const std::vector<Config>& configs) {
    Measuring measuring;
    for (const Problem& problem : coarse_to_fine(shapes_of(dtype))) {
      measuring.todo.push_back({problem, candidates_at(problem, configs, registry_, target_)});
      measuring.total += static_cast<double>(measuring.todo.back().candidates.size());
    }
    if (info_.simulated)
      measure_on_all_cores(measuring);
    else
      measure_in_turn(measuring);
    partial_ = partial_ || interrupted() || measuring.shapes_done < measuring.todo.size();
  }

  void measure_in_turn(Measuring& measuring) {
    const ShapePlan plan = shape_plan();
    for (const ShapeField& shape : measuring.todo) {
      if (time_is_up()) return;
      report("measure", measuring.shapes_done, measuring.todo.size(), to_string(shape.problem),
             seconds_left(measuring.start, measuring.done, measuring.total));
      note(measuring, shape, timer_.time(shape.problem, shape.candidates, plan));
    }
  }

  void measure_on_all_cores(Measuring& measuring) {
    std::atomic<bool> stop = time_is_up();
    report("measure", 0, measuring.todo.size(), "");
    ShapeEvents events;
    events.timed = [&](std::size_t i, const std::vector<Timed>& field) {
      note(measuring, measuring.todo[i], field);
      if (time_is_up()) stop = true;
    };
    events.quarantined = [&](const Config& config, const std::string& reason) {
      quarantine(config, "measure", reason);
    };
    time_shapes(measuring.todo, shape_plan().screen, options_.worker, settings_, events, stop);
  }

  void note(Measuring& measuring, const ShapeField& shape, const std::vector<Timed>& field) {
    const std::string best = record(shape.problem, field);
    measuring.done += static_cast<double>(shape.candidates.size());
    report("measure", ++measuring.shapes_done, measuring.todo.size(),
           fmt::format("{} best {}", to_string(shape.problem), best),
           seconds_left(measuring.start, measuring.done, measuring.total));
  }

  /// The sweep's shapes of which two pairs of buffers fit the device.
  std::vector<Problem> shapes_of(DType dtype) const {
    std::vector<Problem> all = shapes(options_.sweep, dtype);
    const std::int64_t most = info_.memory_bytes / 4 / static_cast<std::int64_t>(size_of(dtype));
    std::erase_if(all, [&](const Problem& problem) { return problem.M > most / problem.N; });
    return all;
  }

  ShapePlan shape_plan() const {
    const Sweep& sweep = options_.sweep;
    const bool graph = options_.protocol == Protocol::graph;
    return {{options_.protocol, sweep.screen_replays, options_.seed, sweep.max_launches, sweep.race_factor},
            sweep.finalist_factor,
            graph ? sweep.final_replays : 0};
  }

  /// Journals the times of one shape; the best in words.
  std::string record(const Problem& problem, const std::vector<Timed>& field) {
    const Timed* best = nullptr;
    for (const Timed& timed : field) {
      if (timed.error) {
        log(LogLevel::debug, "{} has no time at {}: {}", to_string(timed.config), to_string(problem), *timed.error);
        continue;
      }
      journal_->append(MeasureEvent{timed.config, problem, timed.timing, timed.final});
      if (!best || timed.timing.median_us < best->timing.median_us) best = &timed;
    }
    return best ? fmt::format("{} {:.2f} us", to_string(best->config), best->timing.median_us) : "none";
  }

  table::Table fit_journal() const {
    try {
      return fit(read_journal(options_.journal), registry_, options_.previous ? &*options_.previous : nullptr);
    } catch (const Error& error) {
      if (!interrupted() || error.code() != StatusCode::verification_failed) throw;
      throw_error(StatusCode::verification_failed, "interrupted before there was anything to choose from: {}",
                  error.what());
    }
  }

  const TuneOptions& options_;
  const Registry& registry_;
  const jit::Sources& sources_;
  const WorkerSettings settings_;
  const Clock::time_point start_ = Clock::now();
  ShapeTimer timer_;
  DeviceInfo info_;
  Target target_;
  std::vector<std::pair<DType, std::vector<Config>>> configs_;
  std::map<Config, std::string> code_hash_;
  std::optional<JournalWriter> journal_;
  std::vector<Rejected> rejected_;
  std::size_t dtypes_begun_ = 0;  ///< Of which measuring has begun.
  bool partial_ = false;
};

}  // namespace

TuneResult tune(const TuneOptions& options, const Registry& registry, const jit::Sources& sources) {
  return Tune(options, registry, sources).run();
}

}  // namespace softmax_dispatch::tuning
