#include "cli/values.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "cli/core_problems.hpp"
#include "support/dtype.hpp"
#include "support/error.hpp"
#include "support/text.hpp"
#include "variants/registry.hpp"

namespace softmax_dispatch::cli {
namespace {

constexpr StatusCode kUsage = StatusCode::invalid_argument;

/// Types that some variant a table may hold computes.
std::vector<DType> dtypes_with_kernels() {
  std::vector<DType> dtypes;
  for (const Variant* variant : registry().all()) {
    if (!variant->selectable()) continue;
    for (const DType dtype : variant->dtypes()) {
      if (std::find(dtypes.begin(), dtypes.end(), dtype) == dtypes.end()) dtypes.push_back(dtype);
    }
  }
  return dtypes;
}

std::string names(const std::vector<DType>& dtypes) {
  std::vector<std::string> texts;
  for (const DType dtype : dtypes) texts.emplace_back(to_string(dtype));
  return join(texts, ", ");
}

/// The type whose core problems the text names: "core", "f16:core".
std::optional<DType> core_of(std::string_view text) {
  constexpr std::string_view kCore = "core";
  if (text == kCore) return DType::f32;
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || text.substr(colon + 1) != kCore) return std::nullopt;
  return dtype_of(text.substr(0, colon));
}

}  // namespace

DeviceChoice parse_device(std::string_view text) {
  if (text == "auto") return {};
  if (text == "sim") return {DeviceChoice::Kind::sim, 0};
  constexpr std::string_view kPrefix = "cuda:";
  if (text.substr(0, kPrefix.size()) == kPrefix) {
    const auto ordinal = parse_int(text.substr(kPrefix.size()));
    if (ordinal && *ordinal >= 0 && *ordinal <= std::numeric_limits<int>::max()) {
      return {DeviceChoice::Kind::cuda, static_cast<int>(*ordinal)};
    }
  }
  throw_error(kUsage, "--device is '{}', but must be auto, cuda:K (the K-th GPU, from 0) or sim", text);
}

tuning::Range parse_range(std::string_view option, std::string_view text) {
  const auto parts = split(text, ':');
  std::optional<std::int64_t> from, to;
  if (parts.size() == 2) {
    from = parse_int(parts[0]);
    to = parse_int(parts[1]);
  }
  if (!from || !to) {
    throw_error(kUsage, "{} is '{}', but must be LO:HI, two whole numbers with a colon between them, e.g. {} 1:4096",
                option, text, option);
  }
  if (*from < 1 || *from > *to) {
    throw_error(kUsage, "{} is {}, but the range must start at 1 or above and not end below its start: write {} LO:HI",
                option, text, option);
  }
  return {*from, *to};
}

std::vector<tuning::Range> parse_ranges(std::string_view option, const std::vector<std::string>& texts) {
  std::vector<tuning::Range> ranges;
  for (const std::string& text : texts) ranges.push_back(parse_range(option, text));
  return ranges;
}

std::int64_t parse_size(std::string_view option, std::string_view text) {
  constexpr std::string_view kUnits = "KMG";
  constexpr int kBitsOfUnit = 10;
  std::string_view digits = text;
  int shift = 0;
  if (const std::size_t unit = text.empty() ? std::string_view::npos : kUnits.find(text.back());
      unit != std::string_view::npos) {
    digits.remove_suffix(1);
    shift = kBitsOfUnit * static_cast<int>(unit + 1);
  }
  const auto size = parse_int(digits);
  if (!size || *size < 1 || *size > std::numeric_limits<std::int64_t>::max() >> shift) {
    throw_error(kUsage, "{} is '{}', but must be a number of bytes from 1 to 2^63 - 1, e.g. {} 64M for 64 * 2^20",
                option, text, option);
  }
  return *size << shift;
}

std::vector<DType> parse_dtypes(std::string_view text) {
  const std::vector<DType> known = dtypes_with_kernels();
  std::vector<DType> dtypes;
  for (const std::string_view name : split(text, ',')) {
    const auto found = std::find_if(known.begin(), known.end(), [&](DType dtype) { return name == to_string(dtype); });
    if (found == known.end()) {
      throw_error(kUsage, "--dtype names '{}', which this version has no kernels for: it has {}", name, names(known));
    }
    if (std::find(dtypes.begin(), dtypes.end(), *found) != dtypes.end()) {
      throw_error(kUsage, "--dtype is '{}', which names {} twice: name each type once", text, name);
    }
    dtypes.push_back(*found);
  }
  return dtypes;
}

std::uint64_t parse_seed(std::string_view text) {
  const auto seed = parse_int(text);
  if (!seed || *seed < 0) throw_error(kUsage, "--seed is '{}', but must be a whole number from 0 to 2^63 - 1", text);
  return static_cast<std::uint64_t>(*seed);
}

double parse_seconds(std::string_view option, std::string_view text) {
  const auto seconds = parse_double(text);
  if (!seconds || *seconds <= 0) {
    throw_error(kUsage, "{} is '{}', but must be a number of seconds above 0, with a decimal point, e.g. {} 90.5",
                option, text, option);
  }
  return *seconds;
}

Constants parse_constants(const std::vector<std::string>& texts) {
  Constants constants;
  for (const std::string& text : texts) {
    const auto parts = split(text, '=');
    const auto value = parts.size() == 2 ? parse_int(parts[1]) : std::nullopt;
    if (!value || parts[0].empty()) {
      throw_error(kUsage, "--set is '{}', but must be NAME=value with a whole number, e.g. --set THREADS=256", text);
    }
    if (!constants.emplace(std::string(parts[0]), *value).second) {
      throw_error(kUsage, "--set gives {} twice (the second time as '{}'): give each constant once", parts[0], text);
    }
  }
  return constants;
}

Problem parse_one_problem(std::string_view text) {
  Problem problem;
  check(parse_problem(text, problem));
  if (problem.M == 0 || problem.N == 0) {
    throw_error(kUsage, "the problem {} has no elements: dispatch succeeds and launches nothing; give M and N >= 1",
                text);
  }
  return problem;
}

std::vector<Problem> parse_problems(const std::vector<std::string>& texts) {
  std::vector<Problem> problems;
  for (const std::string& text : texts) {
    if (const std::optional<DType> dtype = core_of(text)) {
      for (const auto& [M, N] : kCoreProblems) problems.push_back({*dtype, M, N});
    } else {
      problems.push_back(parse_one_problem(text));
    }
  }
  return problems;
}

std::vector<Problem> problems_of_size(std::int64_t bytes, const std::vector<tuning::Range>& lengths,
                                      const std::vector<DType>& dtypes) {
  std::vector<Problem> problems;
  for (const DType dtype : dtypes) {
    const std::int64_t elements = bytes / static_cast<std::int64_t>(size_of(dtype));
    for (const tuning::Range& range : lengths) {
      if (range.to > elements) {
        throw_error(kUsage, "--bytes {} hold {} elements of {}, less than a row of --N {}: give more bytes", bytes,
                    elements, to_string(dtype), range.to);
      }
      for (std::int64_t N = range.from; N <= range.to; ++N) problems.push_back({dtype, elements / N, N});
    }
  }
  return problems;
}

}  // namespace softmax_dispatch::cli
