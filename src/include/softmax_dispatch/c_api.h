#ifndef SOFTMAX_DISPATCH_C_API_H_
#define SOFTMAX_DISPATCH_C_API_H_

/* C interface of softmax_dispatch, for any language with a foreign-function interface. Compiles as C99. */

#include <softmax_dispatch/export.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 0 is success. The other values are those of softmax_dispatch::StatusCode in status.hpp. */
typedef int smd_status; /* NOLINT(modernize-use-using): this is C */
enum {
  SMD_OK = 0,
  SMD_INVALID_ARGUMENT = 1,
  SMD_UNSUPPORTED = 2,
  SMD_NO_DEVICE = 3,
  SMD_TOOLCHAIN = 4,
  SMD_BAD_TABLE = 5,
  SMD_IO = 6,
  SMD_NOT_WARMED = 7,
  SMD_DEVICE = 8,
  SMD_VERIFICATION_FAILED = 9,
  SMD_INTERNAL = 10
};

/* Element type of x and y. */
typedef int smd_dtype; /* NOLINT(modernize-use-using): this is C */
enum { SMD_F32 = 0, SMD_F16 = 1, SMD_BF16 = 2 };

/* What smd_dispatch and smd_prewarm compute on, in place of the environment variable SOFTMAX_DISPATCH_DEVICE: "cuda",
 * "sim" or "sim:ARCH", as softmax_dispatch::DispatcherOptions::device in dispatcher.hpp; "" for what the variable says.
 * On a simulated GPU x and y are pointers to the program's own memory, and the stream is ignored. To be called before
 * the process's first dispatch or prewarm, of C or C++: SMD_INVALID_ARGUMENT afterwards. Thread-safe. */
SOFTMAX_DISPATCH_API smd_status smd_select_device(const char* device);

/* Row-wise softmax of the row-major M x N device matrix x into y, ordered in `stream` (a CUstream or cudaStream_t; NULL
 * is the legacy default stream), on the process-wide dispatcher. The contract is that of
 * softmax_dispatch::Dispatcher::dispatch in dispatcher.hpp. Types without kernels return SMD_UNSUPPORTED. Thread-safe.
 */
SOFTMAX_DISPATCH_API smd_status smd_dispatch(const void* x, void* y, int64_t M, int64_t N, smd_dtype dtype,
                                             void* stream);

/* Makes the shape M x N warm on the current device, so that its dispatch can be captured in a CUDA graph. */
SOFTMAX_DISPATCH_API smd_status smd_prewarm(int64_t M, int64_t N, smd_dtype dtype);

/* Message of the calling thread's last call that failed; "" if none did. Valid until that thread's next call. Never
 * NULL. */
SOFTMAX_DISPATCH_API const char* smd_last_error(void);

/* Version of the loaded library, e.g. "0.1.0". */
SOFTMAX_DISPATCH_API const char* smd_version(void);

#ifdef __cplusplus
}
#endif

#endif /* SOFTMAX_DISPATCH_C_API_H_ */
