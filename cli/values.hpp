#pragma once

#include <cstdint>
#include <optional>
#include <softmax_dispatch/problem.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.hpp"
#include "support/config.hpp"
#include "tuning/sweep.hpp"

/// Texts of the command line as values. `option` stands in the messages; each function throws Error(invalid_argument).
namespace softmax_dispatch::cli {

DeviceChoice parse_device(std::string_view text);                           ///< auto, cuda:K or sim.
tuning::Range parse_range(std::string_view option, std::string_view text);  ///< LO:HI with 1 <= LO <= HI.
std::vector<DType> parse_dtypes(std::string_view text);                     ///< "f32,f16", each with kernels.
std::uint64_t parse_seed(std::string_view text);
double parse_seconds(std::string_view option, std::string_view text);  ///< Above 0.
Constants parse_constants(const std::vector<std::string>& texts);      ///< NAME=value, each name once.
Problem parse_one_problem(std::string_view text);                      ///< "f32:1024x257", M and N >= 1.
std::vector<Problem> parse_problems(
    const std::vector<std::string>& texts);  ///< The same, and the sets `core` and `f16:core`.

}  // namespace softmax_dispatch::cli
