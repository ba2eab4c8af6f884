#pragma once

#include "table/table.hpp"
#include "variants/registry.hpp"

namespace softmax_dispatch::runtime {

/// The choice for each type of which the table says nothing, in the form of thresholds without measurements: short rows
/// go to a warp, longer ones are kept in a block's registers, and rows beyond that go to the variant without limits. No
/// kernel that is added has a verification record, so each is verified on the device before its first use. A variant
/// that this version lacks, or that the target does not support, is left out: the next step serves its rows.
void add_rule(table::Table& table, const Target& target, const Registry& variants = registry());

/// The same where there is no table at all.
table::Table rule_based_table(const Target& target);

}  // namespace softmax_dispatch::runtime
