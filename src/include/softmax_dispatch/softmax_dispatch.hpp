#pragma once

/// Row-wise softmax on NVIDIA GPUs by the fastest verified kernel for the shape.
///
///     #include <softmax_dispatch/softmax_dispatch.hpp>
///     softmax_dispatch::Status status = softmax_dispatch::dispatch(x, y, M, N, stream);
///     if (!status.ok()) std::fprintf(stderr, "%s\n", status.message());

#include <softmax_dispatch/version.h>

#include <cstdint>
#include <softmax_dispatch/dispatcher.hpp>
#include <softmax_dispatch/problem.hpp>
#include <softmax_dispatch/status.hpp>

namespace softmax_dispatch {

/// Dispatcher::dispatch on a process-wide dispatcher. It is made at the first call, from the table named by the
/// environment variable SOFTMAX_DISPATCH_TABLE, else from the tables shipped with the library. A table that cannot be
/// read makes every call return the same error: nothing is silently replaced. SOFTMAX_DISPATCH_DEVICE=sim makes it
/// compute on a simulated GPU, with x and y in the program's own memory (DispatcherOptions::device).
SOFTMAX_DISPATCH_API Status dispatch(const float* x, float* y, std::int64_t M, std::int64_t N,
                                     Stream stream = {}) noexcept;

/// The same for the type named in `problem`.
SOFTMAX_DISPATCH_API Status dispatch(const void* x, void* y, const Problem& problem, Stream stream = {}) noexcept;

/// Dispatcher::prewarm on the process-wide dispatcher.
SOFTMAX_DISPATCH_API Status prewarm(const Problem* problems, std::size_t count) noexcept;

}  // namespace softmax_dispatch
