#include "tuning/worker_jobs.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "device/cuda/cuda.hpp"
#include "support/error.hpp"
#include "tuning/bench_kernels.hpp"
#include "tuning/simulation.hpp"

namespace softmax_dispatch::tuning {
namespace {

constexpr std::int64_t kCopyThreads[] = {128, 256, 512, 1024};

/// The driver decides which NVRTC fits, also where this worker only compiles; 0 where there is no driver.
int driver_major() {
  try {
    return cuda::driver_version() / 1000;
  } catch (const Error&) {
    return 0;
  }
}

/// The problem's matrix as a row of floats, of which the last may reach a little into the gap behind it.
Problem as_floats(const Problem& problem) {
  if (problem.dtype == DType::f32) return problem;
  return {DType::f32, 1, (problem.M * problem.N + 1) / 2};
}

/// One vector of four per thread (kernels_src/bench/copy.cu).
Geometry copy_geometry(const Problem& floats, std::int64_t threads) {
  const std::int64_t vectors = (floats.M * floats.N + 3) / 4;
  return {(vectors + threads - 1) / threads, static_cast<int>(threads), 0};
}

}  // namespace

WorkerJobs::WorkerJobs(const Registry& registry, const jit::Sources& sources, const WorkerSettings& settings,
                       const OpenDevice& open_device, std::function<void(const std::string&)> announce)
    : registry_(registry),
      settings_(settings),
      announce_([this, tell = std::move(announce)](const std::string& text) {
        announced_ = text;
        tell(text);
      }),
      device_(settings.device < 0 ? nullptr : open_device(settings)),
      compiler_(jit::Nvrtc::open(settings.nvrtc, driver_major()), sources, std::make_shared<jit::Cache>(settings.cache),
                settings.simulated ? jit::Output::ptx : jit::Output::cubin) {}

Device& WorkerJobs::device() {
  if (!device_) throw_error(StatusCode::internal, "this worker was started without a device");
  return *device_;
}

const DeviceInfo& WorkerJobs::device_info() {
  return device().info();
}

const std::string& WorkerJobs::nvrtc_build() const {
  return compiler_.nvrtc().build();
}

CompileResult WorkerJobs::compile(const Config& config) {
  announce_(to_string(config));
  CompileResult result;
  try {
    jit::CompiledKernel kernel = compiler_.compile(config.variant, macros_of(config), settings_.arch);
    result.code_hash = std::move(kernel.code_hash);
    result.source_hash = std::move(kernel.source_hash);
    result.resources = kernel.resources;
    result.compile_s = kernel.compile_s;
  } catch (const Error& error) {
    result.error = error.what();
  }
  return result;
}

Macros WorkerJobs::macros_of(const Config& config) const {
  if (config.variant == kCopyKernel) return config.constants;
  if (config.variant == kReduceOnceKernel) return {config.constants, config.dtype};
  return registry_.at(config.variant).macros(config.dtype, config.constants);
}

const LoadedKernel& WorkerJobs::loaded(const Config& config) {
  const Macros macros = macros_of(config);
  auto& kernel = loaded_[{config.variant, macros.constants, config.dtype}];
  if (!kernel) {
    const jit::CompiledKernel compiled = compiler_.compile(config.variant, macros, settings_.arch);
    kernel = device().load(compiled.image, compiled.entry, compiled.resources);
  }
  return *kernel;
}

verify::Outcome WorkerJobs::verify(const Config& config, verify::Depth depth) {
  const std::string name = to_string(config);
  announce_(name);
  const Variant& variant = registry_.at(config.variant);
  const LoadedKernel& kernel = loaded(config);
  const auto run = [&](Device& on, const LoadedKernel& of) {
    return verify::run(on, variant, config.dtype, config.constants, of, depth,
                       [&](const std::string& what) { announce_(fmt::format("{}: {}", name, what)); });
  };
  try {
    return run(device(), kernel);
  } catch (const sim::Fault&) {
    throw_with_line(config, run);
    throw;
  }
}

/// Throws what `again` meets with a kernel that knows its source's lines.
void WorkerJobs::throw_with_line(const Config& config, const Use& again) const {
  const Macros macros = macros_of(config);
  const Resources resources = compiler_.compile(config.variant, macros, settings_.arch).resources;
  tuning::throw_with_line(compiler_, config.variant, macros, settings_.arch, resources, again);
}

std::vector<TimeResult> WorkerJobs::time(const Problem& problem, const std::vector<Config>& configs,
                                         const TimingPlan& plan) {
  const Target target{device().info().limits, device().info().sm_count};
  std::vector<TimeResult> results(configs.size());
  std::vector<MeasureCandidate> candidates;
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < configs.size(); ++i) {
    const Config& config = configs[i];
    const Variant& variant = registry_.at(config.variant);
    if (config.dtype != problem.dtype) {
      results[i].error = fmt::format("it computes {}", to_string(config.dtype));
      continue;
    }
    if (const Support support = variant.supports(problem, config.constants, target); !support) {
      results[i].error = support.reason;
      continue;
    }
    announce_(to_string(config));
    try {
      const MeasureCandidate candidate{config, &loaded(config), variant.geometry(problem, config.constants)};
      if (const Support fits = device().co_resident(*candidate.kernel, candidate.geometry); !fits) {
        results[i].error = fits.reason;
        continue;
      }
      candidates.push_back(candidate);
      positions.push_back(i);
    } catch (const Error& error) {
      // An instruction that the simulated device does not know costs the candidate alone.
      if (error.code() != StatusCode::unsupported) throw;
      results[i].error = error.what();
    }
  }
  if (!measurer_) measurer_.emplace(device(), announce_);
  std::vector<TimeResult> timed = time(*measurer_, problem, candidates, plan);
  for (std::size_t i = 0; i < timed.size(); ++i) results[positions[i]] = std::move(timed[i]);
  return results;
}

std::vector<TimeResult> WorkerJobs::time(Measurer& measurer, const Problem& problem,
                                         std::span<const MeasureCandidate> candidates, const TimingPlan& plan) {
  try {
    return measurer.time(problem, candidates, plan);
  } catch (const sim::Fault&) {
    const auto guilty = std::find_if(candidates.begin(), candidates.end(),
                                     [&](const auto& one) { return to_string(one.config) == announced_; });
    if (guilty == candidates.end() || !registry_.find(guilty->config.variant)) throw;
    throw_with_line(guilty->config, [&](Device& on, const LoadedKernel& of) {
      const MeasureCandidate alone{guilty->config, &of, guilty->geometry};
      Measurer(on, announce_).time(problem, {&alone, 1}, plan);
    });
    throw;
  }
}

double WorkerJobs::copy_limit_us(const Problem& problem, const TimingPlan& plan) {
  if (!measurer_) measurer_.emplace(device(), announce_);
  std::vector<MeasureCandidate> kernels;
  for (const std::int64_t threads : kCopyThreads) {
    const Config copy{kCopyKernel, {{"THREADS", threads}}};
    const Problem floats = as_floats(problem);
    kernels.push_back({copy, &loaded(copy), copy_geometry(floats, threads), floats});
  }
  return measurer_->copy_limit_us(problem, kernels, plan);
}

TimeResult WorkerJobs::reduce_once(const Problem& problem, const Config& config, const TimingPlan& plan) {
  const std::optional<Config> kernel = reduce_once_of(registry_, config);
  if (!kernel) return {{}, fmt::format("{} does not reduce each row once in one launch", config.variant)};
  announce_(to_string(*kernel));
  try {
    const Geometry geometry = registry_.at(config.variant).geometry(problem, config.constants);
    const MeasureCandidate candidate{*kernel, &loaded(*kernel), geometry};
    if (const Support fits = device().co_resident(*candidate.kernel, geometry); !fits) return {{}, fits.reason};
    if (!measurer_) measurer_.emplace(device(), announce_);
    return measurer_->time(problem, {&candidate, 1}, plan).front();
  } catch (const Error& error) {
    // As for a candidate: an instruction that the simulated device does not know.
    if (error.code() != StatusCode::unsupported) throw;
    return {{}, error.what()};
  }
}

}  // namespace softmax_dispatch::tuning
