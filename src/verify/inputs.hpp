#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace softmax_dispatch::verify {

enum class Pattern;

/// A named way to fill an M x N matrix: every row follows the same pattern, random parts differ from row to row.
struct Input {
  std::string_view name;
  Pattern pattern;
  float value = 0;         ///< Parameter of the pattern, e.g. how far the peak stands above the rest.
  bool published = false;  ///< Held to the published absolute bound too.

  /// x is row-major M x N. The same seed gives the same values on every machine.
  void fill(std::span<float> x, std::int64_t M, std::int64_t N, std::uint64_t seed) const;
};

/// Every input of the suite: zeros, specials at either end, offsets, random, ascending, leading and all -inf, all
/// -FLT_MAX,
/// +-3e38, the peak first. The most telling stand first, so that any prefix is a fair selection; ordinary rows and rows
/// that become NaN alternate, so that a kernel that mixes neighbouring rows shows. Their number is a prime: stacked in
/// turn as the rows of one matrix, rows that lie a block or a grid apart hold different inputs.
std::span<const Input> inputs();

}  // namespace softmax_dispatch::verify
