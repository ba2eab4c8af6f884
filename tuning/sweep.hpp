#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "variants/variant.hpp"

namespace softmax_dispatch::tuning {

/// What is tried: configs/sweeps/{quick,standard,full}.yaml, compiled in.
struct Sweep {
  std::string name;
  std::vector<std::int64_t> M, N;  ///< The grid of shapes, ascending.
  std::int64_t max_elements = 0;   ///< Shapes with M * N above it are left out.
  Ladders axes;                    ///< Values per axis; GRID in blocks per SM.
  Ladders f32_only;                ///< Other values for variants that compute f32 alone, the published experiments.
  Ladders rescanning;          ///< Other values for variants that read a row more than once: there capacity is cheap.
  int max_launches = 0;        ///< Most launches in one graph.
  double race_factor = 0;      ///< A candidate this many times slower than the best is not measured further.
  int screen_replays = 0;      ///< Replays of every candidate at a shape ...
  double finalist_factor = 0;  ///< ... those within this factor of the best go on ...
  int final_replays = 0;       ///< ... and are measured this many times more, interleaved.

  /// The values to try for a variant.
  Ladders ladders(const Variant& variant) const;
};

/// Throws Error(invalid_argument) for an unknown name, with those there are.
Sweep load_sweep(std::string_view name);
Sweep parse_sweep(std::string_view text, std::string_view name);

struct Range {
  std::int64_t from = 1, to = 0;
};

/// The sweep with only the sizes in the ranges; an empty intersection takes the range's ends. Throws
/// Error(invalid_argument) for a range that is empty or starts below 1.
Sweep restrict(Sweep sweep, std::optional<Range> M, std::optional<Range> N);

/// The shapes of the sweep's grid, in a fixed order.
std::vector<Problem> shapes(const Sweep& sweep, DType dtype);

}  // namespace softmax_dispatch::tuning
