#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "variants/variant.hpp"

namespace softmax_dispatch {

/// How the blocks of a row learn of each other's maximum and sum.
enum class Exchange {
  none,     ///< There is one block for a row.
  cluster,  ///< Through distributed shared memory of a thread-block cluster.
  slots,    ///< Through global memory, by blocks that wait for each other: a cooperative launch.
  ring,     ///< The same, with parts of many rows on their way through shared memory: as many as a row's length needs.
  launches  ///< Through global memory, from one launch to the next.
};

/// What distinguishes one kernel of this family from another.
struct PartKernelTraits {
  std::string_view id, summary, needs;
  int scans = 1;
  int complexity = 0;
  Exchange exchange = Exchange::cluster;
  std::int64_t most_parts = 1;
};

/// A kernel of the family that computes a row in PARTS parts, in as many blocks, for every type; where that is no axis
/// there is one part, or in the ring as many as the row needs, whose blocks have as many threads that write as there
/// are THREADS, which reduce, and two warps more. BLOCKS is how many blocks an SM is to hold
/// (__launch_bounds__). Of a part, VEC_ITEMS vectors of each thread are in registers and SHARED_ITEMS in shared memory.
/// The grid of a cooperative launch has at most GRID blocks.
class PartKernel : public Variant {
 public:
  explicit PartKernel(const PartKernelTraits& traits);

  std::string_view id() const override { return traits_.id; }
  std::string_view summary() const override { return traits_.summary; }
  std::string_view needs() const override { return traits_.needs; }
  int scans() const override { return traits_.scans; }
  std::vector<DType> dtypes() const override;
  const std::vector<Axis>& axes() const override { return axes_; }
  int complexity() const override { return traits_.complexity; }

  Support exists(const ArchLimits& limits) const override;
  Support supports(DType dtype, const Constants& constants, const Target& target) const override;
  Support supports(const Problem& problem, const Constants& constants, const Target& target) const override;
  std::int64_t capacity_N(DType dtype, const Constants& constants) const override;
  std::int64_t accurate_N(DType dtype, const Constants& constants) const override;
  std::int64_t unaligned_N(DType dtype, const Constants& constants) const override;
  std::int64_t worthwhile_N(DType dtype, const Constants& constants) const override;
  Constants without_capacity(Constants constants) const override;
  Constants complete(const Problem& problem, const Constants& partial, const Target& target) const override;
  /// Without what cannot win: see worthwhile(). BLOCKS, STREAM, GRID and what bounds no row follow from the others.
  std::vector<Constants> enumerate(DType dtype, const Ladders& ladders, const Target& target) const override;
  std::vector<Constants> extremes(DType dtype, const Target& target) const override;
  std::vector<std::int64_t> boundaries_N(DType dtype, const Constants& constants) const override;
  std::int64_t rows_per_block(const Constants& constants) const override;
  Geometry geometry(const Problem& problem, const Constants& constants) const override;
  std::optional<Constants> reduce_once(const Constants& constants) const override;

 private:
  bool has(std::string_view axis) const;
  /// Of the longest row.
  std::int64_t most_parts(const Constants& constants) const;
  std::int64_t parts(const Problem& problem, const Constants& constants) const;
  std::int64_t part_capacity(DType dtype, const Constants& constants) const;
  /// Elements at a row's ends that are in none of the vectors that the capacity counts, at most.
  std::int64_t elements_beside(DType dtype) const;
  std::int64_t block_threads(const Constants& constants) const;
  /// Half of the stages are loaded while the others wait for their rows.
  static std::int64_t usual_ahead(const Constants& constants);
  std::int64_t vectors_of_thread(const Constants& constants) const;
  std::int64_t registers(DType dtype, const Constants& constants) const;
  std::int64_t shared_bytes(const Constants& constants) const;
  std::int64_t other_shared_bytes(const Constants& constants) const;
  Support fits(DType dtype, const Constants& constants, const Target& target) const;
  Constants with_defaults(const Problem& problem, Constants full, std::int64_t threads, const Target& target) const;
  Constants reduce_once_in_parts(ReduceOver over, const Constants& constants) const;
  bool worthwhile_block(DType dtype, const Constants& constants) const;
  bool worthwhile(DType dtype, const Constants& constants, const Target& target) const;
  /// BLOCKS, STREAM and GRID, as far as they are not set.
  Constants with_derived(DType dtype, Constants constants, const Target& target) const;

  PartKernelTraits traits_;
  std::vector<Axis> axes_;
};

}  // namespace softmax_dispatch
