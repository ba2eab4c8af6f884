#include "variants/vector_kernel.hpp"

#include <algorithm>
#include <initializer_list>

#include "support/dtype.hpp"
#include "support/error.hpp"
#include "variants/axes.hpp"

namespace softmax_dispatch {
namespace {

constexpr std::int64_t kVectorRegisters = 4;
constexpr std::int64_t kDefaultThreads = 128;

/// Registers that a thread needs for so many values before ptxas spills: seen with NVRTC 12.4 and 13.0 on sm_75 and
/// sm_90. Beyond those that 64 registers hold, what works on the values grows with them. An estimate: some tiles and
/// some rows without streaming spill in blocks of 512 threads all the same, which shows when they are compiled.
std::int64_t registers_for(std::int64_t values, RowPlace place) {
  const bool tile = place == RowPlace::tile;
  const std::int64_t working = tile ? 42 : 32;
  const std::int64_t excess = std::max<std::int64_t>(0, values - (64 - working));
  return values + working + excess * (tile ? 3 : 2) / 4;
}

std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return ceil_div(value, unit) * unit;
}

/// Dynamic shared memory of a tile: the vectors that cover its elements wherever the first of them begins.
std::int64_t tile_bytes(std::int64_t rows, std::int64_t N, DType dtype) {
  constexpr std::int64_t kVectorBytes = 16;
  const auto size = static_cast<std::int64_t>(size_of(dtype));
  return round_up(rows * N * size + kVectorBytes - size, kVectorBytes);
}

}  // namespace

VectorKernel::VectorKernel(const VectorKernelTraits& traits) : traits_(traits) {
  axes_.push_back({.name = "THREADS", .least = kWarpThreads, .most = 1024, .step = kWarpThreads});
  const Axis lanes{.name = "LANES", .most = kWarpThreads, .power_of_two = true};
  const Axis stream{.name = "STREAM", .least = 0, .most = 1};
  if (traits_.place == RowPlace::tile) {
    axes_.insert(axes_.end(), {lanes, {.name = "ITEMS", .most = 160}, {.name = "TILE_ROWS", .most = 1024}, stream});
    return;
  }
  axes_.insert(axes_.end(), {lanes, {.name = "ROWS", .most = 8}, {.name = "VEC_ITEMS", .most = 40}, stream});
}

std::vector<DType> VectorKernel::dtypes() const {
  return {kDTypes.begin(), kDTypes.end()};
}

const char* VectorKernel::capacity_axis() const {
  return traits_.place == RowPlace::tile ? "ITEMS" : "VEC_ITEMS";
}

std::int64_t VectorKernel::unit(DType dtype) const {
  return traits_.place == RowPlace::tile ? 1 : vector_elements(dtype);
}

/// Of a thread: the row that it computes as floats, and as loaded the other rows of its round and those of the next
/// one.
std::int64_t VectorKernel::registers(DType dtype, const Constants& constants) const {
  const std::int64_t items = value_of(constants, capacity_axis());
  const std::int64_t loaded_rows = traits_.place == RowPlace::tile ? 0 : value_of(constants, "ROWS") - 1;
  return registers_for(items * unit(dtype) + loaded_rows * items * kVectorRegisters, traits_.place);
}

Support VectorKernel::supports(DType dtype, const Constants& constants, const Target& target) const {
  if (const Support axes = check_axes(*this, dtype, constants, target); !axes) return axes;
  const ArchLimits& limits = target.limits;
  const std::int64_t threads = value_of(constants, "THREADS");
  const std::int64_t most =
      std::min<std::int64_t>(limits.max_registers_per_thread, limits.registers_per_sm / threads / 8 * 8);
  if (const std::int64_t needed = registers(dtype, constants); needed > most) {
    return Support::no(
        fmt::format("{} needs some {} registers a thread, and THREADS={} leaves {} on {}: beyond, the row "
                    "goes to local memory",
                    to_string(constants), needed, threads, most, limits.arch));
  }
  if (traits_.place == RowPlace::tile) {
    const std::int64_t bytes = tile_bytes(value_of(constants, "TILE_ROWS"), capacity_N(dtype, constants), dtype);
    if (bytes > limits.shared_bytes_per_block_optin) {
      return Support::no(fmt::format("{} needs {} bytes of shared memory, and a block has at most {} on {}",
                                     to_string(constants), bytes, limits.shared_bytes_per_block_optin, limits.arch));
    }
  }
  return Support::yes();
}

Support VectorKernel::supports(const Problem& problem, const Constants& constants, const Target& target) const {
  if (const Support config = supports(problem.dtype, constants, target); !config) return config;
  if (problem.M < 1 || problem.N < 1) return Support::no(fmt::format("{} needs M and N of at least 1", id()));
  if (const std::int64_t most = capacity_N(problem.dtype, constants); problem.N > most) {
    return Support::no(fmt::format("N={} is above the capacity {} of {}", problem.N, most,
                                   to_string(Config{std::string(id()), constants, problem.dtype})));
  }
  if (ceil_div(problem.M, rows_per_block(constants)) > kMostBlocks)
    return Support::no(fmt::format("M={} needs more than the 2^31 - 1 blocks that a grid may have", problem.M));
  return Support::yes();
}

std::int64_t VectorKernel::capacity_N(DType dtype, const Constants& constants) const {
  const std::int64_t items = value_of(constants, capacity_axis());
  const std::int64_t lanes = value_of(constants, "LANES");
  return items * unit(dtype) * lanes + elements_beside(dtype, lanes, items);
}

/// Elements of the longest row beyond those that its lanes' items hold.
std::int64_t VectorKernel::elements_beside(DType dtype, std::int64_t lanes, std::int64_t items) const {
  // share.cuh has places for them.
  if (traits_.place == RowPlace::lanes) return vector_elements(dtype) - 1;
  // Where lanes share a row by words, one that begins in the middle of a word needs one more.
  return lanes > 1 && dtype != DType::f32 && items % 2 == 0 ? -1 : 0;
}

std::int64_t VectorKernel::accurate_N(DType dtype, const Constants& constants) const {
  return capacity_N(dtype, constants);
}

/// Fewer lanes than a vector has elements take those beside the vectors one after another.
std::int64_t VectorKernel::unaligned_N(DType dtype, const Constants& constants) const {
  const bool slow = traits_.place == RowPlace::lanes && value_of(constants, "LANES") < vector_elements(dtype);
  return slow ? 0 : accurate_N(dtype, constants);
}

/// Half of what the lanes can hold at least. Those that take a vector's elements one each are the fastest for a few
/// rows shorter than a vector.
std::int64_t VectorKernel::worthwhile_N(DType dtype, const Constants& constants) const {
  const std::int64_t lanes = value_of(constants, "LANES");
  if (lanes == 1 || (traits_.place == RowPlace::lanes && lanes == vector_elements(dtype))) return 1;
  return lanes * unit(dtype) / 2 + 1;
}

Constants VectorKernel::with_defaults(const Problem& problem, Constants constants, std::int64_t threads) const {
  constexpr std::int64_t kItemsOfLane = 4;
  threads = constants.try_emplace("THREADS", threads).first->second;
  const std::int64_t elements = unit(problem.dtype);
  std::int64_t lanes = 1;
  while (lanes < kWarpThreads && lanes * kItemsOfLane * elements < problem.N) lanes *= 2;
  lanes = constants.try_emplace("LANES", lanes).first->second;
  std::int64_t items = std::max<std::int64_t>(1, problem.N / (elements * lanes));
  if (items * elements * lanes + elements_beside(problem.dtype, lanes, items) < problem.N) ++items;
  constants.try_emplace(capacity_axis(), items);
  constants.try_emplace("STREAM", 1);
  if (traits_.place == RowPlace::lanes) constants.try_emplace("ROWS", 1);
  return constants;
}

Constants VectorKernel::complete(const Problem& problem, const Constants& partial, const Target& target) const {
  Constants full = with_defaults(problem, partial, kDefaultThreads);
  if (traits_.place == RowPlace::tile && !full.contains("TILE_ROWS")) {
    std::int64_t rows = std::max<std::int64_t>(1, value_of(full, "THREADS") / value_of(full, "LANES"));
    const auto bytes = [&] { return tile_bytes(rows, capacity_N(problem.dtype, full), problem.dtype); };
    while (rows > 1 && bytes() > target.limits.shared_bytes_per_block_optin) rows /= 2;
    full["TILE_ROWS"] = rows;
  }
  if (const Support support = supports(problem, full, target); !support) {
    throw_error(StatusCode::unsupported, "{} cannot serve {} on {}: {}", id(), to_string(problem), target.limits.arch,
                support.reason);
  }
  return full;
}

/// False where another configuration serves the same rows at least as well, by the measurements on an H200.
bool VectorKernel::worthwhile(DType dtype, const Constants& constants, const Target& target) const {
  constexpr std::int64_t kMostElements = 64;  // of a thread: beyond, too few threads are on the device
  const std::int64_t elements = value_of(constants, capacity_axis()) * unit(dtype);
  if (elements > kMostElements) return false;
  return traits_.place == RowPlace::tile ? worthwhile_tile(dtype, constants)
                                         : worthwhile_lanes(constants, elements, target);
}

bool VectorKernel::worthwhile_lanes(const Constants& constants, std::int64_t elements, const Target& target) const {
  const std::int64_t lanes = value_of(constants, "LANES");
  const std::int64_t items = value_of(constants, "VEC_ITEMS");
  const std::int64_t rows = value_of(constants, "ROWS");
  // Warps without a barrier are as good in any block. On an H200 those of a smaller one are the faster by a percent or
  // two, if it has enough to do to be worth its start.
  constexpr std::int64_t kSmallBlock = 64, kLeastItems = 4;
  constexpr int kMeasuredMajor = 9;
  const std::int64_t threads = value_of(constants, "THREADS");
  const bool small = threads == kSmallBlock && rows == 1 && target.limits.major >= kMeasuredMajor &&
                     (lanes == kWarpThreads ? items >= kLeastItems : items == kLeastItems && lanes >= 16);
  if (threads != kDefaultThreads && !small) return false;
  if (rows > 1 && rows * elements > 32) return false;
  // Up to four vectors of a lane do, too: a longer row takes more lanes.
  return lanes == kWarpThreads || items <= 4;
}

/// A few rounds of rows for every lane; each capacity in few ways. Elements of 16 bits go by two in a word, so that one
/// of several lanes takes more of them.
bool VectorKernel::worthwhile_tile(DType dtype, const Constants& constants) const {
  const std::int64_t lanes = value_of(constants, "LANES");
  const std::int64_t items = value_of(constants, "ITEMS");
  const std::int64_t threads = value_of(constants, "THREADS");
  if (threads != kDefaultThreads || value_of(constants, "STREAM") == 0) return false;
  const std::int64_t needed = value_of(constants, "TILE_ROWS") * lanes;
  const auto rounds_are = [&](std::initializer_list<std::int64_t> some) {
    return std::any_of(some.begin(), some.end(), [&](std::int64_t rounds) { return needed == rounds * threads; });
  };
  // Of the short rows of one lane many are worth a block where there are many.
  if (lanes == 1) return rounds_are({1, 4, 8}) && items <= 16;
  if (!rounds_are({1, 2, 4})) return false;
  const bool narrow = dtype != DType::f32;
  if (items < 8 || (narrow && items % 2 != 0)) return false;
  return lanes == kWarpThreads || items < (narrow ? 25 : 16);
}

std::vector<Constants> VectorKernel::enumerate(DType dtype, const Ladders& ladders, const Target& target) const {
  std::vector<Constants> configs = combinations(*this, ladders, target);
  std::erase_if(configs, [&](const Constants& config) {
    return !supports(dtype, config, target) || !worthwhile(dtype, config, target);
  });
  return configs;
}

std::vector<Constants> VectorKernel::extremes(DType dtype, const Target& target) const {
  std::vector<Constants> result;
  // The largest capacity that the other constants leave.
  const auto add_largest = [&](Constants constants) {
    const auto axis =
        std::find_if(axes_.begin(), axes_.end(), [&](const Axis& a) { return a.name == capacity_axis(); });
    for (std::int64_t items = axis->most; items >= 1; --items) {
      constants[capacity_axis()] = items;
      if (!supports(dtype, constants, target)) continue;
      result.push_back(constants);
      return;
    }
  };
  switch (traits_.place) {
    case RowPlace::lanes: {
      result = {{{"THREADS", kWarpThreads}, {"LANES", 1}, {"ROWS", 1}, {"VEC_ITEMS", 1}, {"STREAM", 0}},
                {{"THREADS", kDefaultThreads}, {"LANES", 8}, {"ROWS", 2}, {"VEC_ITEMS", 2}, {"STREAM", 1}}};
      add_largest({{"THREADS", 1024}, {"LANES", 16}, {"ROWS", 1}, {"STREAM", 0}});
      break;
    }
    case RowPlace::tile:
      result = {{{"THREADS", kWarpThreads}, {"LANES", 1}, {"ITEMS", 1}, {"TILE_ROWS", 1}, {"STREAM", 0}},
                {{"THREADS", 64}, {"LANES", 1}, {"ITEMS", 6}, {"TILE_ROWS", 150}, {"STREAM", 1}},
                {{"THREADS", kDefaultThreads}, {"LANES", 8}, {"ITEMS", 10}, {"TILE_ROWS", 37}, {"STREAM", 1}}};
      add_largest({{"THREADS", 1024}, {"LANES", 32}, {"TILE_ROWS", 16}, {"STREAM", 0}});
      break;
  }
  return result;
}

std::vector<std::int64_t> VectorKernel::boundaries_N(DType dtype, const Constants& constants) const {
  const std::int64_t vector = vector_elements(dtype);
  const std::int64_t capacity = capacity_N(dtype, constants);
  const std::int64_t turn = value_of(constants, "LANES") * unit(dtype);  // of the row's threads
  return as_boundaries({vector, turn, 2 * turn, capacity - (vector - 1), capacity}, capacity);
}

std::int64_t VectorKernel::rows_per_block(const Constants& constants) const {
  if (traits_.place == RowPlace::tile) return value_of(constants, "TILE_ROWS");
  return value_of(constants, "THREADS") / value_of(constants, "LANES") * value_of(constants, "ROWS");
}

Geometry VectorKernel::geometry(const Problem& problem, const Constants& constants) const {
  Geometry shape;
  shape.grid = ceil_div(problem.M, rows_per_block(constants));
  shape.block = static_cast<int>(value_of(constants, "THREADS"));
  shape.overlaps = true;
  if (traits_.place == RowPlace::tile)
    shape.shared_bytes = tile_bytes(value_of(constants, "TILE_ROWS"), problem.N, problem.dtype);
  return shape;
}

std::optional<Constants> VectorKernel::reduce_once(const Constants& constants) const {
  return reduce_once_over(traits_.place == RowPlace::tile ? ReduceOver::tile : ReduceOver::lanes, constants);
}

}  // namespace softmax_dispatch
