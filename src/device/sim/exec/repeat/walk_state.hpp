#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "device/sim/exec/warp.hpp"

namespace softmax_dispatch::sim {

/// The registers of a block where it comes by again and again, with another row each time: those that follow the row t,
/// by a rate that all threads have in common, and those that stay.
class WalkState {
 public:
  struct Register {
    Ref slot = kNoRef;
    std::uint8_t lane_bytes = 4;
    std::int64_t rate = 0;
  };
  /// The values of all registers that are alive, of all threads of a block.
  using Values = std::vector<std::uint64_t>;

  static void read(const Segment& place, const std::vector<Warp>& warps, Values& values);
  /// From the values at two visits in a row. None where they do not follow one number.
  static std::optional<WalkState> find(const Segment& place, const Values& before, const Values& after);

  const std::vector<Register>& registers() const noexcept { return registers_; }
  /// The row at which these are the values; none where they are not, at any.
  std::optional<std::int64_t> row(const Values& values) const;
  /// Puts the registers where they are at row t.
  void write(std::int64_t t, std::vector<Warp>& warps) const;

 private:
  std::uint64_t at(std::size_t index, std::int64_t t) const noexcept;

  std::vector<Register> registers_;
  std::size_t row_register_ = 0;  ///< Whose rate is 1 or -1.
  Values at_zero_;                ///< At row 0.
};

}  // namespace softmax_dispatch::sim
