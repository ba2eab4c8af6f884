#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace softmax_dispatch::jit {

/// What a compiled kernel takes, as ptxas reports it.
struct Resources {
  int registers = 0;
  int stack_bytes = 0;
  int spill_store_bytes = 0;
  int spill_load_bytes = 0;
  int shared_bytes = 0;  ///< Static.

  /// A private array or spilled registers live in local memory, which is device memory: such a kernel is not eligible.
  bool uses_local_memory() const noexcept { return stack_bytes > 0 || spill_store_bytes > 0 || spill_load_bytes > 0; }
  friend bool operator==(const Resources&, const Resources&) = default;
};

/// Reads ptxas' report (--ptxas-options=-v) of a compilation with one entry. The wording differs between toolkits, so
/// each figure is found by its own words wherever they stand. Throws Error(toolchain) where the registers cannot be
/// found.
Resources parse_resources(std::string_view log);

/// Names of the __global__ functions in the same report.
std::vector<std::string> parse_entries(std::string_view log);

}  // namespace softmax_dispatch::jit
