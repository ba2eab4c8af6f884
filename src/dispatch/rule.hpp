#pragma once

#include "table/table.hpp"
#include "variants/variant.hpp"

namespace softmax_dispatch::runtime {

/// The choice where no table is at hand, in the form of a table without measurements: short rows go to a warp, longer
/// ones are kept in a block's registers, and rows beyond that go to the variant without limits. No kernel of it has a
/// verification record, so each is verified on the device before its first use. A variant that this version lacks, or
/// that the target does not support, is left out: the next step serves its rows.
table::Table rule_based_table(const Target& target);

}  // namespace softmax_dispatch::runtime
