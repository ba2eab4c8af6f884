#include "dispatch/arguments.hpp"

#include <cstdint>
#include <limits>

#include "support/error.hpp"
#include "variants/registry.hpp"

namespace softmax_dispatch::runtime {
namespace {

/// Bit d is set where some variant computes the DType of value d.
unsigned implemented_types() {
  unsigned bits = 0;
  for (const Variant* variant : registry().all()) {
    for (const DType dtype : variant->dtypes()) bits |= 1U << static_cast<unsigned>(dtype);
  }
  return bits;
}

[[noreturn]] void fail_size(const char* symbol, const char* what, std::int64_t value) {
  throw_error(StatusCode::invalid_argument, "{} is {}, but must be at least 0: pass the number of {}", symbol, value,
              what);
}

[[noreturn]] void fail_pointer(const char* name, const void* pointer, const Problem& problem) {
  if (!pointer) {
    throw_error(StatusCode::invalid_argument,
                "{} is null, but {} has elements: pass a pointer to M * N elements on the device", name,
                to_string(problem));
  }
  throw_error(StatusCode::invalid_argument, "{} is {}, but must be aligned to {} bytes, the size of an {} element",
              name, pointer, size_of(problem.dtype), to_string(problem.dtype));
}

}  // namespace

std::int64_t check_shape(const Problem& problem) {
  static const unsigned implemented = implemented_types();
  const auto type = static_cast<unsigned>(problem.dtype);
  if (type > static_cast<unsigned>(DType::bf16)) {
    throw_error(StatusCode::invalid_argument, "dtype is {}, but must be 0 (f32), 1 (f16) or 2 (bf16)",
                static_cast<int>(problem.dtype));
  }
  if (problem.M < 0) fail_size("M", "rows", problem.M);
  if (problem.N < 0) fail_size("N", "elements in a row", problem.N);
  if ((implemented >> type & 1U) == 0) {
    throw_error(StatusCode::unsupported, "{}: this version has no kernel for {}; convert to f32", to_string(problem),
                to_string(problem.dtype));
  }
  std::int64_t bytes = 0;
  const auto element = static_cast<std::int64_t>(size_of(problem.dtype));
  if (__builtin_mul_overflow(problem.M, problem.N, &bytes) || __builtin_mul_overflow(bytes, element, &bytes)) {
    throw_error(StatusCode::invalid_argument,
                "{} has more elements than 64-bit byte offsets can address: M * N must be at most {}",
                to_string(problem), std::numeric_limits<std::int64_t>::max() / element);
  }
  return bytes;
}

std::int64_t check_arguments(const void* x, const void* y, const Problem& problem) {
  const std::int64_t bytes = check_shape(problem);
  if (bytes == 0) return 0;
  const auto x_address = reinterpret_cast<std::uintptr_t>(x);
  const auto y_address = reinterpret_cast<std::uintptr_t>(y);
  const std::uintptr_t misaligned = size_of(problem.dtype) - 1;
  if (!x || (x_address & misaligned) != 0) fail_pointer("x", x, problem);
  if (!y || (y_address & misaligned) != 0) fail_pointer("y", y, problem);
  const std::uintptr_t distance = x_address > y_address ? x_address - y_address : y_address - x_address;
  if (distance != 0 && distance < static_cast<std::uintptr_t>(bytes)) {
    throw_error(StatusCode::invalid_argument,
                "x ({}) and y ({}) overlap: {} has {} bytes; y must be x itself or a matrix of its own", x, y,
                to_string(problem), bytes);
  }
  return bytes;
}

}  // namespace softmax_dispatch::runtime
