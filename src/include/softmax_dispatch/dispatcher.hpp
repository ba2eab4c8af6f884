#pragma once

#include <softmax_dispatch/export.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <softmax_dispatch/problem.hpp>
#include <softmax_dispatch/status.hpp>
#include <string>

struct CUstream_st;

namespace softmax_dispatch {

/// A CUstream or cudaStream_t: the two are the same type. Null is the legacy default stream.
using Stream = CUstream_st*;

/// Where a Dispatcher takes its decisions from.
struct DispatcherOptions {
  /// Path of a decision table written by softmax-tune. Empty: the table shipped for each device's architecture. Where
  /// none is shipped, and for types of which the table says nothing: a rule-based choice among kernels that are
  /// verified on the device before their first use.
  std::string table;
  /// When not empty, every dispatch uses this configuration, e.g. "v7 THREADS=256 VEC_ITEMS=4", where it supports the
  /// shape (unsupported otherwise): for the type that follows the id ("unbounded f16 THREADS=256"), or where none does
  /// for every type that the variant computes. For experiments and bug reports.
  std::string force;
  /// What to compute on: "cuda", the GPUs; "sim", a simulated GPU of the table's architecture, or of sm_75 where
  /// `table` is empty; "sim:ARCH", e.g. "sim:sm_90", one of that architecture. Empty: as the environment variable
  /// SOFTMAX_DISPATCH_DEVICE says in the same words, else "cuda".
  std::string device = {};
};

/// Chooses, for every shape, the fastest verified softmax kernel of a decision table, and launches it.
///
/// Devices: a call uses the calling thread's current context, or device 0's primary context (made current) where there
/// is none, as the CUDA runtime does. One Dispatcher serves every device of the process. Threads: all member functions
/// may be called from any thread at any time. A warm call takes no lock. Cold and warm: the first call for a kernel on
/// a device compiles it (or reads it from the cache on disk), loads it, and, unless the table's verification record
/// covers exactly this code on this device, verifies it there. From then on a call for any shape that the kernel serves
/// is warm: no compile, allocation, lock or synchronisation. CUDA graphs: a warm dispatch may be captured. A cold one
/// in a capturing stream launches a warm kernel that can serve the shape, or returns not_warmed; it never compiles,
/// allocates or synchronises there. Workspaces: some kernels need a little device memory of their own. It belongs to
/// one stream, or to one captured graph until the graph and its instances are destroyed: two instances of one graph
/// must not run at once. prewarm() reserves it for the default stream, 8 streams that come later and 64 captures, and a
/// cold call for its stream; prewarm() again, before further captures, reserves what they have used up. The first 32
/// captures, up to 128 with further prewarm(), keep it as long as the Dispatcher lives: giving it back costs 1.3 us in
/// each launch of the graph. A stream that has none makes its first call cold; a capture for which none is left
/// launches a kernel that needs none, or returns not_warmed. At most 512 streams and graphs of a device have one;
/// further streams use kernels that need none. Lifetime: a Dispatcher owns the kernels it loaded. It must outlive the
/// work it launched and the graphs that captured it.
///
/// On a simulated GPU (options.device) the CPU executes the PTX that NVRTC makes for the architecture, and needs no
/// driver. The values are those of the kernels; a call takes thousands of times as long, takes locks and allocates. x
/// and y are then pointers to the program's own memory: a device pointer cannot be told from one and must not be
/// passed. Streams are ignored, none is ever captured, and a call is complete when it returns. Any number of threads
/// may call at once, with one x or several, if each y is apart from every other matrix. Where the simulator finds a
/// fault in a kernel (an access out of bounds, a race, a deadlock ...), a verification counts as failed, and another
/// kernel is chosen; a dispatch returns `device` with the place in the kernel, leaves y undefined, and concerns no
/// other call.
class SOFTMAX_DISPATCH_API Dispatcher {
 public:
  /// A dispatcher without a table: every call returns bad_table until one made by create() is moved in.
  Dispatcher() noexcept;
  ~Dispatcher();
  Dispatcher(Dispatcher&&) noexcept;
  Dispatcher& operator=(Dispatcher&&) noexcept;

  /// Reads and checks the table. Needs no GPU. Errors: io, bad_table, invalid_argument (options.force does not parse
  /// or names no variant; the device has none of the three forms), no_device (no GPU of the architecture is simulated).
  /// `out` is written only on success.
  static Status create(const DispatcherOptions& options, Dispatcher& out) noexcept;

  /// y[r, i] = exp(x[r, i] - max_r) / sum_j exp(x[r, j] - max_r), for M rows of N elements.
  ///
  /// x and y are device pointers (on a simulated GPU: host pointers) to row-major M x N matrices of FP32 without gaps,
  /// aligned to 4 bytes; rows need no further alignment. y may equal x; any other overlap is an error. The work is
  /// ordered in `stream` and the call returns at once; x and y must stay valid until it is done. M = 0 or N = 0
  /// succeeds and writes nothing. Values follow PyTorch: a row with a NaN or a +inf, and a row of -inf alone, becomes
  /// NaN; other -inf entries give 0. Errors: invalid_argument, no_device, toolchain, bad_table, not_warmed, device,
  /// verification_failed.
  Status dispatch(const float* x, float* y, std::int64_t M, std::int64_t N, Stream stream = {}) noexcept;

  /// The same for the type named in `problem`, with x and y aligned to its elements; types without kernels return
  /// unsupported. 16-bit results are computed in FP32 and within one unit in the last place of the right ones.
  Status dispatch(const void* x, void* y, const Problem& problem, Stream stream = {}) noexcept;

  /// Makes the `count` shapes warm on the current device, at any alignment. May compile, allocate, verify and
  /// synchronise; must not be called while the thread captures a stream. Errors: as dispatch.
  Status prewarm(const Problem* problems, std::size_t count) noexcept;

  /// The configuration a dispatch of `problem` on 16-byte aligned buffers would use, e.g. "v7 THREADS=256 VEC_ITEMS=4",
  /// from the table alone. `arch` names the device's architecture, e.g. "sm_90", and picks the shipped table where the
  /// dispatcher was made without one. Needs no GPU. Errors: invalid_argument, unsupported, bad_table.
  Status choice(const Problem& problem, const char* arch, std::string& out) const noexcept;

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace softmax_dispatch
