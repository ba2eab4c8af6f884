#include "dispatch/process.hpp"

#include <cstddef>
#include <mutex>
#include <new>
#include <softmax_dispatch/softmax_dispatch.hpp>
#include <string>

#include "dispatch/device_choice.hpp"
#include "support/env.hpp"
#include "support/error.hpp"

namespace softmax_dispatch {
namespace runtime {
namespace {

/// The device that the dispatcher is made for. Never destroyed, like the dispatcher.
struct Selection {
  std::mutex mutex;
  std::string device;
  bool used = false;
};
Selection& selection() {
  static Selection& instance = *new Selection;
  return instance;
}

std::string use_selection() {
  Selection& selected = selection();
  const std::lock_guard lock(selected.mutex);
  selected.used = true;
  return selected.device;
}

ProcessWide& make() noexcept {
  // Never destroyed: other threads and destructors of static objects may call while the process ends.
  alignas(ProcessWide) static std::byte storage[sizeof(ProcessWide)];
  ProcessWide& made = *new (storage) ProcessWide;
  made.status = guarded([&] {
    DispatcherOptions options;
    options.table = env::table().value_or("");
    options.device = use_selection();
    check(Dispatcher::create(options, made.dispatcher));
  });
  return made;
}

}  // namespace

ProcessWide& process_wide() noexcept {
  static ProcessWide& instance = make();
  return instance;
}

Status select_device(const char* device) noexcept {
  return guarded([&] {
    if (!device) throw_error(StatusCode::invalid_argument, "device is null: name one, e.g. \"sim\"");
    if (*device) parse_device(device, "device");
    Selection& selected = selection();
    const std::lock_guard lock(selected.mutex);
    if (selected.used) {
      throw_error(
          StatusCode::invalid_argument,
          "device is '{}', but this process dispatches already: select one before the first dispatch or prewarm",
          device);
    }
    selected.device = device;
  });
}

}  // namespace runtime

Status dispatch(const float* x, float* y, std::int64_t M, std::int64_t N, Stream stream) noexcept {
  runtime::ProcessWide& process = runtime::process_wide();
  if (!process.status.ok()) return process.status;
  return process.dispatcher.dispatch(x, y, M, N, stream);
}

Status dispatch(const void* x, void* y, const Problem& problem, Stream stream) noexcept {
  runtime::ProcessWide& process = runtime::process_wide();
  if (!process.status.ok()) return process.status;
  return process.dispatcher.dispatch(x, y, problem, stream);
}

Status prewarm(const Problem* problems, std::size_t count) noexcept {
  runtime::ProcessWide& process = runtime::process_wide();
  if (!process.status.ok()) return process.status;
  return process.dispatcher.prewarm(problems, count);
}

}  // namespace softmax_dispatch
