#include "variants/part_kernel.hpp"

#include <algorithm>

#include "support/dtype.hpp"
#include "support/error.hpp"
#include "variants/axes.hpp"

namespace softmax_dispatch {
namespace {

constexpr std::int64_t kMostItems = 16;
constexpr std::int64_t kVectorBytes = 16;
/// exchange.cuh: a header, and a slot for each part.
constexpr std::int64_t kHeaderBytes = 128, kSlotBytes = 16;
/// A workspace is kept for each stream: what needs more is for other kernels.
constexpr std::int64_t kMostWorkspaceBytes = std::int64_t{16} << 20;
/// exchange.cuh: tags of one launch.
constexpr std::int64_t kMostRounds = std::int64_t{1} << 24;
/// Positions in a row are 32-bit, those after its end too.
constexpr std::int64_t kLongestRow = (std::int64_t{1} << 31) - 1 - (1 << 20);
/// Additions of a chain in FP32; 16-bit results have 2^13 times coarser units, of which a part is enough.
constexpr std::int64_t kChain = 32, kChain16 = 4 * kChain;
constexpr std::int64_t kChains = 4;
/// ring.cu: as many threads write as reduce, and of two warps more one fills stages and one waits for rows.
constexpr std::int64_t kMostThreadsOfRing = 480;
constexpr int kClusterMajor = 9;  // compute capability with clusters and bulk copies

}  // namespace

PartKernel::PartKernel(const PartKernelTraits& traits) : traits_(traits) {
  const bool ring = traits_.exchange == Exchange::ring;
  axes_.push_back(
      {.name = "THREADS", .least = kWarpThreads, .most = ring ? kMostThreadsOfRing : 1024, .step = kWarpThreads});
  if (traits_.exchange == Exchange::cluster) {
    axes_.push_back({.name = "PARTS", .least = 2, .most = traits_.most_parts, .power_of_two = true});
  } else if (traits_.exchange != Exchange::none && !ring) {
    const bool shifts = traits_.exchange == Exchange::slots;  // every thread divides by it
    axes_.push_back({.name = "PARTS", .compile_time = false, .most = traits_.most_parts, .power_of_two = shifts});
  }
  axes_.push_back({.name = "VEC_ITEMS", .most = kMostItems});
  if (ring) {
    axes_.push_back({.name = "STAGES", .least = 2, .most = 16});
    axes_.push_back({.name = "AHEAD", .most = 16});
  } else if (traits_.exchange != Exchange::launches) {
    axes_.push_back({.name = "SHARED_ITEMS", .least = 0, .most = kMostItems});
  }
  axes_.push_back({.name = "BLOCKS", .most = 32});
  axes_.push_back({.name = "STREAM", .least = 0, .most = ring ? 2 : 1});
  if (ring || traits_.exchange == Exchange::slots)
    axes_.push_back({.name = "GRID", .compile_time = false, .most = kMostBlocks});
}

std::vector<DType> PartKernel::dtypes() const {
  return {kDTypes.begin(), kDTypes.end()};
}

bool PartKernel::has(std::string_view axis) const {
  return std::any_of(axes_.begin(), axes_.end(), [&](const Axis& one) { return one.name == axis; });
}

std::int64_t PartKernel::most_parts(const Constants& constants) const {
  if (has("PARTS")) return value_of(constants, "PARTS");
  if (traits_.exchange != Exchange::ring) return 1;
  // All of a row is in the stages of all blocks at once.
  return std::min(traits_.most_parts, value_of(constants, "GRID") * value_of(constants, "STAGES"));
}

std::int64_t PartKernel::parts(const Problem& problem, const Constants& constants) const {
  const std::int64_t most = most_parts(constants);
  if (traits_.exchange != Exchange::ring) return most;
  // Rows that are not of whole vectors begin anywhere in one.
  const std::int64_t vector = vector_elements(problem.dtype);
  const std::int64_t before = problem.N % vector == 0 ? 0 : vector - 1;
  return std::min(most, ceil_div(problem.N + before, part_capacity(problem.dtype, constants)));
}

std::int64_t PartKernel::block_threads(const Constants& constants) const {
  const std::int64_t threads = value_of(constants, "THREADS");
  return traits_.exchange == Exchange::ring ? 2 * threads + 2 * kWarpThreads : threads;
}

std::int64_t PartKernel::usual_ahead(const Constants& constants) {
  return std::max<std::int64_t>(1, value_of(constants, "STAGES") / 2);
}

std::int64_t PartKernel::vectors_of_thread(const Constants& constants) const {
  return value_of(constants, "VEC_ITEMS") + (has("SHARED_ITEMS") ? value_of(constants, "SHARED_ITEMS") : 0);
}

/// Of a thread, so that nothing spills: seen with NVRTC 13.0 on sm_75 and sm_90. An estimate: what spills all the same
/// shows when it is compiled.
std::int64_t PartKernel::registers(DType dtype, const Constants& constants) const {
  const std::int64_t items = value_of(constants, "VEC_ITEMS");
  const bool narrow = dtype != DType::f32;
  const std::int64_t of_vector = narrow ? 8 : 6;
  if (traits_.exchange == Exchange::ring) return narrow ? std::max<std::int64_t>(56, 3 * items + 40) : 2 * items + 40;
  if (traits_.exchange == Exchange::launches) return 4 * items + 34;
  // A held vector of a 16-bit type is opened while others are held; an odd one takes as many as an even one.
  constexpr std::int64_t kLeast = 32;
  const std::int64_t few = narrow ? 3 : 4;
  const bool beside_shared = value_of(constants, "SHARED_ITEMS") > 0 && items >= few;
  std::int64_t held = items <= few ? kLeast : of_vector * (narrow ? items + items % 2 : items) + 8;
  const bool cluster = traits_.exchange == Exchange::cluster;
  constexpr std::int64_t kLeastOfCluster = 40;
  if (cluster && items > 3) held = std::max(kLeastOfCluster, held);
  // Code for aligned rows beside that for others: these take more than either alone.
  if (cluster ? items > few : !narrow && items == 6) held += 8;
  // A block that walks over rows has its place in them to keep.
  const bool walks = traits_.exchange == Exchange::slots && items >= 2;
  return held + (beside_shared ? 8 : 0) + (walks ? 8 : 0);
}

/// Dynamic shared memory.
std::int64_t PartKernel::shared_bytes(const Constants& constants) const {
  const std::int64_t row = value_of(constants, "THREADS") * kVectorBytes;
  if (traits_.exchange == Exchange::ring) return row * value_of(constants, "VEC_ITEMS") * value_of(constants, "STAGES");
  return has("SHARED_ITEMS") ? row * value_of(constants, "SHARED_ITEMS") : 0;
}

/// Besides that: states and barriers, and what the system takes.
std::int64_t PartKernel::other_shared_bytes(const Constants& constants) const {
  if (traits_.exchange != Exchange::ring) return 2048;
  // ring.cu: of a stage, a maximum of each thread, states of the warps, barriers, and what is to be done with the part;
  // slots as they were seen last.
  return 1024 + traits_.most_parts * kSlotBytes +
         value_of(constants, "STAGES") * (5 * value_of(constants, "THREADS") + 256);
}

/// Whether an SM can hold BLOCKS blocks.
Support PartKernel::fits(DType dtype, const Constants& constants, const Target& target) const {
  const ArchLimits& limits = target.limits;
  const std::int64_t threads = block_threads(constants) * value_of(constants, "BLOCKS");
  if (threads > limits.max_threads_per_sm || value_of(constants, "BLOCKS") > limits.max_blocks_per_sm) {
    return Support::no(fmt::format("{}: an SM of {} holds {} threads and {} blocks", to_string(constants), limits.arch,
                                   limits.max_threads_per_sm, limits.max_blocks_per_sm));
  }
  // Each of an SM's schedulers has its share of them for the whole warps that it has.
  constexpr std::int64_t kSchedulers = 4, kGranule = 8;
  const std::int64_t warps = ceil_div(ceil_div(threads, kWarpThreads), kSchedulers);
  const std::int64_t of_thread = limits.registers_per_sm / kSchedulers / (warps * kWarpThreads);
  const std::int64_t most = std::min<std::int64_t>(limits.max_registers_per_thread, of_thread / kGranule * kGranule);
  if (const std::int64_t needed = registers(dtype, constants); needed > most) {
    return Support::no(fmt::format(
        "{} needs some {} registers a thread, and BLOCKS={} blocks of {} threads leave {} on {}", to_string(constants),
        needed, value_of(constants, "BLOCKS"), block_threads(constants), most, limits.arch));
  }
  const std::int64_t bytes = shared_bytes(constants) + other_shared_bytes(constants);
  if (bytes > limits.shared_bytes_per_block_optin ||
      bytes * value_of(constants, "BLOCKS") > limits.shared_bytes_per_sm) {
    return Support::no(fmt::format("{} needs {} bytes of shared memory a block; {} has {} a block and {} an SM",
                                   to_string(constants), bytes, limits.arch, limits.shared_bytes_per_block_optin,
                                   limits.shared_bytes_per_sm));
  }
  return Support::yes();
}

Support PartKernel::exists(const ArchLimits& limits) const {
  const bool newer = traits_.exchange == Exchange::cluster || traits_.exchange == Exchange::ring;
  if (!newer || limits.major >= kClusterMajor) return Support::yes();
  return Support::no(
      fmt::format("{} needs compute capability {}.0 or newer, and {} is older", id(), kClusterMajor, limits.arch));
}

Support PartKernel::supports(DType dtype, const Constants& constants, const Target& target) const {
  if (const Support axes = check_axes(*this, dtype, constants, target); !axes) return axes;
  if (const Support arch = exists(target.limits); !arch) return arch;
  if (traits_.exchange == Exchange::ring && value_of(constants, "AHEAD") > value_of(constants, "STAGES")) {
    return Support::no(fmt::format("AHEAD={} parts on their way have no room in STAGES={}",
                                   value_of(constants, "AHEAD"), value_of(constants, "STAGES")));
  }
  if (has("GRID")) {
    const std::int64_t grid = value_of(constants, "GRID");
    if (has("PARTS") && grid < most_parts(constants))
      return Support::no(fmt::format("GRID={} has no room for the PARTS={} of a row", grid, most_parts(constants)));
    const std::int64_t held = value_of(constants, "BLOCKS") * target.sm_count;
    if (held > 0 && grid > held) {
      return Support::no(
          fmt::format("GRID={} blocks wait for each other, and {} SMs hold {}", grid, target.sm_count, held));
    }
  }
  return fits(dtype, constants, target);
}

Support PartKernel::supports(const Problem& problem, const Constants& constants, const Target& target) const {
  if (const Support config = supports(problem.dtype, constants, target); !config) return config;
  if (problem.M < 1 || problem.N < 1) return Support::no(fmt::format("{} needs M and N of at least 1", id()));
  if (const std::int64_t most = capacity_N(problem.dtype, constants); problem.N > most) {
    return Support::no(fmt::format("N={} is above the capacity {} of {}", problem.N, most,
                                   to_string(Config{std::string(id()), constants, problem.dtype})));
  }
  const std::int64_t parts = this->parts(problem, constants);
  if (problem.M > kMostBlocks / parts)
    return Support::no(fmt::format("M={} rows of {} parts are more blocks than a grid may have", problem.M, parts));
  const Geometry shape = geometry(problem, constants);
  if (shape.workspace_bytes > kMostWorkspaceBytes) {
    return Support::no(fmt::format("M={} rows need a workspace of {} bytes, above {}", problem.M, shape.workspace_bytes,
                                   kMostWorkspaceBytes));
  }
  if (traits_.exchange == Exchange::slots && ceil_div(problem.M, shape.grid / parts) > kMostRounds)
    return Support::no(fmt::format("M={} is more than {} rows for each group of blocks", problem.M, kMostRounds));
  return Support::yes();
}

std::int64_t PartKernel::part_capacity(DType dtype, const Constants& constants) const {
  return value_of(constants, "THREADS") * vectors_of_thread(constants) * vector_elements(dtype);
}

/// slice.cuh has places for them; in ring.cu a row that begins inside of a vector needs one more.
std::int64_t PartKernel::elements_beside(DType dtype) const {
  return traits_.exchange == Exchange::ring ? 0 : vector_elements(dtype) - 1;
}

std::int64_t PartKernel::capacity_N(DType dtype, const Constants& constants) const {
  if (traits_.exchange == Exchange::launches) return kLongestRow;
  return most_parts(constants) * part_capacity(dtype, constants) + elements_beside(dtype);
}

std::int64_t PartKernel::accurate_N(DType dtype, const Constants& constants) const {
  if (traits_.exchange == Exchange::launches) return capacity_N(dtype, constants);
  const std::int64_t chain = dtype == DType::f32 ? kChain : kChain16;
  const std::int64_t threads = most_parts(constants) * value_of(constants, "THREADS");
  return std::min(capacity_N(dtype, constants), kChains * chain * threads);
}

std::int64_t PartKernel::unaligned_N(DType dtype, const Constants& constants) const {
  const std::int64_t before = vector_elements(dtype) - 1 - elements_beside(dtype);
  return std::min(accurate_N(dtype, constants), capacity_N(dtype, constants) - before);
}

std::int64_t PartKernel::worthwhile_N(DType dtype, const Constants& constants) const {
  // A block alone holds shorter rows.
  constexpr std::int64_t kLongRowBytes = 1 << 15;
  if (traits_.exchange == Exchange::ring) return kLongRowBytes / static_cast<std::int64_t>(size_of(dtype)) + 1;
  return most_parts(constants) * value_of(constants, "THREADS") * vector_elements(dtype) / 2 + 1;
}

Constants PartKernel::without_capacity(Constants constants) const {
  for (const char* derived : {"BLOCKS", "GRID"}) constants.erase(derived);
  return Variant::without_capacity(std::move(constants));
}

Constants PartKernel::with_derived(DType dtype, Constants constants, const Target& target) const {
  // What is read twice should stay in the caches; the rest is in nobody's way there.
  constants.try_emplace("STREAM", traits_.exchange == Exchange::launches ? 0 : 1);
  // It bounds no row there: four loads in flight.
  if (traits_.exchange == Exchange::launches) constants.try_emplace("VEC_ITEMS", 4);
  if (!constants.contains("BLOCKS")) {
    std::int64_t blocks = std::max<std::int64_t>(1, target.limits.max_threads_per_sm / block_threads(constants));
    for (constants["BLOCKS"] = blocks; blocks > 1 && !fits(dtype, constants, target);) constants["BLOCKS"] = --blocks;
  }
  if (has("GRID")) {
    const std::int64_t held = value_of(constants, "BLOCKS") * std::max(1, target.sm_count);
    constants.try_emplace("GRID", target.sm_count > 0 || !has("PARTS") ? held : std::max(held, most_parts(constants)));
  }
  return constants;
}

/// Everything that is not set, for rows of the problem by blocks of `threads`.
Constants PartKernel::with_defaults(const Problem& problem, Constants full, std::int64_t threads,
                                    const Target& target) const {
  constexpr std::int64_t kItems = 4;  // of a thread, where a row has several parts
  threads = full.try_emplace("THREADS", threads).first->second;
  const std::int64_t of_thread = std::max<std::int64_t>(
      1, ceil_div(problem.N - elements_beside(problem.dtype), threads * vector_elements(problem.dtype)));
  if (has("SHARED_ITEMS")) full.try_emplace("SHARED_ITEMS", 0);
  if (has("STAGES")) full.try_emplace("STAGES", 4);
  if (has("AHEAD")) full.try_emplace("AHEAD", usual_ahead(full));
  if (has("PARTS") && !full.contains("PARTS")) {
    std::int64_t parts = traits_.exchange == Exchange::cluster ? 2 : 1;
    while (parts * 2 <= traits_.most_parts && parts * kItems < of_thread) parts *= 2;
    full["PARTS"] = parts;
  }
  const std::int64_t items =
      traits_.exchange == Exchange::ring ? std::min(of_thread + 1, kItems) : ceil_div(of_thread, most_parts(full));
  const std::int64_t shared = has("SHARED_ITEMS") ? value_of(full, "SHARED_ITEMS") : 0;
  if (traits_.exchange != Exchange::launches)
    full.try_emplace("VEC_ITEMS", std::clamp<std::int64_t>(items - shared, 1, kMostItems));
  return with_derived(problem.dtype, std::move(full), target);
}

Constants PartKernel::complete(const Problem& problem, const Constants& partial, const Target& target) const {
  constexpr std::int64_t kLeastThreads = 128;
  Constants full = with_defaults(problem, partial, kLeastThreads, target);
  // Where THREADS is free, more threads hold a longer row.
  for (std::int64_t threads = 2 * kLeastThreads; threads <= 1024 && !supports(problem, full, target); threads *= 2)
    full = with_defaults(problem, partial, threads, target);
  if (const Support support = supports(problem, full, target); !support) {
    throw_error(StatusCode::unsupported, "{} cannot serve {} on {}: {}", id(), to_string(problem), target.limits.arch,
                support.reason);
  }
  return full;
}

std::vector<Constants> PartKernel::extremes(DType dtype, const Target& target) const {
  std::vector<Constants> result;
  const auto add = [&](Constants config) {
    for (const Axis& axis : axes_) {
      if (axis.name == "SHARED_ITEMS") config.try_emplace("SHARED_ITEMS", 0);
      if (axis.name == "STAGES") config.try_emplace("STAGES", 3);
      if (axis.name == "AHEAD") config.try_emplace("AHEAD", 2);
    }
    // Few groups of blocks, so that they walk over the rows of a test.
    constexpr std::int64_t kGroups = 2;
    if (has("GRID")) config.try_emplace("GRID", kGroups * value_of(config, "PARTS"));
    if (!has("PARTS")) config.erase("PARTS");
    config = with_derived(dtype, std::move(config), target);
    if (supports(dtype, config, target)) result.push_back(std::move(config));
  };
  // Small ones, since a simulated device runs every block of them.
  const std::int64_t least = traits_.exchange == Exchange::cluster ? 2 : 1;
  add({{"THREADS", kWarpThreads}, {"PARTS", least}, {"VEC_ITEMS", 1}, {"BLOCKS", 1}, {"STREAM", 0}});
  const bool waits = traits_.exchange == Exchange::slots;  // where a simulated device takes longest
  if (!waits || dtype == DType::f32)
    add({{"THREADS", waits ? 32 : 64}, {"PARTS", 4}, {"VEC_ITEMS", 2}, {"BLOCKS", 2}, {"STREAM", 1}});
  const std::int64_t other = waits ? 2 : 8;
  const std::int64_t stream = traits_.exchange == Exchange::ring ? 2 : 1;
  add({{"THREADS", kWarpThreads}, {"PARTS", other}, {"VEC_ITEMS", 4}, {"STREAM", stream}});
  if (has("SHARED_ITEMS")) {
    add({{"THREADS", 64}, {"PARTS", 2}, {"VEC_ITEMS", 2}, {"SHARED_ITEMS", 3}, {"BLOCKS", 2}, {"STREAM", 0}});
  }
  return result;
}

std::vector<std::int64_t> PartKernel::boundaries_N(DType dtype, const Constants& constants) const {
  const std::int64_t vector = vector_elements(dtype);
  const std::int64_t parts = most_parts(constants);
  const std::int64_t capacity = capacity_N(dtype, constants);
  const std::int64_t turn = value_of(constants, "THREADS") * vector * parts;
  // Fewer vectors than parts; one turn of all threads; and the whole capacity, where that ends at some length.
  std::vector<std::int64_t> lengths{vector, vector * parts, turn, 2 * turn};
  // One part, two, and as many as a warp has lanes for.
  const std::int64_t part = part_capacity(dtype, constants);
  if (traits_.exchange == Exchange::ring) lengths = {vector, part - (vector - 1), part, 2 * part, kWarpThreads * part};
  if (traits_.exchange != Exchange::launches) lengths.insert(lengths.end(), {capacity - (vector - 1), capacity});
  return as_boundaries(std::move(lengths), accurate_N(dtype, constants));
}

std::int64_t PartKernel::rows_per_block(const Constants& /*constants*/) const {
  return 1;
}

Geometry PartKernel::geometry(const Problem& problem, const Constants& constants) const {
  Geometry shape;
  const std::int64_t parts = this->parts(problem, constants);
  shape.block = static_cast<int>(block_threads(constants));
  shape.shared_bytes = shared_bytes(constants);
  shape.overlaps = true;
  shape.grid = parts * std::min(problem.M, kMostBlocks / parts);
  shape.parts = static_cast<int>(parts);
  switch (traits_.exchange) {
    case Exchange::none:
      break;
    case Exchange::cluster:
      shape.cluster = static_cast<int>(parts);
      break;
    case Exchange::slots:
      shape.cooperative = true;
      shape.grid = parts * std::min(problem.M, value_of(constants, "GRID") / parts);
      shape.workspace_bytes = kHeaderBytes + 2 * shape.grid * kSlotBytes;
      break;
    case Exchange::ring:
      shape.cooperative = true;
      shape.workspace_bytes = kHeaderBytes + shape.grid * kSlotBytes;
      shape.grid = std::min(shape.grid, value_of(constants, "GRID"));
      break;
    case Exchange::launches:
      shape.phases = 2;
      shape.workspace_bytes = kHeaderBytes + shape.grid * kSlotBytes;
      break;
  }
  return shape;
}

std::optional<Constants> PartKernel::reduce_once(const Constants& constants) const {
  switch (traits_.exchange) {
    case Exchange::none:
      return reduce_once_in_parts(ReduceOver::block, constants);
    case Exchange::cluster:
      return reduce_once_in_parts(ReduceOver::cluster, constants);
    case Exchange::slots:
      return reduce_once_in_parts(ReduceOver::grid, constants);
    case Exchange::ring:
    case Exchange::launches:
      break;
  }
  return std::nullopt;
}

/// That kernel has a macro for the parts of a row, which need not be one of the variant's own.
Constants PartKernel::reduce_once_in_parts(ReduceOver over, const Constants& constants) const {
  Constants macros = reduce_once_over(over, constants);
  macros["PARTS"] = most_parts(constants);
  return macros;
}

}  // namespace softmax_dispatch
