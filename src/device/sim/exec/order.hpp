#pragma once

#include <cstdint>

namespace softmax_dispatch::sim {

/// A permutation of 0 .. count - 1 that a seed decides, without a table: a Feistel network over the next power of four,
/// walked until it falls below count.
class Order {
 public:
  Order(std::uint64_t count, std::uint64_t seed);
  std::uint64_t operator()(std::uint64_t position) const noexcept;

 private:
  std::uint64_t count_, seed_;
  unsigned half_bits_ = 1;
};

/// Which blocks of a grid are run when only some are: groups of consecutive ones, so that rows of every alignment are
/// among them as often as in the grid.
class Sample {
 public:
  Sample(std::uint64_t grid, std::uint64_t wanted, std::uint64_t group);
  std::uint64_t count() const noexcept { return count_; }
  std::uint64_t operator()(std::uint64_t position) const noexcept;

 private:
  std::uint64_t grid_, group_, count_;
};

}  // namespace softmax_dispatch::sim
