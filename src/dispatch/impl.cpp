#include "dispatch/impl.hpp"

#include <cstdint>
#include <utility>

#include "dispatch/arguments.hpp"
#include "dispatch/describe.hpp"
#include "support/error.hpp"
#include "support/log.hpp"

namespace softmax_dispatch {

using runtime::Choice;
using runtime::describe;
using runtime::DeviceKernels;

namespace {

table::Alignment alignment_of(const void* x, const void* y, const Problem& problem) noexcept {
  return table::alignment_of(x, y, problem.N, size_of(problem.dtype));
}

[[noreturn]] void fail_unserved(const DeviceKernels& kernels, const Problem& problem, const std::string& reasons) {
  if (reasons.empty()) {
    throw_error(StatusCode::unsupported, "{}: no kernel serves this shape on {}", to_string(problem),
                describe(kernels.device().info()));
  }
  throw_error(StatusCode::verification_failed, "{}: no kernel that serves this shape may be used on {}: {}",
              to_string(problem), describe(kernels.device().info()), reasons);
}

}  // namespace

Dispatcher::Impl::Impl(runtime::DecisionSource source, runtime::Backend& backend)
    : backend_(backend), source_(std::move(source)) {}

void Dispatcher::Impl::dispatch(const void* x, void* y, const Problem& problem, Stream stream) {
  if (runtime::check_arguments(x, y, problem) == 0) return;
  const int ordinal = backend_.current_device();
  if (DeviceKernels* kernels = find_device(ordinal)) {
    Choice choice;
    DeviceKernels::State state = DeviceKernels::State::useless;
    kernels->decisions().visit(problem, alignment_of(x, y, problem), [&](int index) {
      state = kernels->take(index, problem, stream, choice);
      return state != DeviceKernels::State::useless;
    });
    if (state == DeviceKernels::State::ready) return launch(*kernels, choice, x, y, problem, stream);
  }
  dispatch_cold(ordinal, x, y, problem, stream);
}

void Dispatcher::Impl::dispatch_cold(int ordinal, const void* x, void* y, const Problem& problem, Stream stream) {
  const table::Alignment alignment = alignment_of(x, y, problem);
  if (backend_.is_capturing(stream)) {
    const Choice choice = take_while_capturing(ordinal, problem, alignment, stream);
    return launch(*find_device(ordinal), choice, x, y, problem, stream);
  }
  DeviceKernels* kernels = nullptr;
  Choice choice;
  backend_.run_cold([&] {
    kernels = &get_device(ordinal);
    choice = prepare(*kernels, problem, alignment, stream, false);
  });
  launch(*kernels, choice, x, y, problem, stream);
}

Choice Dispatcher::Impl::take_while_capturing(int ordinal, const Problem& problem, table::Alignment alignment,
                                              Stream stream) const {
  Choice choice;
  bool lacks_workspace = false;
  DeviceKernels* kernels = find_device(ordinal);
  const bool found = kernels && kernels->decisions().visit(problem, alignment, [&](int index) {
    const DeviceKernels::State state = kernels->take(index, problem, stream, choice);
    lacks_workspace = lacks_workspace || (choice.geometry.workspace_bytes > 0 && !choice.workspace);
    return state == DeviceKernels::State::ready;
  });
  if (found) return choice;
  if (lacks_workspace) {
    throw_error(StatusCode::not_warmed,
                "{}: the stream is being captured, the kernel for this shape needs a workspace, and those reserved on "
                "device {} are all taken by other streams and graphs: call prewarm() for the shape before the capture "
                "begins, which reserves more",
                to_string(problem), ordinal);
  }
  throw_error(StatusCode::not_warmed,
              "{}: the stream is being captured and no kernel for this shape is loaded on device {}: call prewarm() "
              "for the shape, or dispatch it once, before the capture begins",
              to_string(problem), ordinal);
}

void Dispatcher::Impl::prewarm(std::span<const Problem> problems) {
  for (const Problem& problem : problems) {
    if (runtime::check_shape(problem) == 0) continue;
    const int ordinal = backend_.current_device();
    backend_.run_cold([&] {
      DeviceKernels& kernels = get_device(ordinal);
      prepare(kernels, problem, table::Alignment::unaligned, {}, true);
      const auto row_bytes = static_cast<std::uint64_t>(problem.N) * size_of(problem.dtype);
      if (row_bytes % 16 == 0) prepare(kernels, problem, table::Alignment::aligned, {}, true);
    });
  }
}

Config Dispatcher::Impl::choice(const Problem& problem, const std::string& arch) const {
  if (runtime::check_shape(problem) == 0) {
    throw_error(StatusCode::invalid_argument, "{} has no elements, so that no kernel runs: M and N must be at least 1",
                to_string(problem));
  }
  const runtime::Decisions decisions = source_.decisions(Target{arch_limits(arch), 0});
  const auto alignment = table::alignment_of(problem);
  Config chosen;
  const bool found = decisions.visit(problem, alignment, [&](int index) {
    chosen = decisions.candidates()[static_cast<std::size_t>(index)].config;
    return true;
  });
  if (!found) throw_error(StatusCode::unsupported, "{}: no kernel serves this shape on {}", to_string(problem), arch);
  return chosen;
}

void Dispatcher::Impl::launch(const DeviceKernels& kernels, const Choice& choice, const void* x, void* y,
                              const Problem& problem, Stream stream) {
  Launch launch{
      choice.kernel, choice.geometry, reinterpret_cast<DevicePtr>(x), reinterpret_cast<DevicePtr>(y), problem.M,
      problem.N,     choice.workspace};
  launch.element_bytes = static_cast<int>(size_of(problem.dtype));
  kernels.device().launch(launch, stream);
}

Choice Dispatcher::Impl::prepare(DeviceKernels& kernels, const Problem& problem, table::Alignment alignment,
                                 Stream stream, bool with_substitute) {
  Choice first;
  std::string reasons;
  kernels.decisions().visit(problem, alignment, [&](int index) {
    Choice choice;
    if (const Support support = kernels.prepare(index, problem, stream, choice); !support) {
      const auto& candidate = kernels.decisions().candidates()[static_cast<std::size_t>(index)];
      reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", to_string(candidate.config), support.reason);
      return false;
    }
    if (!first.kernel) first = choice;
    return !with_substitute || choice.geometry.workspace_bytes == 0;
  });
  if (!first.kernel) fail_unserved(kernels, problem, reasons);
  return first;
}

DeviceKernels* Dispatcher::Impl::find_device(int ordinal) const noexcept {
  if (ordinal < 0 || ordinal >= kMaxDevices) return nullptr;
  return devices_[static_cast<std::size_t>(ordinal)].load(std::memory_order_acquire);
}

DeviceKernels& Dispatcher::Impl::get_device(int ordinal) {
  if (ordinal < 0 || ordinal >= kMaxDevices) {
    throw_error(StatusCode::unsupported, "device {} is out of range: ordinals from 0 to {} are served", ordinal,
                kMaxDevices - 1);
  }
  const std::lock_guard lock(mutex_);
  if (DeviceKernels* known = find_device(ordinal)) return *known;
  Device& device = backend_.device(ordinal);
  const DeviceInfo& info = device.info();
  auto decisions =
      std::make_shared<const runtime::Decisions>(source_.decisions(Target{info.limits, info.sm_count}, &info));
  if (info.simulated) log(LogLevel::warn, "dispatching on {}: right values, no speed", describe(info));
  owned_.push_back(std::make_unique<DeviceKernels>(backend_, device, std::move(decisions)));
  devices_[static_cast<std::size_t>(ordinal)].store(owned_.back().get(), std::memory_order_release);
  return *owned_.back();
}

}  // namespace softmax_dispatch
