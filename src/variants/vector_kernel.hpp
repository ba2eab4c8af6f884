#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "variants/variant.hpp"

namespace softmax_dispatch {

/// Where a row lies while it is computed.
enum class RowPlace {
  lanes,  ///< In the registers of LANES lanes of a warp; a block has THREADS / LANES * ROWS rows at a time.
  tile    ///< In the shared memory of a block, with the TILE_ROWS - 1 rows beside it; LANES lanes compute it.
};

/// What distinguishes one kernel of this family from another.
struct VectorKernelTraits {
  std::string_view id, summary, needs;
  int complexity = 0;
  RowPlace place = RowPlace::lanes;
};

/// A kernel of the family that reads each row once, whole, in aligned 16-byte vectors, for every type.
///
/// A thread adds its elements up in four chains, and has fewer than 4 * kLongestChain of them: every length is
/// accurate.
class VectorKernel : public Variant {
 public:
  explicit VectorKernel(const VectorKernelTraits& traits);

  std::string_view id() const override { return traits_.id; }
  std::string_view summary() const override { return traits_.summary; }
  std::string_view needs() const override { return traits_.needs; }
  int scans() const override { return 1; }
  std::vector<DType> dtypes() const override;
  const std::vector<Axis>& axes() const override { return axes_; }
  int complexity() const override { return traits_.complexity; }

  Support supports(DType dtype, const Constants& constants, const Target& target) const override;
  Support supports(const Problem& problem, const Constants& constants, const Target& target) const override;
  std::int64_t capacity_N(DType dtype, const Constants& constants) const override;
  std::int64_t accurate_N(DType dtype, const Constants& constants) const override;
  std::int64_t unaligned_N(DType dtype, const Constants& constants) const override;
  std::int64_t worthwhile_N(DType dtype, const Constants& constants) const override;
  Constants complete(const Problem& problem, const Constants& partial, const Target& target) const override;
  /// Without what cannot win: see worthwhile().
  std::vector<Constants> enumerate(DType dtype, const Ladders& ladders, const Target& target) const override;
  std::vector<Constants> extremes(DType dtype, const Target& target) const override;
  std::vector<std::int64_t> boundaries_N(DType dtype, const Constants& constants) const override;
  std::int64_t rows_per_block(const Constants& constants) const override;
  Geometry geometry(const Problem& problem, const Constants& constants) const override;
  std::optional<Constants> reduce_once(const Constants& constants) const override;

 private:
  const char* capacity_axis() const;     ///< "VEC_ITEMS" or "ITEMS".
  std::int64_t unit(DType dtype) const;  ///< Elements that one of it stands for.
  std::int64_t elements_beside(DType dtype, std::int64_t lanes, std::int64_t items) const;
  std::int64_t registers(DType dtype, const Constants& constants) const;
  bool worthwhile(DType dtype, const Constants& constants, const Target& target) const;
  bool worthwhile_lanes(const Constants& constants, std::int64_t elements, const Target& target) const;
  bool worthwhile_tile(DType dtype, const Constants& constants) const;
  Constants with_defaults(const Problem& problem, Constants constants, std::int64_t threads) const;

  VectorKernelTraits traits_;
  std::vector<Axis> axes_;
};

}  // namespace softmax_dispatch
