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
std::vector<tuning::Range> parse_ranges(std::string_view option, const std::vector<std::string>& texts);
std::int64_t parse_size(std::string_view option, std::string_view text);  ///< Bytes: "4096", "64M" of 2^20.
std::vector<DType> parse_dtypes(std::string_view text);                   ///< "f32,f16", each with kernels.
std::uint64_t parse_seed(std::string_view text);
double parse_seconds(std::string_view option, std::string_view text);  ///< Above 0.
Constants parse_constants(const std::vector<std::string>& texts);      ///< NAME=value, each name once.
Problem parse_one_problem(std::string_view text);                      ///< "f32:1024x257", M and N >= 1.
std::vector<Problem> parse_problems(
    const std::vector<std::string>& texts);  ///< The same, and the sets `core` and `f16:core`.
/// Rows of every length in the ranges, of each type, as many as the bytes hold.
std::vector<Problem> problems_of_size(std::int64_t bytes, const std::vector<tuning::Range>& lengths,
                                      const std::vector<DType>& dtypes);

}  // namespace softmax_dispatch::cli
