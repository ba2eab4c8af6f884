#include "variants/row_kernel.hpp"

#include <algorithm>

#include "support/error.hpp"
#include "variants/axes.hpp"

namespace softmax_dispatch {
namespace {

constexpr std::int64_t kLongestNarrowRow = (std::int64_t{1} << 31) - 1;
constexpr std::int64_t kDefaultThreads = 256;
// Registers that a kernel needs beside its private array before ptxas spills: seen with NVRTC 12.4 and 13.0 on sm_75
// and sm_90 (an array of 41 floats fits 64 registers, one of 49 does not).
constexpr std::int64_t kWorkingRegisters = 22;

}  // namespace

RowKernel::RowKernel(const RowKernelTraits& traits) : traits_(traits) {
  Axis threads{.name = "THREADS", .least = kWarpThreads, .most = 1024, .step = kWarpThreads};
  threads.power_of_two = traits_.threads_power_of_two;
  axes_.push_back(threads);
  if (capacity_axis() != nullptr) axes_.push_back({.name = capacity_axis(), .most = traits_.capacity_most});
  if (traits_.owner == RowOwner::grid_walk && !traits_.wide_index) {
    axes_.push_back({.name = "GRID", .compile_time = false, .most = kMostBlocks});
  }
}

const char* RowKernel::capacity_axis() const {
  switch (traits_.capacity) {
    case Capacity::items:
      return "ITEMS";
    case Capacity::vectors:
      return "VEC_ITEMS";
    case Capacity::none:
      break;
  }
  return nullptr;
}

std::int64_t RowKernel::threads_of_row(const Constants& constants) const {
  return traits_.owner == RowOwner::warp ? kWarpThreads : value_of(constants, "THREADS");
}

std::int64_t RowKernel::most_capacity(DType dtype, std::int64_t threads, const ArchLimits& limits) const {
  if (!traits_.row_in_registers) return traits_.capacity_most;
  const std::int64_t registers =
      std::min<std::int64_t>(limits.max_registers_per_thread, limits.registers_per_sm / threads / 8 * 8);
  const std::int64_t floats = registers - kWorkingRegisters;
  return std::min(traits_.capacity_most,
                  traits_.capacity == Capacity::items ? floats : (floats - 1) / vector_elements(dtype));
}

std::int64_t RowKernel::least_capacity(const Problem& problem, std::int64_t threads_of_row) const {
  const std::int64_t units =
      traits_.capacity == Capacity::items ? problem.N : problem.N / vector_elements(problem.dtype);
  return std::max<std::int64_t>(1, ceil_div(units, threads_of_row));
}

Support RowKernel::supports(DType dtype, const Constants& constants, const Target& target) const {
  if (const Support axes = check_axes(*this, dtype, constants, target); !axes) return axes;
  const std::int64_t threads = value_of(constants, "THREADS");
  if (traits_.row_in_registers) {
    const std::int64_t most = most_capacity(dtype, threads, target.limits);
    if (const std::int64_t value = value_of(constants, capacity_axis()); value > most) {
      return Support::no(
          fmt::format("{}={} with THREADS={} does not fit the registers of {}: at most {}, beyond which the private "
                      "array goes to local memory",
                      capacity_axis(), value, threads, target.limits.arch, most));
    }
  }
  return Support::yes();
}

Support RowKernel::supports(const Problem& problem, const Constants& constants, const Target& target) const {
  if (const Support config = supports(problem.dtype, constants, target); !config) return config;
  if (problem.M < 1 || problem.N < 1) return Support::no(fmt::format("{} needs M and N of at least 1", id()));
  if (const std::int64_t most = capacity_N(problem.dtype, constants); problem.N > most) {
    return Support::no(fmt::format("N={} is above the capacity {} of {}", problem.N, most,
                                   to_string(Config{std::string(id()), constants, problem.dtype})));
  }
  if (!traits_.wide_index && geometry(problem, constants).grid > kMostBlocks) {
    return Support::no(fmt::format("M={} needs more than the 2^31 - 1 blocks that a grid may have", problem.M));
  }
  return Support::yes();
}

std::int64_t RowKernel::capacity_N(DType dtype, const Constants& constants) const {
  if (traits_.wide_index) return kUnbounded;
  if (traits_.capacity == Capacity::none) return kLongestNarrowRow;
  const std::int64_t slots = value_of(constants, capacity_axis()) * threads_of_row(constants);
  return traits_.capacity == Capacity::items ? slots : (slots + 1) * vector_elements(dtype) - 1;
}

std::int64_t RowKernel::accurate_N(DType dtype, const Constants& constants) const {
  const std::int64_t per_thread = traits_.accurate_elements_per_thread;
  if (per_thread == kUnbounded) return capacity_N(dtype, constants);
  return std::min(capacity_N(dtype, constants), per_thread * threads_of_row(constants));
}

std::int64_t RowKernel::worthwhile_N(DType dtype, const Constants& constants) const {
  // The last resort is tried for every row.
  if (traits_.wide_index) return 1;
  const std::int64_t unit = traits_.capacity == Capacity::vectors ? vector_elements(dtype) : 1;
  return threads_of_row(constants) * unit / 2 + 1;
}

Constants RowKernel::complete(const Problem& problem, const Constants& partial, const Target& target) const {
  const auto fill = [&](std::int64_t threads) {
    Constants full = partial;
    full.try_emplace("THREADS", threads);
    if (const char* axis = capacity_axis()) full.try_emplace(axis, least_capacity(problem, threads_of_row(full)));
    if (axes_.back().name == "GRID")
      full.try_emplace("GRID", std::min(std::max<std::int64_t>(problem.M, 1), kMostBlocks));
    return full;
  };
  Constants full = fill(kDefaultThreads);
  // Where THREADS is free, more threads hold a longer row.
  if (!partial.contains("THREADS") && traits_.owner != RowOwner::warp) {
    for (std::int64_t threads = 2 * kDefaultThreads; threads <= 1024 && !supports(problem, full, target);
         threads *= 2) {
      full = fill(threads);
    }
  }
  if (const Support support = supports(problem, full, target); !support) {
    throw_error(StatusCode::unsupported, "{} cannot serve {} on {}: {}", id(), to_string(problem), target.limits.arch,
                support.reason);
  }
  return full;
}

std::vector<Constants> RowKernel::enumerate(DType dtype, const Ladders& ladders, const Target& target) const {
  std::vector<Constants> configs = combinations(*this, ladders, target);
  std::erase_if(configs, [&](const Constants& config) { return !supports(dtype, config, target); });
  return configs;
}

std::vector<Constants> RowKernel::extremes(DType dtype, const Target& target) const {
  std::vector<Constants> result;
  for (const std::int64_t threads : {kWarpThreads, std::int64_t{1024}}) {
    Constants config{{"THREADS", threads}};
    if (axes_.back().name == "GRID") config["GRID"] = std::max(1, target.sm_count);
    if (const char* axis = capacity_axis()) {
      for (const std::int64_t value : {std::int64_t{1}, most_capacity(dtype, threads, target.limits)}) {
        config[axis] = value;
        result.push_back(config);
      }
    } else {
      result.push_back(config);
    }
  }
  return result;
}

std::vector<std::int64_t> RowKernel::boundaries_N(DType dtype, const Constants& constants) const {
  const std::int64_t threads = threads_of_row(constants);
  const std::int64_t vector = vector_elements(dtype);
  std::vector<std::int64_t> lengths{vector, kWarpThreads, threads, vector * threads};
  if (traits_.wide_index) {
    lengths.push_back(4 * vector * threads);  // four vectors of every thread are in flight
    lengths.push_back(std::int64_t{1} << 20);
  } else {
    lengths.push_back(2 * threads);
    if (traits_.capacity != Capacity::none) lengths.push_back(capacity_N(dtype, constants));
    if (traits_.capacity == Capacity::vectors) lengths.push_back(capacity_N(dtype, constants) - (vector - 1));
    lengths.push_back(accurate_N(dtype, constants));
  }
  return as_boundaries(std::move(lengths), accurate_N(dtype, constants));
}

std::int64_t RowKernel::rows_per_block(const Constants& constants) const {
  return traits_.owner == RowOwner::warp ? value_of(constants, "THREADS") / kWarpThreads : 1;
}

Geometry RowKernel::geometry(const Problem& problem, const Constants& constants) const {
  Geometry shape;
  shape.block = static_cast<int>(value_of(constants, "THREADS"));
  switch (traits_.owner) {
    case RowOwner::block:
      shape.grid = problem.M;
      break;
    case RowOwner::warp:
      shape.grid = ceil_div(problem.M, rows_per_block(constants));
      break;
    case RowOwner::grid_walk:
      shape.grid = std::min(problem.M, traits_.wide_index ? kMostBlocks : value_of(constants, "GRID"));
      break;
  }
  return shape;
}

}  // namespace softmax_dispatch
