#pragma once

#include <vector>

#include "tuning/sweep.hpp"
#include "variants/registry.hpp"

namespace softmax_dispatch::tuning {

/// Every configuration of the sweep that the target supports and a table may hold for the dtype; those without a bound
/// on N first, so that an interrupted tune has them.
std::vector<Config> sweep_configs(const Sweep& sweep, const Registry& registry, const Target& target, DType dtype);

/// Those worth measuring at the problem: they compute it within the accuracy rule, and, among configurations that
/// differ in capacity alone, their capacity is the least that serves or the one after it. A larger one only runs more
/// empty rounds of the same loop, or holds more registers for the same row.
std::vector<Config> candidates_at(const Problem& problem, const std::vector<Config>& configs, const Registry& registry,
                                  const Target& target);

/// Drops the configurations that are no candidate at any of the shapes.
void keep_candidates(std::vector<Config>& configs, const std::vector<Problem>& shapes, const Registry& registry,
                     const Target& target);

/// The shapes ordered so that a sweep cut short covers every band of M with few row lengths rather than few bands with
/// all: lengths by halving (the ends, the middle, the quarters, ...) for each alignment class, and at each length every
/// M, likewise.
std::vector<Problem> coarse_to_fine(std::vector<Problem> shapes);

}  // namespace softmax_dispatch::tuning
