#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tuning/journal.hpp"
#include "variants/registry.hpp"

/// Journals made by hand, of the product's variants on an imagined device.
namespace softmax_dispatch::tuning::testing {

RunEvent sample_run();
CompileEvent compiled(const Config& config);  ///< Its code hash follows from the configuration.
VerifyEvent verified(const Config& config);   ///< As compiled, up to the variant's accurate_N.
MeasureEvent measured(const Config& config, std::int64_t M, std::int64_t N, double median_us);

/// A finished run in which every configuration compiled and verified; without measurements.
Journal sample_journal(const std::vector<Config>& configs);

/// Of configurations in text form.
Journal sample_journal(const std::vector<std::string>& configs);

}  // namespace softmax_dispatch::tuning::testing
