#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "device/sim/program/op.hpp"

namespace softmax_dispatch::sim {

/// Generic addresses: the top four bits say which space they are in.
inline constexpr int kWindowShift = 60;
inline constexpr std::uint64_t kDeviceWindow = 1, kSharedWindow = 2, kLocalWindow = 3;  // 0: memory of the host

inline constexpr std::uint32_t kNoSegment = 0xffffffff;

/// A register's place in the registers of a warp.
struct RegisterSlot {
  Ref slot = kNoRef;
  std::uint8_t lane_bytes = 4;
};

/// Steps without a jump into or out of them.
struct Segment {
  std::uint32_t first = 0, last = 0;  ///< Ops, half open.
  Terminator end;
  std::uint32_t reconverge =
      kNoSegment;                      ///< Where lanes that part at its end meet again: its immediate post-dominator.
  std::vector<std::uint32_t> counted;  ///< Instructions that every execution of the segment counts.
  std::vector<RegisterSlot> alive;     ///< Where it follows a barrier: the registers that are read from there on.
};

/// Where a step comes from, and as what it is counted.
struct InstructionInfo {
  std::uint32_t line = 0;    ///< In the PTX.
  std::int32_t source = -1;  ///< Of Module::lines.
  std::uint32_t opcode = 0;  ///< Index of Program::opcodes.
  OpClass op_class = OpClass::other;
};

/// Registers that the hardware sets. The launch's and the constant ones stand in the constants.
enum class Special : std::uint8_t {
  tid_x,
  tid_y,
  tid_z,
  warpid,  // of a warp
  ctaid_x,
  ctaid_y,
  ctaid_z,
  smid,  // of a block
  ntid_x,
  ntid_y,
  ntid_z,
  nctaid_x,
  nctaid_y,
  nctaid_z,
  nwarpid,
  nsmid,
  gridid,
  dynamic_smem_size,
  total_smem_size,  // of a launch
  laneid,
  lanemask_eq,
  lanemask_lt,
  lanemask_le,
  lanemask_gt,
  lanemask_ge  // of a lane
};

/// The first ones are slots of the warp's registers.
inline constexpr std::uint32_t kWarpSpecials = 8;

struct SpecialSlot {
  Special what;
  Ref slot;
};

/// Eight bytes or less of the parameters that a constant slot holds.
struct ParameterSlot {
  Ref slot;
  std::uint32_t offset = 0;
  std::uint8_t bytes = 8;
  bool sign_extend = false;
  std::uint8_t lane_bytes = 8;
};

/// A variable in the shared memory of a block. Bytes between variables belong to none: an overrun is found.
struct SharedVariable {
  std::uint32_t offset = 0;
  std::uint64_t bytes = 0;
};

/// A kernel ready to run: decoded once, run many times. Immutable.
struct Program {
  std::shared_ptr<const ptx::Module> module;
  std::string name;
  std::vector<Op> ops;
  std::vector<Segment> segments;  ///< The first is the entry.
  std::vector<Access> accesses;
  std::vector<Atomic> atomics;
  std::vector<BackgroundCopy> copies;
  std::vector<Sync> syncs;
  std::vector<InstructionInfo> instructions;
  std::vector<std::string> opcodes;

  std::size_t register_bytes = 0;            ///< Of a warp.
  std::vector<std::byte> constants;          ///< Initial bytes; the launch fills in the slots below.
  std::vector<SpecialSlot> launch_specials;  ///< In the constants.
  std::vector<SpecialSlot> warp_specials;    ///< In the registers of each warp.
  std::vector<ParameterSlot> parameters;

  std::uint32_t parameter_bytes = 0;
  std::uint32_t parameter_count = 0;
  std::vector<SharedVariable> shared;     ///< Ascending; the dynamic array, if there is one, is not among them.
  std::uint32_t shared_static_bytes = 0;  ///< As declared: what counts against the limit.
  std::uint32_t shared_dynamic_offset = 0;
  std::uint32_t local_bytes = 0;  ///< Of a thread.
  std::uint32_t max_threads = 0;  ///< .maxntid, 0 where there is none.
  bool communicates = false;  ///< Has atomics or strong accesses in global memory: its blocks may depend on each other.

  std::string describe(std::uint32_t instruction) const;  ///< "online.cuh:62, inlined at name.cu:16"
};

/// Where a variable of the module lies on the device. Asked at every use of it, so the answer must not change.
using AddressOf = std::function<std::uint64_t(const ptx::Variable&)>;

/// Decodes the kernel `entry` of the module. Throws Error(unsupported), naming instruction and line, for what the
/// simulator does not know.
std::shared_ptr<const Program> decode(std::shared_ptr<const ptx::Module> module, const std::string& entry,
                                      const AddressOf& address_of);

}  // namespace softmax_dispatch::sim
