#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "variants/variant.hpp"

namespace softmax_dispatch {

/// Who computes a row.
enum class RowOwner {
  block,     ///< One block; grid.x = M.
  warp,      ///< One warp; grid.x = ceil(M / (THREADS / 32)).
  grid_walk  ///< One block, which then takes row + gridDim.x; grid.x = min(GRID, M).
};

/// The compile-time axis that bounds N.
enum class Capacity {
  none,    ///< No axis: rows up to 2^31 - 1 elements, or any (see RowKernelTraits::wide_index).
  items,   ///< ITEMS scalars per thread: N <= ITEMS * threads of the row.
  vectors  ///< VEC_ITEMS vectors of V = 16 bytes per thread and a tail: N <= V * VEC_ITEMS * threads of the row + V
           ///< - 1.
};

/// What distinguishes one kernel of this family from another; everything the host must know follows from it.
struct RowKernelTraits {
  std::string_view id, summary, needs;
  std::vector<DType> dtypes{DType::f32};
  int scans = 0;
  int complexity = 0;
  RowOwner owner = RowOwner::block;
  Capacity capacity = Capacity::none;
  std::int64_t capacity_most = 1;  ///< Largest value of the capacity axis.
  bool row_in_registers = false;   ///< The private array must fit the register file.
  bool wide_index = false;         ///< 64-bit indices within a row, and a grid shorter than M: no bound on M or N.
  bool threads_power_of_two = false;
  bool selectable = true;
  /// Elements that one thread may sum before the longest chain of dependent FP32 additions (kLongestChain) is reached;
  /// kUnbounded where the sum is compensated.
  std::int64_t accurate_elements_per_thread = 0;
};

/// The longest chain of dependent FP32 additions that meets the accuracy rule. Each addition to a partial sum in [1, 2)
/// may lose up to 2^-24 (a term just below half a unit in the last place, as in a row whose first element is 16.6 above
/// the rest); the rule allows 4e-6 in all, of which the exponentials and the merge take up to a quarter.
inline constexpr std::int64_t kLongestChain = 48;

/// A kernel of the family whose rows belong to a block or a warp and are summed by its threads in strides.
class RowKernel : public Variant {
 public:
  explicit RowKernel(const RowKernelTraits& traits);

  std::string_view id() const override { return traits_.id; }
  std::string_view summary() const override { return traits_.summary; }
  std::string_view needs() const override { return traits_.needs; }
  int scans() const override { return traits_.scans; }
  std::vector<DType> dtypes() const override { return traits_.dtypes; }
  const std::vector<Axis>& axes() const override { return axes_; }
  bool selectable() const override { return traits_.selectable; }
  bool serves_every_shape() const override { return traits_.wide_index; }
  int complexity() const override { return traits_.complexity; }

  Support supports(DType dtype, const Constants& constants, const Target& target) const override;
  Support supports(const Problem& problem, const Constants& constants, const Target& target) const override;
  std::int64_t capacity_N(DType dtype, const Constants& constants) const override;
  std::int64_t accurate_N(DType dtype, const Constants& constants) const override;
  std::int64_t worthwhile_N(DType dtype, const Constants& constants) const override;
  Constants complete(const Problem& problem, const Constants& partial, const Target& target) const override;
  std::vector<Constants> enumerate(DType dtype, const Ladders& ladders, const Target& target) const override;
  std::vector<Constants> extremes(DType dtype, const Target& target) const override;
  std::vector<std::int64_t> boundaries_N(DType dtype, const Constants& constants) const override;
  std::int64_t rows_per_block(const Constants& constants) const override;
  Geometry geometry(const Problem& problem, const Constants& constants) const override;

 private:
  const char* capacity_axis() const;  ///< "ITEMS", "VEC_ITEMS" or null.
  std::int64_t threads_of_row(const Constants& constants) const;
  std::int64_t most_capacity(DType dtype, std::int64_t threads, const ArchLimits& limits) const;
  std::int64_t least_capacity(const Problem& problem, std::int64_t threads_of_row) const;

  RowKernelTraits traits_;
  std::vector<Axis> axes_;
};

}  // namespace softmax_dispatch
