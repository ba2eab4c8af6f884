#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "device/workspace.hpp"
#include "support/configs.hpp"
#include "support/dtype.hpp"
#include "support/elements.hpp"
#include "variants/registry.hpp"

/// The kernel that reduces once (kernels_src/bench/reduce_once.cu) multiplies each row by its maximum: every element is
/// loaded, reduced over and stored, whatever launch the kernel takes over from a variant.
namespace softmax_dispatch::reduce_once {

/// What share a maximum: a row, and of rows in shared memory the vectors that a group of lanes copies.
inline std::int64_t share_of(std::int64_t element, const Problem& problem, const Constants& macros) {
  if (macros.at("OVER") != static_cast<std::int64_t>(ReduceOver::tile)) return element / problem.N;
  const auto vector = static_cast<std::int64_t>(16 / size_of(problem.dtype));
  const std::int64_t run = macros.at("TILE_ROWS") * problem.N, begin = element / run * run;
  const std::int64_t number = (begin % vector + element - begin) / vector;
  return begin * macros.at("THREADS") + number % macros.at("THREADS") / macros.at("LANES");
}

/// The largest of each row is somewhere else in it. All are held exactly by every type.
inline std::vector<float> input(const Problem& problem) {
  std::vector<float> values(static_cast<std::size_t>(problem.M * problem.N));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7 % 31) / 8;
  for (std::int64_t r = 0; r < problem.M; ++r)
    values[static_cast<std::size_t>(r * problem.N + (r * 37 + problem.N - 1) % problem.N)] =
        4 + static_cast<float>(r) / 8;
  return values;
}

inline std::vector<float> expected(const std::vector<float>& x, const Problem& problem, const Constants& macros) {
  std::map<std::int64_t, float> highest;
  for (std::size_t i = 0; i < x.size(); ++i) {
    float& of_share = highest[share_of(static_cast<std::int64_t>(i), problem, macros)];
    of_share = std::max(of_share, x[i]);
  }
  std::vector<float> y;
  for (std::size_t i = 0; i < x.size(); ++i)
    y.push_back(held_by(problem.dtype, x[i] * highest[share_of(static_cast<std::int64_t>(i), problem, macros)]));
  return y;
}

inline std::vector<float> run(Device& device, const LoadedKernel& kernel, const Geometry& geometry,
                              const Problem& problem, const std::vector<float>& values) {
  const std::vector<std::byte> bytes = to_elements(problem.dtype, values);
  const Buffer x(device, bytes.size()), y(device, bytes.size());
  device.upload(x.get(), bytes.data(), bytes.size());
  Launch launch{&kernel, geometry, x.get(), y.get(), problem.M, problem.N};
  launch.element_bytes = static_cast<int>(size_of(problem.dtype));
  Workspace workspace(device);
  launch.workspace = workspace.of(geometry);
  device.launch(launch, {});
  device.synchronize();
  std::vector<std::byte> output(bytes.size());
  device.download(output.data(), y.get(), output.size());
  return to_values(problem.dtype, output);
}

/// Holds for the extremes of every variant whose launch there is such a kernel for. What the kernels reduce over: their
/// values of OVER.
inline std::set<std::int64_t> check(Device& device, const Target& target,
                                    const std::function<std::shared_ptr<const LoadedKernel>(const Macros&)>& load) {
  std::set<std::int64_t> kinds;
  for (const Config& config : extremes_of_all(target)) {
    const Variant& variant = registry().at(config.variant);
    const auto macros = variant.reduce_once(config.constants);
    if (!macros) continue;
    const auto kernel = load({*macros, config.dtype});
    for (const std::int64_t M : {1, 6}) {
      for (const std::int64_t N : {1, 13, 77, 128}) {
        const Problem problem{config.dtype, M, N};
        if (!variant.supports(problem, config.constants, target)) continue;
        const Geometry geometry = variant.geometry(problem, config.constants);
        const std::vector<float> values = input(problem);
        EXPECT_EQ(run(device, *kernel, geometry, problem, values), expected(values, problem, *macros))
            << to_string(config) << ' ' << to_string(problem);
        kinds.insert(macros->at("OVER"));
      }
    }
  }
  return kinds;
}

}  // namespace softmax_dispatch::reduce_once
