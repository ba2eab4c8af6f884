#include "verify/reference.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>

#include "support/elements.hpp"
#include "verify/parallel.hpp"

namespace softmax_dispatch::verify {
namespace {

constexpr double kRelative = 4e-6;
constexpr double kAbsolute = 1e-37;
constexpr double kPublished = 1e-6;
constexpr double kRowSum = 1e-5;
constexpr int kUnits = 1;
constexpr double kInf = std::numeric_limits<double>::infinity();

/// The row's maximum, NaN ignored.
double maximum(std::span<const float> x) {
  float max = -std::numeric_limits<float>::infinity();
  for (const float element : x) max = element > max ? element : max;
  return max;
}

void reference_row(std::span<const float> x, std::span<double> ref) {
  const double max = maximum(x);
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    ref[i] = std::exp(static_cast<double>(x[i]) - max);
    sum += ref[i];
  }
  // Infinite maxima and NaN elements end in a NaN sum: (-inf) - (-inf), inf - inf.
  for (double& element : ref) element /= sum;
}

double tolerance(double x, double ref, double max, bool published) {
  // exp() is 0 in FP64 beyond 746: the bound keeps -inf from making 0 * inf of it.
  const double distance = std::min(max - x, 2000.0);
  const double scaled = kRelative * ref * (1 + distance / 32) + kAbsolute;
  return published ? std::min(scaled, kPublished) : scaled;
}

Comparison failed_nan(std::span<const float> y) {
  const auto finite = std::find_if(y.begin(), y.end(), [](float element) { return !std::isnan(element); });
  return {false, fmt::format("column {}: got {:.9g}, expected nan", finite - y.begin(), *finite), kInf};
}

Comparison failed_element(std::span<const float> x, std::span<const float> y, std::span<const double> ref, double max,
                          bool published, double worst) {
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double allowed = tolerance(x[i], ref[i], max, published);
    if (std::abs(y[i] - ref[i]) <= allowed) continue;
    return {false,
            fmt::format("column {}: got {:.9g}, expected {:.9g} within {:.2g} (x = {:.9g}, maximum {:.9g})", i, y[i],
                        ref[i], allowed, x[i], max),
            worst};
  }
  return {true, {}, worst};
}

}  // namespace

std::vector<double> reference(std::span<const float> x, std::int64_t M, std::int64_t N) {
  std::vector<double> result(x.size());
  const auto width = static_cast<std::size_t>(N);
  parallel_for(M, M * N * 4, [&](std::int64_t row) {
    const std::size_t begin = static_cast<std::size_t>(row) * width;
    reference_row(x.subspan(begin, width), std::span(result).subspan(begin, width));
  });
  return result;
}

Comparison compare_row(std::span<const float> x, std::span<const float> y, std::span<const double> ref,
                       bool published) {
  if (y.empty()) return {};
  if (std::isnan(ref[0])) {
    const bool all_nan = std::all_of(y.begin(), y.end(), [](float element) { return std::isnan(element); });
    return all_nan ? Comparison{} : failed_nan(y);
  }
  const double max = maximum(x);
  double worst = 0;
  double sum = 0;
  bool exceeded = false;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double ratio = std::abs(y[i] - ref[i]) / tolerance(x[i], ref[i], max, published);
    exceeded |= !(ratio <= 1);  // a NaN exceeds
    worst = ratio > worst ? ratio : worst;
    sum += y[i];
  }
  if (std::isnan(sum)) worst = kInf;
  if (exceeded) return failed_element(x, y, ref, max, published, worst);
  if (!(std::abs(sum - 1) <= kRowSum)) {
    return {false, fmt::format("the row sums to {:.9g}, not to 1 within {:.0e}", sum, kRowSum), worst};
  }
  return {true, {}, worst};
}

Comparison compare_row(DType dtype, std::span<const std::byte> y, std::span<const std::uint16_t> right) {
  int worst = 0;
  std::optional<std::size_t> wrong;
  std::uint16_t wrong_bits = 0;
  for (std::size_t i = 0; i < right.size(); ++i) {
    std::uint16_t got = 0;
    std::memcpy(&got, y.data() + i * sizeof got, sizeof got);
    if (got == right[i]) continue;
    const bool nan = is_nan(dtype, got), wants_nan = is_nan(dtype, right[i]);
    if (nan && wants_nan) continue;
    const int units = nan || wants_nan ? std::numeric_limits<int>::max() : std::abs(order_of(got) - order_of(right[i]));
    worst = std::max(worst, units);
    if (units <= kUnits || wrong) continue;
    wrong = i;
    wrong_bits = got;
  }
  const double worst_error = worst == std::numeric_limits<int>::max() ? kInf : worst / kUnits;
  if (!wrong) return {true, {}, worst_error};
  const float got = value_of(dtype, wrong_bits), expected = value_of(dtype, right[*wrong]);
  if (std::isnan(got) || std::isnan(expected))
    return {false, fmt::format("column {}: got {:.9g}, expected {:.9g}", *wrong, got, expected), worst_error};
  return {false,
          fmt::format("column {}: got {:.9g}, expected {:.9g} within {} unit in the last place of {}", *wrong, got,
                      expected, kUnits, to_string(dtype)),
          worst_error};
}

Comparison compare(std::span<const float> x, std::span<const float> y, std::span<const double> ref, std::int64_t M,
                   std::int64_t N, bool published) {
  Comparison result;
  const auto width = static_cast<std::size_t>(N);
  for (std::size_t row = 0; row < static_cast<std::size_t>(M); ++row) {
    const std::size_t begin = row * width;
    Comparison one =
        compare_row(x.subspan(begin, width), y.subspan(begin, width), ref.subspan(begin, width), published);
    result.worst_error = std::max(result.worst_error, one.worst_error);
    if (one.pass || !result.pass) continue;
    result.pass = false;
    result.reason = fmt::format("row {}, {}", row, one.reason);
  }
  return result;
}

}  // namespace softmax_dispatch::verify
