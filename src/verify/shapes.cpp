#include "verify/shapes.hpp"

#include <algorithm>
#include <set>

#include "verify/inputs.hpp"
#include "verify/verify.hpp"

namespace softmax_dispatch::verify {
namespace {

/// The last rung of the ladder for kernels without a limit.
std::int64_t last_rung(Depth depth) {
  return (depth == Depth::full ? 1 << 20 : 1 << 16) + 3;
}

/// Up to this length a boundary's neighbours are visited one by one.
constexpr std::int64_t kLongestCheap = 1 << 16;

/// Kernels whose limit is beyond this length take the ladder; the others are tested up to their limit.
std::int64_t longest_limit(Depth depth) {
  return depth == Depth::full ? 1 << 22 : 1 << 18;
}

std::set<std::int64_t> lengths(const Variant& variant, DType dtype, const Constants& constants, std::int64_t N_to,
                               Depth depth) {
  const bool full = depth == Depth::full;
  const auto vector = static_cast<std::int64_t>(16 / size_of(dtype));
  std::set<std::int64_t> result{1, 2, 3, 4, 5, 257};
  if (full) result.insert({6, 7, 8, 31, 32, 33, 128, 255, 1023, 1025});
  for (const std::int64_t boundary : variant.boundaries_N(dtype, constants)) {
    if (boundary > kLongestCheap) {
      result.insert(boundary + 3);
      continue;
    }
    // Neighbours that leave every remainder of a vector.
    for (std::int64_t N = boundary - 1; N <= boundary + (full ? vector - 1 : 1); ++N) result.insert(N);
  }
  const bool ladder = N_to > longest_limit(depth);
  if (ladder) {
    // With a different tail on every rung.
    for (std::int64_t N = 4096, tail = 0; N < last_rung(depth); N *= full ? 2 : 8, ++tail)
      result.insert(N + tail % vector);
    result.insert(last_rung(depth));
  } else {
    for (std::int64_t N = N_to - (full ? vector - 1 : 0); N <= N_to; ++N) result.insert(N);
  }
  const std::int64_t most = ladder ? last_rung(depth) : N_to;
  std::erase_if(result, [&](std::int64_t N) { return N < 1 || N > most; });
  return result;
}

/// Values of M that leave the last block, or the last round of a grid-stride loop, partly empty.
std::set<std::int64_t> row_counts(const Variant& variant, DType dtype, const Constants& constants, std::int64_t N,
                                  Depth depth, bool has_many) {
  const std::int64_t per_block = variant.rows_per_block(constants);
  std::set<std::int64_t> result{1, 2, per_block - 1, per_block, per_block + 1, 2 * per_block + 1};
  constexpr std::int64_t kMany = 1 << 20;
  const std::int64_t round = variant.geometry({dtype, kMany, N}, constants).grid * per_block;
  if (round < kMany) result.insert({round - 1, round, round + 1, 2 * round + 1});
  if (N == 257) result.insert(1025);
  // Beyond the 65535 blocks that other grid dimensions than x would allow. Kernels with a workspace are for few rows,
  // and a simulated device runs each of their blocks: there the rows above are their many.
  const bool for_few = variant.geometry({dtype, 1, N}, constants).workspace_bytes > 0;
  if (N <= 3 && depth == Depth::full && !(for_few && has_many)) result.insert(for_few ? 1001 : 70001);
  const std::int64_t most_elements = depth == Depth::full ? 1 << 19 : 1 << 17;
  std::erase_if(result, [&](std::int64_t M) { return M < 1 || (M > 2 && M * N > most_elements); });
  return result;
}

/// Rows in which the inputs are stacked. Blocks that share a row are run one by one on a simulated device, where a row
/// of many takes as long as a long one: fewer rows, which go through the inputs from length to length.
std::int64_t stacked_rows(const Variant& variant, DType dtype, const Constants& constants, std::int64_t N, Depth depth,
                          bool simulated) {
  constexpr std::int64_t kMostThreads = 1 << 17;
  const std::int64_t inputs = stacked_inputs(N, depth);
  const Geometry of_row = variant.geometry({dtype, 1, N}, constants);
  const std::int64_t threads = of_row.grid * of_row.block;
  for (const std::int64_t count : {inputs, std::int64_t{17}, std::int64_t{11}, std::int64_t{7}})
    if (count <= inputs && (!simulated || count * threads <= kMostThreads)) return count;
  return std::min<std::int64_t>(inputs, 5);
}

}  // namespace

std::int64_t stacked_inputs(std::int64_t N, Depth depth) {
  // Primes, so that rows a block or a grid apart differ; prefixes of inputs().
  const std::int64_t all = static_cast<std::int64_t>(inputs().size());
  const std::int64_t budget = depth == Depth::full ? kCheapElements : kCheapElements / 2;
  for (const std::int64_t count : {all, std::int64_t{17}, std::int64_t{11}, std::int64_t{7}})
    if (count * N <= budget) return count;
  return 5;
}

std::vector<Shape> shapes(const Variant& variant, DType dtype, const Constants& constants, std::int64_t N_to,
                          Depth depth, bool simulated) {
  const std::set<std::int64_t> all = lengths(variant, dtype, constants, N_to, depth);
  std::vector<Shape> result;
  result.reserve(all.size());
  for (const std::int64_t N : all) result.push_back({stacked_rows(variant, dtype, constants, N, depth, simulated), N});
  if (all.empty()) return result;
  std::set<std::int64_t> few{1, *all.rbegin()};
  if (all.contains(3)) few.insert(3);
  if (all.contains(257)) few.insert(257);
  const bool has_many = simulated && all.contains(257);
  for (const std::int64_t N : few)
    for (const std::int64_t M : row_counts(variant, dtype, constants, N, depth, has_many)) result.push_back({M, N});
  return result;
}

}  // namespace softmax_dispatch::verify
