#pragma once

#include <span>
#include <string_view>

#include "support/yaml.hpp"

namespace softmax_dispatch::sim {

/// What the timing model knows of a GPU beyond DeviceInfo. docs/model.md says how each enters. Cycles are those of the
/// SM clock.
struct ModelConstants {
  double launch_us = 0;               ///< From the end of one launch to the first instruction of the next.
  double block_start_cycles = 0;      ///< An SM starts a block in this time at best.
  double dram_gb_per_s = 0;           ///< Reached by a copy of large matrices.
  double l2_gb_per_s = 0;             ///< Of all L2 slices together.
  double sm_bytes_per_cycle = 0;      ///< Between one SM and L2.
  double l1_latency_cycles = 0;       ///< Of a load whose data lies in L1.
  double l2_latency_cycles = 0;       ///< In L2.
  double dram_latency_cycles = 0;     ///< In neither; the translation of the address is part of it.
  double l1_bytes = 0;                ///< Rows of an SM up to this are found in L1 when they are read again.
  double l2_share = 0;                ///< Part of L2 up to which data is found again, 0 .. 1.
  double fp32_lanes = 0;              ///< Of an SM.
  double special_function_lanes = 0;  ///< Of an SM.
  double line_cycles = 0;             ///< The load/store unit of an SM needs this for 128 bytes of an access.
  double exchange_cycles = 0;         ///< And this for a shuffle or an access to shared memory.
  double path_share = 0;  ///< Factor on the path of dependent instructions; below 1 where ptxas' schedule shortens it.
  double barrier_cycles = 0;    ///< A barrier of the block takes this on the path, beside waiting for the last warp.
  double barrier_slots = 0;     ///< Issue slots that a warp loses at a barrier.
  double code_slots = 0;        ///< Instructions up to which code comes as fast as it is issued.
  double code_cycles = 0;       ///< On the path, for each instruction beyond them, at its first execution.
  double code_warp_cycles = 0;  ///< Of the SM, for each instruction beyond them and each warp.
  double sm_sharpness = 0;      ///< How close causes within an SM come to overlapping in full: exponent of a norm.
  double memory_sharpness = 0;  ///< The same between SMs and memory.
  double alone_share = 0;       ///< What is not hidden where nothing else is there to hide it, 0 .. 1.
};

/// A constant by the name that it has in the file.
struct NamedConstant {
  std::string_view name;
  double ModelConstants::*value;
};
std::span<const NamedConstant> named_constants();

/// The `model:` section of a device file. Throws Error(bad_table) for a constant that is missing, unknown or not
/// positive, and for latencies that do not ascend.
ModelConstants read_constants(const yaml::Node& node);

}  // namespace softmax_dispatch::sim
