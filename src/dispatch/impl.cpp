#include "dispatch/impl.hpp"

#include <cstdint>
#include <utility>

#include "dispatch/arguments.hpp"
#include "dispatch/describe.hpp"
#include "support/error.hpp"
#include "support/log.hpp"

namespace softmax_dispatch {

using runtime::describe;
using runtime::DeviceKernels;

namespace {

table::Alignment alignment_of(const void* x, const void* y, const Problem& problem) noexcept {
  return table::alignment_of(x, y, problem.N, size_of(problem.dtype));
}

[[noreturn]] void fail_unserved(const DeviceKernels& kernels, const Problem& problem, table::Alignment alignment) {
  std::string reasons;
  kernels.decisions().visit(problem, alignment, [&](int index) {
    const auto& candidate = kernels.decisions().candidates()[static_cast<std::size_t>(index)];
    reasons +=
        fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", to_string(candidate.config), kernels.rejection(index));
    return false;
  });
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
  if (const DeviceKernels* kernels = find_device(ordinal)) {
    Selection selection;
    kernels->decisions().visit(problem, alignment_of(x, y, problem), [&](int index) {
      if (kernels->rejected(index)) return false;
      selection = {index, kernels->ready(index)};
      return true;
    });
    if (selection.kernel) return launch(*kernels, selection, x, y, problem, stream);
  }
  dispatch_cold(ordinal, x, y, problem, stream);
}

void Dispatcher::Impl::dispatch_cold(int ordinal, const void* x, void* y, const Problem& problem, Stream stream) {
  const table::Alignment alignment = alignment_of(x, y, problem);
  Selection selection;
  if (backend_.is_capturing(stream)) {
    const DeviceKernels* kernels = find_device(ordinal);
    if (kernels) {
      kernels->decisions().visit(problem, alignment, [&](int index) {
        selection = {index, kernels->ready(index)};
        return selection.kernel != nullptr;
      });
    }
    if (!selection.kernel) {
      throw_error(
          StatusCode::not_warmed,
          "{}: the stream is being captured and no kernel for this shape is loaded on device {}: call prewarm() "
          "for the shape, or dispatch it once, before the capture begins",
          to_string(problem), ordinal);
    }
    return launch(*kernels, selection, x, y, problem, stream);
  }
  DeviceKernels* kernels = nullptr;
  backend_.run_cold([&] {
    kernels = &get_device(ordinal);
    selection = prepare(*kernels, problem, alignment);
  });
  launch(*kernels, selection, x, y, problem, stream);
}

void Dispatcher::Impl::prewarm(std::span<const Problem> problems) {
  for (const Problem& problem : problems) {
    if (runtime::check_shape(problem) == 0) continue;
    const int ordinal = backend_.current_device();
    backend_.run_cold([&] {
      DeviceKernels& kernels = get_device(ordinal);
      prepare(kernels, problem, table::Alignment::unaligned);
      const auto row_bytes = static_cast<std::uint64_t>(problem.N) * size_of(problem.dtype);
      if (row_bytes % 16 == 0) prepare(kernels, problem, table::Alignment::aligned);
    });
  }
}

Config Dispatcher::Impl::choice(const Problem& problem, const std::string& arch) const {
  if (runtime::check_shape(problem) == 0) {
    throw_error(StatusCode::invalid_argument, "{} has no elements, so that no kernel runs: M and N must be at least 1",
                to_string(problem));
  }
  const runtime::Decisions decisions = source_.decisions(Target{arch_limits(arch), 0});
  const auto alignment = table::alignment_of(nullptr, nullptr, problem.N, size_of(problem.dtype));
  Config chosen;
  const bool found = decisions.visit(problem, alignment, [&](int index) {
    chosen = decisions.candidates()[static_cast<std::size_t>(index)].config;
    return true;
  });
  if (!found) throw_error(StatusCode::unsupported, "{}: no kernel serves this shape on {}", to_string(problem), arch);
  return chosen;
}

void Dispatcher::Impl::launch(const DeviceKernels& kernels, Selection selection, const void* x, void* y,
                              const Problem& problem, Stream stream) {
  const auto& candidate = kernels.decisions().candidates()[static_cast<std::size_t>(selection.index)];
  Launch launch{selection.kernel,
                candidate.variant->geometry(problem, candidate.config.constants),
                reinterpret_cast<DevicePtr>(x),
                reinterpret_cast<DevicePtr>(y),
                problem.M,
                problem.N};
  launch.element_bytes = static_cast<int>(size_of(problem.dtype));
  kernels.device().launch(launch, stream);
}

Dispatcher::Impl::Selection Dispatcher::Impl::prepare(DeviceKernels& kernels, const Problem& problem,
                                                      table::Alignment alignment) {
  Selection selection;
  kernels.decisions().visit(problem, alignment, [&](int index) {
    selection = {index, kernels.prepare(index)};
    return selection.kernel != nullptr;
  });
  if (!selection.kernel) fail_unserved(kernels, problem, alignment);
  return selection;
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
