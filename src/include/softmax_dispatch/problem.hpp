#pragma once

#include <softmax_dispatch/export.h>

#include <cstddef>
#include <cstdint>
#include <softmax_dispatch/status.hpp>
#include <string>
#include <string_view>

namespace softmax_dispatch {

/// Element type of input and output. The numbers are those of smd_dtype in c_api.h.
enum class DType : int { f32 = 0, f16 = 1, bf16 = 2 };

/// "f32", "f16" or "bf16".
SOFTMAX_DISPATCH_API const char* to_string(DType dtype) noexcept;

/// Bytes of one element: 4 or 2.
SOFTMAX_DISPATCH_API std::size_t size_of(DType dtype) noexcept;

/// One softmax over the rows of a row-major M x N matrix without gaps between rows.
struct Problem {
  DType dtype = DType::f32;
  std::int64_t M = 0;  ///< Rows, >= 0.
  std::int64_t N = 0;  ///< Elements in a row, >= 0.

  friend bool operator==(const Problem& a, const Problem& b) noexcept {
    return a.dtype == b.dtype && a.M == b.M && a.N == b.N;
  }
  friend bool operator!=(const Problem& a, const Problem& b) noexcept { return !(a == b); }
};

/// The text form that every command, log line and error message uses: "f32:1024x257".
SOFTMAX_DISPATCH_API std::string to_string(const Problem& problem);

/// Reads the text form. Errors: invalid_argument, for an unknown type, a size that is no non-negative 64-bit integer,
/// or more elements than 64-bit byte offsets can address. `out` is written only on success.
SOFTMAX_DISPATCH_API Status parse_problem(std::string_view text, Problem& out) noexcept;

}  // namespace softmax_dispatch
