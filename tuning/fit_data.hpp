#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tuning/journal.hpp"
#include "variants/registry.hpp"

/// What a fit knows of one dtype, read out of the journal.
namespace softmax_dispatch::tuning {

/// A configuration that may be in a table.
struct FitCandidate {
  Config config;
  const Variant* variant = nullptr;
  std::int64_t limit_N = 0;      ///< The longest row it may be given: within its accuracy and its verification.
  std::int64_t unaligned_N = 0;  ///< The longest that it should be given where rows are not aligned.
  const CompileEvent* compiled = nullptr;
  const VerifyEvent* verified = nullptr;  ///< Null on a simulated device where it has yet to be.

  std::int64_t limit_of(table::Alignment alignment) const noexcept {
    return alignment == table::Alignment::unaligned ? unaligned_N : limit_N;
  }
};

/// Compiled without error and without local memory, verified as compiled, never quarantined, known to the registry and
/// selectable. On a simulated device verifying takes longer than timing, and what is chosen is verified after it was
/// timed: there only what failed is not eligible. In the order of the registry, then of the constants: the order of the
/// journal's lines plays no part.
std::vector<FitCandidate> eligible(const Journal& journal, const Registry& registry, DType dtype);

/// Times of the candidates, by their position, at the shapes of one alignment class.
class FitTimes {
 public:
  using Field = std::map<std::size_t, double>;  ///< Candidate -> median microseconds.

  void add(std::int64_t M, std::int64_t N, std::size_t candidate, double time_us);

  const std::map<std::int64_t, std::map<std::int64_t, Field>>& by_N() const noexcept { return by_N_; }  ///< N, then M.
  /// The times at the shape; null where it was not measured.
  const Field* at(std::int64_t M, std::int64_t N) const noexcept;
  /// The measured M nearest to this one by ratio among those that have row length N; the smaller of two as near.
  std::int64_t nearest_M(std::int64_t M, std::int64_t N) const;

 private:
  std::map<std::int64_t, std::map<std::int64_t, Field>> by_N_;
};

double best_us(const FitTimes::Field& field);

struct FitData {
  std::vector<FitCandidate> candidates;
  std::vector<std::int64_t> M;                 ///< Every measured M, ascending.
  std::map<table::Alignment, FitTimes> times;  ///< Of each class that was measured.
};

/// Of several measurements of a configuration at a shape, the one in the finals counts, then the one with more samples.
FitData fit_data(const Journal& journal, const Registry& registry, DType dtype);

}  // namespace softmax_dispatch::tuning
