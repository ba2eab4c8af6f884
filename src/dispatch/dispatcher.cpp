#include <memory>
#include <softmax_dispatch/softmax_dispatch.hpp>
#include <utility>

#include "dispatch/device_choice.hpp"
#include "dispatch/impl.hpp"
#include "jit/cache.hpp"
#include "support/error.hpp"
#include "variants/registry.hpp"

namespace softmax_dispatch {
namespace {

constexpr const char* kNoTable =
    "this Dispatcher was made by its default constructor or was moved from: make one with Dispatcher::create()";

}  // namespace

Dispatcher::Dispatcher() noexcept = default;
Dispatcher::~Dispatcher() = default;
Dispatcher::Dispatcher(Dispatcher&&) noexcept = default;
Dispatcher& Dispatcher::operator=(Dispatcher&&) noexcept = default;

Status Dispatcher::create(const DispatcherOptions& options, Dispatcher& out) noexcept {
  return guarded([&] {
    runtime::DecisionSource source(options, registry(), jit::Cache::user_default());
    runtime::Backend& backend = runtime::backend_for(options, source);
    out.impl_ = std::make_unique<Impl>(std::move(source), backend);
  });
}

Status Dispatcher::dispatch(const float* x, float* y, std::int64_t M, std::int64_t N, Stream stream) noexcept {
  return dispatch(x, y, Problem{DType::f32, M, N}, stream);
}

Status Dispatcher::dispatch(const void* x, void* y, const Problem& problem, Stream stream) noexcept {
  if (!impl_) return {StatusCode::bad_table, kNoTable};
  return guarded([&] { impl_->dispatch(x, y, problem, stream); });
}

Status Dispatcher::prewarm(const Problem* problems, std::size_t count) noexcept {
  if (!impl_) return {StatusCode::bad_table, kNoTable};
  if (!problems && count > 0) {
    return {StatusCode::invalid_argument, "problems is null, but count is not 0: pass an array of count problems"};
  }
  return guarded([&] { impl_->prewarm({problems, count}); });
}

Status Dispatcher::choice(const Problem& problem, const char* arch, std::string& out) const noexcept {
  if (!impl_) return {StatusCode::bad_table, kNoTable};
  if (!arch) return {StatusCode::invalid_argument, "arch is null: name an architecture, e.g. \"sm_90\""};
  return guarded([&] { out = to_string(impl_->choice(problem, arch)); });
}

}  // namespace softmax_dispatch
