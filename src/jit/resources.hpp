#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/resources.hpp"

namespace softmax_dispatch::jit {

using softmax_dispatch::Resources;

/// Reads ptxas' report (--ptxas-options=-v) of a compilation with one entry. The wording differs between toolkits, so
/// each figure is found by its own words wherever they stand. Throws Error(toolchain) where the registers cannot be
/// found.
Resources parse_resources(std::string_view log);

/// Names of the __global__ functions in the same report.
std::vector<std::string> parse_entries(std::string_view log);

}  // namespace softmax_dispatch::jit
