#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <softmax_dispatch/problem.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "support/answer.hpp"
#include "support/arch.hpp"
#include "support/config.hpp"
#include "support/geometry.hpp"

namespace softmax_dispatch {

inline constexpr std::int64_t kUnbounded = std::numeric_limits<std::int64_t>::max();

/// What a variant is asked to run on: an architecture, and a device's SM count where one is known (0: not).
struct Target {
  ArchLimits limits;
  int sm_count = 0;
};

/// One dimension of a variant's configuration space.
struct Axis {
  std::string name;          ///< THREADS, ITEMS, VEC_ITEMS, GRID, ...
  bool compile_time = true;  ///< A macro for NVRTC; otherwise a launch parameter.
  std::int64_t least = 1;    ///< Bounds of the values that any target accepts.
  std::int64_t most = 1;
  std::int64_t step = 1;      ///< Values are multiples of it ...
  bool power_of_two = false;  ///< ... or powers of two.

  bool holds(std::int64_t value) const noexcept;
};

/// Values to try per axis, as a sweep file gives them, e.g. {"THREADS": {128, 256}}. Values of GRID are blocks per SM
/// there.
using Ladders = std::map<std::string, std::vector<std::int64_t>, std::less<>>;

/// What kernels_src/bench/reduce_once.cu reduces a row over: its macro OVER.
enum class ReduceOver : std::int64_t { lanes = 0, tile = 1, block = 2, cluster = 3, grid = 4 };

/// One kernel file and what the host must know of it. Stateless; one object per variant, alive as long as the process.
class Variant {
 public:
  virtual ~Variant() = default;

  virtual std::string_view id() const = 0;
  virtual std::string_view summary() const = 0;  ///< One line: what is new in it.
  virtual std::string_view needs() const = 0;    ///< Limits in words, for `list`.
  virtual int scans() const = 0;                 ///< Logical passes over the input row.
  virtual std::vector<DType> dtypes() const = 0;
  virtual const std::vector<Axis>& axes() const = 0;
  virtual bool selectable() const { return true; }  ///< False for controls: listed and measurable, never in a table.
  /// Whether it computes any M and N right: the last resort of every choice.
  virtual bool serves_every_shape() const { return false; }
  /// Lower is simpler. Between variants that are equally fast within noise the simpler one is kept.
  virtual int complexity() const = 0;

  /// Whether the architecture has what every configuration needs.
  virtual Support exists(const ArchLimits& /*limits*/) const { return Support::yes(); }
  /// Whether the configuration exists at all for the type on the target: axes complete and in range, registers, shared
  /// memory. Answered before anything is compiled.
  virtual Support supports(DType dtype, const Constants& constants, const Target& target) const = 0;
  /// Whether it also computes the problem right as far as indices and capacities go.
  virtual Support supports(const Problem& problem, const Constants& constants, const Target& target) const = 0;

  /// The longest row that the compiled kernel computes (its capacity), kUnbounded where there is no limit below 2^63.
  virtual std::int64_t capacity_N(DType dtype, const Constants& constants) const = 0;
  /// The longest row for which it meets the accuracy rule: a serial FP32 sum over too many terms drifts. At most
  /// capacity_N.
  virtual std::int64_t accurate_N(DType dtype, const Constants& constants) const = 0;

  /// The longest row that it takes as fast where rows begin anywhere in a vector: one of as many vectors as the threads
  /// have places for then needs one more, and is right, but slow. At most accurate_N.
  virtual std::int64_t unaligned_N(DType dtype, const Constants& constants) const {
    return accurate_N(dtype, constants);
  }

  /// The shortest row that gives more than half of its threads something to do. Shorter ones it computes right, and
  /// with fewer threads in less time: a sweep does not try it for them.
  virtual std::int64_t worthwhile_N(DType /*dtype*/, const Constants& /*constants*/) const { return 1; }
  /// What a configuration shares with those that differ from it in capacity alone: all but how much a thread holds and
  /// what follows from that.
  virtual Constants without_capacity(Constants constants) const;

  /// Completes `partial` for the problem: each axis that is not set gets the least capacity that serves, THREADS its
  /// default, GRID its value from M. Throws Error(unsupported) where nothing serves.
  virtual Constants complete(const Problem& problem, const Constants& partial, const Target& target) const = 0;
  /// Every configuration of the ladders for the type that the target supports.
  virtual std::vector<Constants> enumerate(DType dtype, const Ladders& ladders, const Target& target) const = 0;
  /// Extreme configurations of each axis that the target supports for the type: what a compilation test must cover.
  virtual std::vector<Constants> extremes(DType dtype, const Target& target) const = 0;
  /// Row lengths around which the kernel changes its behaviour with these constants (vector tails, whole blocks,
  /// capacity): verification tests these and their neighbours. Ascending, all >= 1 and <= capacity_N.
  virtual std::vector<std::int64_t> boundaries_N(DType dtype, const Constants& constants) const = 0;
  /// Rows that one block has in flight: verification uses values of M that do not fill the last block.
  virtual std::int64_t rows_per_block(const Constants& constants) const = 0;

  /// Launch of a supported problem with M, N >= 1.
  virtual Geometry geometry(const Problem& problem, const Constants& constants) const = 0;

  /// The macros, besides the type, with which kernels_src/bench/reduce_once.cu has the launch and the threads of a row
  /// of this kernel; nothing where the kernel is of another shape. What it takes is a floor for this one.
  virtual std::optional<Constants> reduce_once(const Constants& /*constants*/) const { return std::nullopt; }

  /// The constants that are macros, i.e. without the launch parameters.
  Constants compile_time(const Constants& constants) const;
  /// What the kernel is compiled with.
  Macros macros(DType dtype, const Constants& constants) const;

  bool computes(DType dtype) const;

 protected:
  /// compile_time() with OVER.
  Constants reduce_once_over(ReduceOver over, const Constants& constants) const;
};

}  // namespace softmax_dispatch
