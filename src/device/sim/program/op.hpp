#pragma once

#include <array>
#include <cstdint>

#include "device/sim/lanes/lanes.hpp"
#include "device/sim/ptx/module.hpp"

namespace softmax_dispatch::sim {

/// What a PTX instruction is counted as.
enum class OpClass : std::uint8_t {
  global_load,
  global_store,
  shared_load,
  shared_store,
  local_load,
  local_store,
  generic_load,  ///< No state space in the instruction; the sectors say where it went.
  generic_store,
  parameter_load,    ///< Parameters and constants: operands in ptxas' output.
  atomic,            ///< atom and red.
  special_function,  ///< ex2, lg2, sin, cos, tanh, and the one inside rcp, sqrt, rsqrt and div of f32.
  fp32,
  fp64,
  fp16,
  integer,
  conversion,
  move,     ///< mov, cvta: mostly gone after register allocation.
  compare,  ///< setp, set, testp.
  select,
  shuffle,
  vote,     ///< vote, match, activemask.
  barrier,  ///< Of the block.
  warp_barrier,
  branch,
  fence,
  other,  ///< ret, exit, nanosleep, prefetch, ...
  count_
};
inline constexpr std::size_t kOpClasses = static_cast<std::size_t>(OpClass::count_);
const char* to_string(OpClass op_class) noexcept;

/// A slot: bytes from the start of the warp's registers, or, with the lowest bit set, of the constants.
using Ref = std::uint32_t;
inline constexpr Ref kNoRef = 0xffffffff;
inline constexpr Ref kConstantBit = 1;

/// Memory that an instruction accesses. Data slots may be wider than the elements.
struct Access {
  ptx::Space space = ptx::Space::none;  ///< none: a generic address.
  std::uint8_t bytes = 4;               ///< Of an element: 1, 2, 4, 8.
  std::uint8_t count = 1;               ///< Elements per lane.
  bool sign_extend = false;
  bool strong = false;  ///< volatile, relaxed, acquire, release: may be how blocks wait for each other.
  std::uint8_t address_bytes = 8;
  Ref address = kNoRef;
  std::int64_t offset = 0;
  std::array<Ref, 4> data{kNoRef, kNoRef, kNoRef, kNoRef};  ///< kNoRef: an element that is not kept.
  std::array<std::uint8_t, 4> data_bytes{4, 4, 4, 4};       ///< Of a lane of the slot: 4 or 8.
};

enum class AtomicOp : std::uint8_t {
  add,
  minimum,
  maximum,
  increment,
  decrement,
  exchange,
  compare_swap,
  bit_and,
  bit_or,
  bit_xor
};

/// The read-modify-write of an atomic; its address is that of its Access, which has one element.
struct Atomic {
  AtomicOp op = AtomicOp::add;
  ptx::Type type;
  Ref result = kNoRef;  ///< kNoRef for red.
  Ref operand = kNoRef;
  Ref swap = kNoRef;  ///< The new value of compare_swap.
};

/// What belongs to copies from global to shared memory that go on while the thread does something else.
enum class CopyKind : std::uint8_t {
  vector,          ///< cp.async: of a few bytes, complete when its thread has waited.
  wait_vectors,    ///< cp.async.wait_all
  bulk,            ///< cp.async.bulk: of any number of bytes, completes on a barrier.
  barrier_init,    ///< mbarrier.init
  barrier_arrive,  ///< mbarrier.arrive, .arrive.expect_tx
  barrier_wait     ///< mbarrier.try_wait.parity, test_wait.parity
};

/// One of these; of its accesses the addresses count alone.
struct BackgroundCopy {
  CopyKind kind = CopyKind::vector;
  Access to, from;      ///< Of a copy.
  Access barrier;       ///< Of bulk and of what is named after it.
  Ref value = kNoRef;   ///< Bytes of a copy or of arrive, threads of init, parity of wait.
  Ref result = kNoRef;  ///< Predicate of wait.
};

enum class OpKind : std::uint8_t { lanes, load, store, atomic, copy, clock, fence, pause, grid_wait };

/// One step of the interpreter: a lane function, or something with an effect. An instruction is one or several steps.
struct Op {
  lanes::LaneFn function = nullptr;
  Ref d = kNoRef, a = kNoRef, b = kNoRef, c = kNoRef;
  std::uint32_t extra =
      0;  ///< For lane functions; the index of an Access for memory, of a BackgroundCopy; of what for a clock.
  Ref guard = kNoRef;
  std::uint32_t instruction = 0;  ///< Index of Program::instructions.
  std::uint32_t atomic = 0;       ///< Index of Program::atomics.
  OpKind kind = OpKind::lanes;
  bool guard_negated = false;
  bool counts = false;  ///< First step of a guarded instruction: counted when a lane passes the guard.
  std::uint8_t d_bytes = 4;
};

/// What needs other lanes or other warps, and so ends a segment.
enum class SyncKind : std::uint8_t { warp_barrier, shuffle, vote, match, activemask, barrier };
enum class SyncMode : std::uint8_t {
  none,
  shuffle_up,
  shuffle_down,
  shuffle_butterfly,
  shuffle_index,
  vote_all,
  vote_any,
  vote_uniform,
  vote_ballot,
  match_any,
  match_all,
  barrier_sync,
  barrier_arrive,
  barrier_count,  ///< bar.red.popc
  barrier_all,    ///< bar.red.and
  barrier_any     ///< bar.red.or
};

struct Sync {
  SyncKind kind = SyncKind::warp_barrier;
  SyncMode mode = SyncMode::none;
  bool aligned = true;     ///< Of a barrier: all lanes of the warp must execute the same one.
  Ref result = kNoRef;     ///< 32-bit value, or predicate of a vote or barrier.
  Ref predicate = kNoRef;  ///< Second result: whether a shuffle was in range, whether all lanes match.
  Ref source = kNoRef;     ///< Value or predicate.
  std::uint8_t source_bytes = 4;
  Ref b = kNoRef, c = kNoRef;  ///< Of a shuffle: lane and clamp; of a barrier: its number and how many threads.
  Ref mask = kNoRef;           ///< Lanes that take part.
};

enum class TerminatorKind : std::uint8_t { next, branch, conditional, finish, trap, sync };

/// How a segment ends.
struct Terminator {
  TerminatorKind kind = TerminatorKind::next;
  bool negated = false;
  bool is_instruction = false;    ///< A conditional branch of the PTX, not one that stands for a guard.
  Ref predicate = kNoRef;         ///< Lanes that go to `target` (or those that don't, where negated).
  std::uint32_t target = 0;       ///< Segment.
  std::uint32_t next = 0;         ///< Segment of the lanes that don't branch.
  std::uint32_t instruction = 0;  ///< Index of Program::instructions.
  std::uint32_t sync = 0;         ///< Index of Program::syncs.
};

}  // namespace softmax_dispatch::sim
