#include "verify/inputs.hpp"

#include <algorithm>
#include <limits>

namespace softmax_dispatch::verify {

enum class Pattern {
  constant,       // every element is `value`
  uniform,        // random in [-value, value)
  offset,         // random in [-10, 10) + value
  first,          // random in [-10, 10), the first element is `value`
  middle,         // ... the middle element
  last,           // ... the last element
  peak_first,     // the first element stands `value` above all others, which are equal
  peak_last,      // the same at the end
  slope,          // element i is i * value
  span,           // ascending evenly over `value`
  leading_inf,    // `value` times -inf, then random; at least the last element is finite
  leading_share,  // the same with `value` as a share of the row
  every_other,    // random and -inf in turn
  plus_minus,     // +value and -value in turn
};

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kMax = std::numeric_limits<float>::max();

/// SplitMix64: any seed is a good one, so each row has its own stream.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// In [-limit, limit), from 24 bits: exact in FP32.
  float uniform(float limit) { return limit * (static_cast<float>(next() >> 40) * 0x1p-23f - 1.0f); }

 private:
  std::uint64_t state_;
};

void fill_uniform(std::span<float> row, float limit, Random& random) {
  for (float& element : row) element = random.uniform(limit);
}

void fill_row(std::span<float> row, Pattern pattern, float value, Random& random) {
  const std::size_t N = row.size();
  switch (pattern) {
    case Pattern::constant:
      std::fill(row.begin(), row.end(), value);
      break;
    case Pattern::uniform:
      fill_uniform(row, value, random);
      break;
    case Pattern::offset:
      fill_uniform(row, 10, random);
      for (float& element : row) element += value;
      break;
    case Pattern::first:
    case Pattern::middle:
    case Pattern::last:
      fill_uniform(row, 10, random);
      row[pattern == Pattern::first ? 0 : pattern == Pattern::middle ? N / 2 : N - 1] = value;
      break;
    case Pattern::peak_first:
    case Pattern::peak_last:
      std::fill(row.begin(), row.end(), -value);
      (pattern == Pattern::peak_first ? row.front() : row.back()) = 0;
      break;
    case Pattern::slope:
      for (std::size_t i = 0; i < N; ++i) row[i] = static_cast<float>(i) * value;
      break;
    case Pattern::span:
      for (std::size_t i = 0; i < N; ++i) row[i] = static_cast<float>(i) * (value / static_cast<float>(N));
      break;
    case Pattern::leading_inf:
    case Pattern::leading_share: {
      fill_uniform(row, 10, random);
      const float wanted = pattern == Pattern::leading_inf ? value : value * static_cast<float>(N);
      std::fill_n(row.begin(), std::min(static_cast<std::size_t>(wanted), N - 1), -kInf);
      break;
    }
    case Pattern::every_other:
      fill_uniform(row, 10, random);
      for (std::size_t i = 1; i < N; i += 2) row[i] = -kInf;
      break;
    case Pattern::plus_minus:
      for (std::size_t i = 0; i < N; ++i) row[i] = i % 2 == 0 ? value : -value;
      break;
  }
}

// The peak first is the worst case of a serial FP32 sum: each further term is rounded against a sum near 1. Just under
// half a unit in the last place (2^-24, 16.6355 below the peak) every term is lost, just above it every term counts
// twice; 17.33 and 18.03 are the same for terms added in pairs and in fours. Slopes that are powers of two make every
// rescale of an online kernel use the same exponential, whose error then adds up along the chain.
constexpr Input kInputs[] = {
    {"random in [-10, 10)", Pattern::uniform, 10, true},
    {"peak first, 16.64 above the rest", Pattern::peak_first, 16.64f},
    {"NaN last", Pattern::last, kNaN},
    {"peak first, 19.41 above the rest", Pattern::peak_first, 19.41f},
    {"ascending by 2^-10", Pattern::slope, 0x1p-10f},
    {"leading -inf, half the row", Pattern::leading_share, 0.5f},
    {"+inf first", Pattern::first, kInf},
    {"peak first, 18.03 above the rest", Pattern::peak_first, 18.03f},
    {"zeros", Pattern::constant, 0},
    {"all -inf", Pattern::constant, -kInf},
    {"random + 1e6", Pattern::offset, 1e6f},
    {"leading -inf, all but the last", Pattern::leading_share, 1},
    {"NaN first", Pattern::first, kNaN},
    {"peak first, 16.63 above the rest", Pattern::peak_first, 16.63f},
    {"all -FLT_MAX", Pattern::constant, -kMax},
    {"+inf last", Pattern::last, kInf},
    {"+3e38 and -3e38 in turn", Pattern::plus_minus, 3e38f},
    {"ascending over 20", Pattern::span, 20},
    {"another random in [-10, 10)", Pattern::uniform, 10, true},
    {"-inf first", Pattern::first, -kInf},
    {"NaN in the middle", Pattern::middle, kNaN},
    {"peak first, 10 above the rest", Pattern::peak_first, 10},
    {"peak first, 12 above the rest", Pattern::peak_first, 12},
    {"peak first, 14 above the rest", Pattern::peak_first, 14},
    {"+inf in the middle", Pattern::middle, kInf},
    {"peak first, 16 above the rest", Pattern::peak_first, 16},
    {"peak first, 17 above the rest", Pattern::peak_first, 17},
    {"peak first, 17.33 above the rest", Pattern::peak_first, 17.33f},
    {"all +inf", Pattern::constant, kInf},
    {"peak last, 10 above the rest", Pattern::peak_last, 10},
    {"peak last, 16.64 above the rest", Pattern::peak_last, 16.64f},
    {"-inf last", Pattern::last, -kInf},
    {"FLT_MAX first", Pattern::first, kMax},
    {"FLT_MAX last", Pattern::last, kMax},
    {"-FLT_MAX first", Pattern::first, -kMax},
    {"-FLT_MAX last", Pattern::last, -kMax},
    {"all NaN", Pattern::constant, kNaN},
    {"all FLT_MAX", Pattern::constant, kMax},
    {"random + 100", Pattern::offset, 100},
    {"random + 1e4", Pattern::offset, 1e4f},
    {"random - 1e6", Pattern::offset, -1e6f},
    {"random in [-1, 1)", Pattern::uniform, 1},
    {"random in [-100, 100)", Pattern::uniform, 100},
    {"ascending by 2^-13", Pattern::slope, 0x1p-13f},
    {"ascending by 2^-6", Pattern::slope, 0x1p-6f},
    {"ascending by 1/4", Pattern::slope, 0.25f},
    {"descending by 2^-10", Pattern::slope, -0x1p-10f},
    {"descending by 1/4", Pattern::slope, -0.25f},
    {"leading -inf, one", Pattern::leading_inf, 1},
    {"leading -inf, 3", Pattern::leading_inf, 3},
    {"leading -inf, 33", Pattern::leading_inf, 33},
    {"leading -inf, 257", Pattern::leading_inf, 257},
    {"leading -inf, 1025", Pattern::leading_inf, 1025},
    {"random and -inf in turn", Pattern::every_other},
    {"-3e38 and +3e38 in turn", Pattern::plus_minus, -3e38f},
    {"all 3e38", Pattern::constant, 3e38f},
    {"all -3e38", Pattern::constant, -3e38f},
    {"random in [-1e-38, 1e-38)", Pattern::uniform, 1e-38f},
    {"a third random in [-10, 10)", Pattern::uniform, 10, true},
};

}  // namespace

void Input::fill(std::span<float> x, std::int64_t M, std::int64_t N, std::uint64_t seed) const {
  for (std::int64_t row = 0; row < M; ++row) {
    Random mix(seed + static_cast<std::uint64_t>(row));
    for (const char letter : name) mix = Random(mix.next() ^ static_cast<unsigned char>(letter));
    const auto width = static_cast<std::size_t>(N);
    fill_row(x.subspan(static_cast<std::size_t>(row) * width, width), pattern, value, mix);
  }
}

std::span<const Input> inputs() {
  return kInputs;
}

}  // namespace softmax_dispatch::verify
