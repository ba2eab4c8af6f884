#include "dispatch/process.hpp"

#include <cstddef>
#include <new>
#include <softmax_dispatch/softmax_dispatch.hpp>

#include "support/env.hpp"
#include "support/error.hpp"

namespace softmax_dispatch {
namespace runtime {
namespace {

ProcessWide& make() noexcept {
  // Never destroyed: other threads and destructors of static objects may call while the process ends.
  alignas(ProcessWide) static std::byte storage[sizeof(ProcessWide)];
  ProcessWide& made = *new (storage) ProcessWide;
  made.status = guarded([&] {
    DispatcherOptions options;
    options.table = env::table().value_or("");
    check(Dispatcher::create(options, made.dispatcher));
  });
  return made;
}

}  // namespace

ProcessWide& process_wide() noexcept {
  static ProcessWide& instance = make();
  return instance;
}

}  // namespace runtime

Status dispatch(const float* x, float* y, std::int64_t M, std::int64_t N, Stream stream) noexcept {
  runtime::ProcessWide& process = runtime::process_wide();
  if (!process.status.ok()) return process.status;
  return process.dispatcher.dispatch(x, y, M, N, stream);
}

Status prewarm(const Problem* problems, std::size_t count) noexcept {
  runtime::ProcessWide& process = runtime::process_wide();
  if (!process.status.ok()) return process.status;
  return process.dispatcher.prewarm(problems, count);
}

}  // namespace softmax_dispatch
