#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <softmax_dispatch/problem.hpp>
#include <string>
#include <vector>

#include "support/config.hpp"
#include "table/table.hpp"
#include "variants/registry.hpp"
#include "variants/variant.hpp"

namespace softmax_dispatch::runtime {

/// A configuration that a decision may name, with what a warm call must know of it.
struct Candidate {
  const Variant* variant = nullptr;
  Config config;           ///< Every axis, launch parameters included.
  Macros macros;           ///< What it is compiled with.
  std::int64_t max_M = 0;  ///< The most rows that one launch covers; 0 where the device has too few SMs for it.
  std::int64_t max_N = 0;  ///< The longest row that it computes within the accuracy rule.
  std::string code_hash;   ///< Of the code that `verification` is about; empty where the table has none.
  std::optional<table::VerificationRecord> verification;

  bool serves(std::int64_t M, std::int64_t N) const noexcept { return M <= max_M && N <= max_N; }
};

/// A decision table made ready for calls: behind every choice of the table stand the kernels that take its place where
/// it cannot be used. Immutable, so that any number of threads may read it.
class Decisions {
 public:
  /// Of a table that was read or passes validate(). Throws Error(bad_table) for a kernel that the target's architecture
  /// or its variant does not support. One that needs as many SMs as the table's device has, and the target has not,
  /// serves nothing.
  static Decisions from_table(table::Table table, const Target& target, const Registry& variants = registry());
  /// One configuration of each type for every shape. Throws Error(unsupported) where the target supports none of them.
  static Decisions forced(const std::vector<Config>& configs, const Target& target,
                          const Registry& variants = registry());

  Decisions(Decisions&&) = default;

  const std::vector<Candidate>& candidates() const noexcept { return candidates_; }

  /// Calls visit(index of a candidate) for those that serve the problem (M, N >= 1) until it returns true, and returns
  /// whether it did. Order: the table's choice, its runner-up, then the others by the longest row they serve, least
  /// first: a kernel made for rows about this long; a kernel without limits comes last. Allocates nothing.
  template <typename Visit>
  bool visit(const Problem& problem, table::Alignment alignment, Visit&& visit) const {
    const auto accepts = [&](int index) {
      return candidates_[static_cast<std::size_t>(index)].serves(problem.M, problem.N) && visit(index);
    };
    const table::Choice choice = table::lookup(table_, problem, alignment);
    const int chosen = choice.kernel ? static_cast<int>(choice.kernel - table_.kernels.data()) : kNone;
    if (chosen != kNone && accepts(chosen)) return true;
    const int runner_up = runner_up_of(choice.threshold);
    if (runner_up != kNone && accepts(runner_up)) return true;
    for (const int index : by_reach_[static_cast<std::size_t>(problem.dtype)]) {
      if (index != chosen && index != runner_up && accepts(index)) return true;
    }
    return false;
  }

 private:
  static constexpr int kNone = -1;

  Decisions() = default;
  void add(Candidate candidate);
  void add_runner_ups();
  void add_unbounded(const Target& target);
  void sort_by_reach();
  int runner_up_of(const table::Threshold* threshold) const noexcept;

  table::Table table_;                 ///< Its thresholds are keys of runner_ups_: never changed.
  std::vector<Candidate> candidates_;  ///< First the kernels of table_, in its order.
  std::map<const table::Threshold*, int> runner_ups_;
  std::array<std::vector<int>, 3> by_reach_;  ///< By DType: its candidates, ascending in max_N.
};

}  // namespace softmax_dispatch::runtime
