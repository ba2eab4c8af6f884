#include "tuning/candidates.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "table/table.hpp"

namespace softmax_dispatch::tuning {
namespace {

/// Drops the configurations whose larger capacity is beyond the accuracy rule, so that it serves no longer rows than
/// that of another which is otherwise the same.
void drop_useless_capacities(std::vector<Config>& configs, const Variant& variant) {
  std::map<std::pair<Constants, std::int64_t>, std::int64_t> least;
  const auto key = [&](const Config& config) {
    return std::pair(variant.without_capacity(config.constants), variant.accurate_N(config.dtype, config.constants));
  };
  for (const Config& config : configs) {
    const std::int64_t capacity = variant.capacity_N(config.dtype, config.constants);
    const auto [found, is_new] = least.try_emplace(key(config), capacity);
    if (!is_new) found->second = std::min(found->second, capacity);
  }
  std::erase_if(configs, [&](const Config& config) {
    return variant.capacity_N(config.dtype, config.constants) > least.at(key(config));
  });
}

/// How often [0, count - 1] is halved until an end or a middle is `index`.
int depth_of(std::size_t index, std::size_t count) {
  std::size_t low = 0, high = count - 1;
  for (int depth = 0;; ++depth) {
    if (index == low || index == high) return depth;
    const std::size_t middle = (low + high) / 2;
    (index <= middle ? high : low) = middle;
  }
}

std::map<std::int64_t, int> depths(const std::set<std::int64_t>& values) {
  std::map<std::int64_t, int> result;
  std::size_t index = 0;
  for (const std::int64_t value : values) result[value] = depth_of(index++, values.size());
  return result;
}

}  // namespace

std::vector<Config> sweep_configs(const Sweep& sweep, const Registry& registry, const Target& target, DType dtype) {
  std::vector<Config> configs;
  for (const Variant* variant : registry.all()) {
    if (!variant->selectable() || !variant->computes(dtype)) continue;
    std::vector<Config> own;
    for (Constants& constants : variant->enumerate(dtype, sweep.ladders(*variant), target))
      own.push_back({std::string(variant->id()), std::move(constants), dtype});
    drop_useless_capacities(own, *variant);
    configs.insert(configs.end(), own.begin(), own.end());
  }
  std::stable_partition(configs.begin(), configs.end(),
                        [&](const Config& config) { return registry.at(config.variant).serves_every_shape(); });
  return configs;
}

std::vector<Config> candidates_at(const Problem& problem, const std::vector<Config>& configs, const Registry& registry,
                                  const Target& target) {
  std::vector<Config> able;
  for (const Config& config : configs) {
    const Variant& variant = registry.at(config.variant);
    const std::int64_t most = table::alignment_of(problem) == table::Alignment::unaligned
                                  ? variant.unaligned_N(config.dtype, config.constants)
                                  : variant.accurate_N(config.dtype, config.constants);
    const bool serves =
        config.dtype == problem.dtype && variant.supports(problem, config.constants, target) && problem.N <= most;
    if (serves && problem.N >= variant.worthwhile_N(config.dtype, config.constants)) able.push_back(config);
  }
  std::map<std::pair<std::string, Constants>, std::set<std::int64_t>> capacities;
  const auto key = [&](const Config& config) {
    return std::pair(config.variant, registry.at(config.variant).without_capacity(config.constants));
  };
  const auto capacity = [&](const Config& config) {
    return registry.at(config.variant).capacity_N(config.dtype, config.constants);
  };
  for (const Config& config : able) capacities[key(config)].insert(capacity(config));
  std::erase_if(able, [&](const Config& config) {
    const std::set<std::int64_t>& serving = capacities.at(key(config));
    return std::distance(serving.begin(), serving.find(capacity(config))) >= 2;
  });
  return able;
}

void keep_candidates(std::vector<Config>& configs, const std::vector<Problem>& shapes, const Registry& registry,
                     const Target& target) {
  std::set<Config> used;
  for (const Problem& shape : shapes) {
    std::vector<Config> candidates = candidates_at(shape, configs, registry, target);
    used.insert(std::make_move_iterator(candidates.begin()), std::make_move_iterator(candidates.end()));
  }
  std::erase_if(configs, [&](const Config& config) { return !used.contains(config); });
}

std::vector<Problem> coarse_to_fine(std::vector<Problem> shapes) {
  std::set<std::int64_t> Ms;
  std::map<table::Alignment, std::set<std::int64_t>> Ns;
  for (const Problem& shape : shapes) {
    Ms.insert(shape.M);
    Ns[table::alignment_of(shape)].insert(shape.N);
  }
  const std::map<std::int64_t, int> depth_M = depths(Ms);
  std::map<std::int64_t, int> depth_N;
  for (const auto& [alignment, lengths] : Ns) depth_N.merge(depths(lengths));
  std::sort(shapes.begin(), shapes.end(), [&](const Problem& a, const Problem& b) {
    const auto key = [&](const Problem& p) {
      return std::tuple(depth_N.at(p.N), p.N, depth_M.at(p.M), p.M, static_cast<int>(p.dtype));
    };
    return key(a) < key(b);
  });
  return shapes;
}

}  // namespace softmax_dispatch::tuning
