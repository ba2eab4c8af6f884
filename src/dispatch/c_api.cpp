#include <softmax_dispatch/c_api.h>

#include <softmax_dispatch/softmax_dispatch.hpp>
#include <utility>

#include "dispatch/process.hpp"

namespace {

using softmax_dispatch::DType;
using softmax_dispatch::Problem;
using softmax_dispatch::Status;

thread_local Status last_failure;

smd_status report(Status status) noexcept {
  const auto code = static_cast<smd_status>(status.code());
  if (!status.ok()) last_failure = std::move(status);
  return code;
}

}  // namespace

smd_status smd_select_device(const char* device) {
  return report(softmax_dispatch::runtime::select_device(device));
}

smd_status smd_dispatch(const void* x, void* y, int64_t M, int64_t N, smd_dtype dtype, void* stream) {
  auto& process = softmax_dispatch::runtime::process_wide();
  if (!process.status.ok()) return report(process.status);
  const Problem problem{static_cast<DType>(dtype), M, N};
  return report(process.dispatcher.dispatch(x, y, problem, static_cast<softmax_dispatch::Stream>(stream)));
}

smd_status smd_prewarm(int64_t M, int64_t N, smd_dtype dtype) {
  const Problem problem{static_cast<DType>(dtype), M, N};
  return report(softmax_dispatch::prewarm(&problem, 1));
}

const char* smd_last_error(void) {
  return last_failure.message();
}

const char* smd_version(void) {
  return SOFTMAX_DISPATCH_VERSION;
}
