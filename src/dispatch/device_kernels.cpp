#include "dispatch/device_kernels.hpp"

#include <utility>

#include "dispatch/describe.hpp"
#include "support/error.hpp"
#include "support/log.hpp"

namespace softmax_dispatch::runtime {

const LoadedKernel DeviceKernels::kRejected;

DeviceKernels::DeviceKernels(Backend& backend, Device& device, std::shared_ptr<const Decisions> decisions)
    : backend_(backend),
      device_(device),
      decisions_(std::move(decisions)),
      outcomes_(backend.cache()),
      slots_(decisions_->candidates().size()),
      workspaces_(backend, device) {}

Geometry DeviceKernels::geometry_of(int index, const Problem& problem) const {
  const Candidate& candidate = decisions_->candidates()[static_cast<std::size_t>(index)];
  return candidate.variant->geometry(problem, candidate.config.constants);
}

DeviceKernels::State DeviceKernels::take(int index, const Problem& problem, Stream stream, Choice& choice) {
  if (rejected(index)) return State::useless;
  choice = {};
  choice.kernel = ready(index);
  if (!choice.kernel) return State::cold;
  choice.geometry = geometry_of(index, problem);
  const Residency::Answer answer = slot(index).residency.ask(choice.geometry);
  if (answer != Residency::Answer::fits) return answer == Residency::Answer::unknown ? State::cold : State::useless;
  if (choice.geometry.workspace_bytes == 0) return State::ready;
  const bool full = workspaces_.full();
  choice.workspace = workspaces_.find(stream, choice.geometry.workspace_bytes);
  return choice.workspace ? State::ready : full ? State::useless : State::cold;
}

Support DeviceKernels::prepare(int index, const Problem& problem, Stream stream, Choice& choice) {
  choice = {};
  choice.kernel = prepare(index);
  if (!choice.kernel) return Support::no(rejection(index));
  choice.geometry = geometry_of(index, problem);
  if (Support support = fits(index, *choice.kernel, choice.geometry); !support) return support;
  if (choice.geometry.workspace_bytes == 0) return Support::yes();
  choice.workspace = workspaces_.reserve(stream, choice.geometry.workspace_bytes);
  if (choice.workspace) return Support::yes();
  return Support::no(fmt::format("{} streams and graphs have a workspace, and no more get one", Workspaces::kMost));
}

Support DeviceKernels::fits(int index, const LoadedKernel& kernel, const Geometry& geometry) {
  Residency& residency = slot(index).residency;
  if (residency.ask(geometry) == Residency::Answer::fits) return Support::yes();
  Support support = device_.co_resident(kernel, geometry);
  const std::lock_guard lock(slot(index).mutex);
  if (residency.ask(geometry) != Residency::Answer::unknown) return support;
  residency.note(geometry, device_.resident_blocks(kernel, geometry));
  if (!support) {
    log(LogLevel::info, "{} is not used for {} blocks on {}: {}",
        to_string(decisions_->candidates()[static_cast<std::size_t>(index)].config), geometry.grid,
        describe(device_.info()), support.reason);
  }
  return support;
}

const LoadedKernel* DeviceKernels::prepare(int index) {
  Slot& slot = this->slot(index);
  const unsigned failures = slot.failures.load();
  const std::lock_guard lock(slot.mutex);
  if (const LoadedKernel* state = slot.state.load()) return state == &kRejected ? nullptr : state;
  // A thread that waited for an attempt shares its failure: it would only meet the same one again.
  if (slot.failures.load() != failures) check(slot.last_failure);
  const LoadedKernel* kernel = nullptr;
  const Status status =
      guarded([&] { kernel = make_ready(decisions_->candidates()[static_cast<std::size_t>(index)], slot); });
  if (!status.ok()) {
    slot.last_failure = status;
    ++slot.failures;
    check(status);
  }
  slot.state.store(kernel ? kernel : &kRejected, std::memory_order_release);
  return kernel;
}

std::string DeviceKernels::rejection(int index) const {
  const std::lock_guard lock(slot(index).mutex);
  return slot(index).rejection;
}

/// Null, with the reason in the slot, where the candidate must not be used.
const LoadedKernel* DeviceKernels::make_ready(const Candidate& candidate, Slot& slot) {
  const DeviceInfo& info = device_.info();
  const jit::CompiledKernel compiled =
      backend_.compile(std::string(candidate.variant->id()), candidate.macros, info.arch);
  std::shared_ptr<const LoadedKernel> kernel;
  if (compiled.resources.uses_local_memory()) {
    slot.rejection = fmt::format("its private array is in local memory ({} bytes of stack, {} bytes of spills)",
                                 compiled.resources.stack_bytes,
                                 compiled.resources.spill_store_bytes + compiled.resources.spill_load_bytes);
  } else {
    kernel = backend_.load(device_, compiled);
    if (!has_record(candidate, compiled.code_hash)) {
      const Outcomes::Verdict verdict = verify(candidate, *kernel, compiled.code_hash);
      if (!verdict.passed) slot.rejection = "it failed its verification: " + verdict.reason;
    }
  }
  if (!slot.rejection.empty()) {
    log(LogLevel::warn, "{} is not used on {}: {}", to_string(candidate.config), describe(info), slot.rejection);
    return nullptr;
  }
  log(LogLevel::info, "{} is ready on {}", to_string(candidate.config), describe(info));
  slot.kernel = std::move(kernel);
  return slot.kernel.get();
}

/// A record stands for this code on this model of GPU alone; one from a simulated device never stands for hardware,
/// where ptxas' output has not run.
bool DeviceKernels::has_record(const Candidate& candidate, const std::string& code_hash) const {
  const DeviceInfo& info = device_.info();
  const auto& record = candidate.verification;
  return record && candidate.code_hash == code_hash && record->suite == verify::kSuite && record->device == info.name &&
         record->simulated == info.simulated;
}

Outcomes::Verdict DeviceKernels::verify(const Candidate& candidate, const LoadedKernel& kernel,
                                        const std::string& code_hash) {
  const DeviceInfo& info = device_.info();
  if (auto verdict = outcomes_.find(code_hash, candidate.config, info)) return *std::move(verdict);
  const verify::Outcome outcome =
      backend_.verify(device_, *candidate.variant, candidate.config.dtype, candidate.config.constants, kernel);
  log(LogLevel::info, "{}: verified on {} with {} launches: {}", to_string(candidate.config), describe(info),
      outcome.cases, outcome.passed ? "passed" : outcome.reason);
  Outcomes::Verdict verdict{outcome.passed, outcome.reason};
  outcomes_.put(code_hash, candidate.config, info, verdict);
  return verdict;
}

}  // namespace softmax_dispatch::runtime
