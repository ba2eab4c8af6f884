#pragma once

#include <cstddef>

#include "table/table.hpp"
#include "tuning/journal.hpp"
#include "variants/registry.hpp"

namespace softmax_dispatch::tuning {

/// Journal -> table: a pure function. Per band of M and alignment class, the fastest eligible configuration at each
/// measured N; boundaries between neighbours at their geometric mean in log space, pulled in to a kernel's accurate_N;
/// where two are within `tie_pct` the simpler is kept, and neighbouring thresholds are merged where one kernel serves
/// both within it. At most `most_kernels` of a type, those that together lose the least: each has to be compiled or
/// loaded by every program that meets its shapes. Eligible: compiled, no local memory, verified (on a simulated device:
/// not failed; a kernel that has yet to be verified has no record in the table), not quarantined, variant selectable.
/// Every class ends in the unbounded variant or another kernel without a limit. Pins of `previous` are carried over
/// with their kernels. Throws Error(verification_failed) where no unbounded kernel is eligible.
table::Table fit(const Journal& journal, const Registry& registry, const table::Table* previous, double tie_pct = 1.0,
                 std::size_t most_kernels = 64);

}  // namespace softmax_dispatch::tuning
