#include <fmt/core.h>

#include <limits>
#include <optional>
#include <softmax_dispatch/problem.hpp>

#include "support/dtype.hpp"
#include "support/error.hpp"
#include "support/text.hpp"

namespace softmax_dispatch {
namespace {

std::int64_t parse_size(std::string_view text, std::string_view problem, char symbol) {
  const std::optional<std::int64_t> size = parse_int(text);
  if (!size || *size < 0) {
    throw_error(StatusCode::invalid_argument,
                "problem '{}': {} is '{}', but must be an integer from 0 to 2^63-1; write it like f32:1024x257",
                problem, symbol, text);
  }
  return *size;
}

Problem parse(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::size_t cross = text.find('x', colon == std::string_view::npos ? 0 : colon);
  if (colon == std::string_view::npos || cross == std::string_view::npos) {
    throw_error(StatusCode::invalid_argument,
                "problem '{}' is not of the form DTYPE:MxN; write it like f32:1024x257 (1024 rows of 257)", text);
  }
  const std::string_view type = text.substr(0, colon);
  Problem problem;
  const std::optional<DType> dtype = dtype_of(type);
  if (!dtype) {
    throw_error(StatusCode::invalid_argument, "problem '{}': type '{}' is unknown; use f32, f16 or bf16", text, type);
  }
  problem.dtype = *dtype;
  problem.M = parse_size(text.substr(colon + 1, cross - colon - 1), text, 'M');
  problem.N = parse_size(text.substr(cross + 1), text, 'N');
  const auto most = std::numeric_limits<std::int64_t>::max() / static_cast<std::int64_t>(size_of(problem.dtype));
  if (problem.N > most || (problem.N > 0 && problem.M > most / problem.N)) {
    throw_error(StatusCode::invalid_argument,
                "problem '{}' has more elements than 64-bit byte offsets can address; M * N must be at most {}", text,
                most);
  }
  return problem;
}

}  // namespace

const char* to_string(DType dtype) noexcept {
  switch (dtype) {
    case DType::f32:
      return "f32";
    case DType::f16:
      return "f16";
    case DType::bf16:
      return "bf16";
  }
  return "unknown";
}

std::size_t size_of(DType dtype) noexcept {
  return dtype == DType::f32 ? 4 : 2;
}

std::string to_string(const Problem& problem) {
  return fmt::format("{}:{}x{}", to_string(problem.dtype), problem.M, problem.N);
}

Status parse_problem(std::string_view text, Problem& out) noexcept {
  return guarded([&] { out = parse(text); });
}

}  // namespace softmax_dispatch
