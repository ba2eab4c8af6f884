#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>
#include <vector>

#include "variants/registry.hpp"

namespace softmax_dispatch {

/// The configuration as the name of a parameterised test.
inline std::string test_name(const Config& config) {
  std::string name = to_string(config);
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

/// A variant at the extremes of its axes, for each type that it computes.
inline std::vector<Config> extremes_of(const Variant& variant, const Target& target) {
  std::vector<Config> result;
  for (const DType dtype : variant.dtypes())
    for (Constants& constants : variant.extremes(dtype, target))
      result.push_back({std::string(variant.id()), std::move(constants), dtype});
  return result;
}

/// Of the configurations of one variant after the other, the last of each type.
inline std::vector<Config> last_of_each_type(const std::vector<Config>& configs) {
  std::vector<Config> result;
  for (const Config& config : configs) {
    const bool same_kind =
        !result.empty() && result.back().variant == config.variant && result.back().dtype == config.dtype;
    if (same_kind) result.pop_back();
    result.push_back(config);
  }
  return result;
}

/// The extremes of every variant of the product.
inline std::vector<Config> extremes_of_all(const Target& target) {
  std::vector<Config> result;
  for (const Variant* variant : registry().all())
    for (Config& config : extremes_of(*variant, target)) result.push_back(std::move(config));
  return result;
}

}  // namespace softmax_dispatch
