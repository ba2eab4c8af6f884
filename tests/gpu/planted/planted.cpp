#include "gpu/planted/planted.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/embedded.hpp"
#include "variants/row_kernel.hpp"

namespace softmax_dispatch {

std::span<const EmbeddedFile> embedded_planted();  // tests/gpu/planted/*.cu

namespace planted {
namespace {

RowKernelTraits block_kernel(std::string_view id, std::string_view fault) {
  return {.id = id,
          .summary = fault,
          .needs = "N < 2^31",
          .scans = 2,
          .complexity = 0,  // the simplest of all: only its fault keeps it out of a table
          .owner = RowOwner::block,
          .accurate_elements_per_thread = kLongestChain};
}

RowKernelTraits with_capacity(RowKernelTraits traits, Capacity capacity) {
  traits.capacity = capacity;
  traits.capacity_most = 16;
  return traits;
}

RowKernelTraits one_warp_per_row(RowKernelTraits traits) {
  traits.owner = RowOwner::warp;
  traits.accurate_elements_per_thread = kUnbounded;
  return traits;
}

RowKernelTraits without_limit(RowKernelTraits traits) {
  traits.owner = RowOwner::grid_walk;
  traits.wide_index = true;
  traits.accurate_elements_per_thread = kUnbounded;
  return traits;
}

const std::vector<RowKernel>& faulty() {
  static const std::vector<RowKernel> kernels{
      RowKernel(block_kernel("planted_skips_last_row", "skips its last row")),
      RowKernel(
          with_capacity(block_kernel("planted_unguarded_float4", "float4 on misaligned rows"), Capacity::vectors)),
      RowKernel(block_kernel("planted_writes_past_end", "writes past the end")),
      RowKernel(without_limit(block_kernel("planted_relative_error", "0.1 % too large from N = 8 on"))),
      RowKernel(without_limit(block_kernel("planted_zeros", "writes zeros"))),
      RowKernel(one_warp_per_row(block_kernel("planted_long_chain", "a serial sum of any length"))),
      RowKernel(block_kernel("planted_hang", "never ends at N = 257")),
      RowKernel(block_kernel("planted_other_bits", "other bits in every run")),
      RowKernel(with_capacity(block_kernel("planted_local_array", "private array in local memory"), Capacity::items)),
  };
  return kernels;
}

}  // namespace

const Registry& registry() {
  static const Registry all = [] {
    std::vector<const Variant*> variants = softmax_dispatch::registry().all();
    for (const RowKernel& kernel : faulty()) variants.push_back(&kernel);
    return Registry(std::move(variants));
  }();
  return all;
}

const jit::Sources& sources() {
  static const jit::Sources all = [] {
    jit::Sources made = jit::Sources::product();
    for (const EmbeddedFile& file : embedded_planted()) {
      constexpr std::string_view kSuffix = ".cu";
      made.add(std::string(file.name.substr(0, file.name.size() - kSuffix.size())), std::string(file.text));
    }
    return made;
  }();
  return all;
}

}  // namespace planted
}  // namespace softmax_dispatch
