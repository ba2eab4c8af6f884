#include <algorithm>
#include <cstring>

#include "device/sim/exec/executor.hpp"

namespace softmax_dispatch::sim {
namespace {

using Kind = ptx::Type::Kind;

template <typename T>
T combined(AtomicOp op, T old, T operand) {
  switch (op) {
    case AtomicOp::minimum:
      return std::min(old, operand);
    case AtomicOp::maximum:
      return std::max(old, operand);
    case AtomicOp::increment:
      return old >= operand ? T{0} : static_cast<T>(old + 1);
    case AtomicOp::decrement:
      return old == 0 || old > operand ? operand : static_cast<T>(old - 1);
    case AtomicOp::bit_and:
      return static_cast<T>(old & operand);
    case AtomicOp::bit_or:
      return static_cast<T>(old | operand);
    case AtomicOp::bit_xor:
      return static_cast<T>(old ^ operand);
    default:
      return static_cast<T>(old + operand);
  }
}

template <typename To, typename From>
To bits_as(From bits) {
  return __builtin_bit_cast(To, bits);
}

/// What memory holds after the operation. U is the unsigned integer of the width.
template <typename U, typename S, typename F>
U changed(const Atomic& atomic, U old, U operand, U swap) {
  if (atomic.op == AtomicOp::exchange) return operand;
  if (atomic.op == AtomicOp::compare_swap) return old == operand ? swap : old;
  if (atomic.type.kind == Kind::real) return bits_as<U>(bits_as<F>(old) + bits_as<F>(operand));
  const bool by_sign = atomic.op == AtomicOp::minimum || atomic.op == AtomicOp::maximum;
  if (by_sign && atomic.type.kind == Kind::signed_integer)
    return static_cast<U>(combined<S>(atomic.op, static_cast<S>(old), static_cast<S>(operand)));
  return combined<U>(atomic.op, old, operand);
}

/// Atomic on the host too. Whether memory changed goes to `effect`, the value before to the result.
template <typename U, typename S, typename F>
U apply(const Atomic& atomic, std::byte* at, std::uint64_t operand, std::uint64_t swap, bool& effect) {
  auto* const word = reinterpret_cast<U*>(at);
  U old = __atomic_load_n(word, __ATOMIC_SEQ_CST);
  for (;;) {
    const U next = changed<U, S, F>(atomic, old, static_cast<U>(operand), static_cast<U>(swap));
    effect = next != old;
    if (__atomic_compare_exchange_n(word, &old, next, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return old;
  }
}

std::uint64_t apply(const Atomic& atomic, std::byte* at, std::uint64_t operand, std::uint64_t swap, bool& effect) {
  if (atomic.type.bits == 64) return apply<std::uint64_t, std::int64_t, double>(atomic, at, operand, swap, effect);
  return apply<std::uint32_t, std::int32_t, float>(atomic, at, operand, swap, effect);
}

}  // namespace

void Executor::atomic_op(const Op& op) {
  const Access& access = program_.accesses[op.extra];
  const Atomic& atomic = program_.atomics[op.atomic];
  note_poll();
  const SpreadAccess at = spread(access);
  if (at.local != 0) fault(std::countr_zero(at.local), "atomic on local memory");
  if (checks_waits_) check_waited(at.global);
  for_each_lane(at.global, [&](int lane) { one_atomic(access, atomic, &hints_[op.extra], lane, at.addresses); });
  for_each_lane(at.shared, [&](int lane) { one_atomic(access, atomic, nullptr, lane, at.addresses); });
}

std::byte* Executor::shared_atomic(std::uint64_t address, unsigned bytes, int lane) {
  check_shared(address, bytes, lane, "atomic");
  check_alignment(address, bytes, lane, "shared atomic");
  SharedMemory& shared = block_->shared();
  if (!checks_) return shared.at(address);
  if (!shared.initialised(address, bytes))
    fault(lane, fmt::format("shared atomic on {} uninitialised bytes at address {:#x}", bytes, address));
  const SharedAccessor who = accessor(lane, true);
  if (!shared.read(who, address, bytes) || !shared.write(who, address, bytes, false)) race(lane, address, "an atomic");
  return shared.at(address);
}

std::byte* Executor::global_atomic(Allocation*& hint, std::uint64_t address, unsigned bytes, int lane) {
  check_alignment(address, bytes, lane, "global atomic");
  Allocation& allocation = allocation_at(hint, address, bytes, lane, "atomic");
  const std::uint64_t offset = address - allocation.base();
  if (checks_ && !allocation.initialised(offset, bytes))
    fault(lane, fmt::format("global atomic on {} uninitialised bytes at address {:#x}", bytes, address));
  ++tally_.sectors_store;
  tally_.bytes_store += bytes;
  return allocation.host() + offset;
}

/// `hint` is null for shared memory.
void Executor::one_atomic(const Access& access, const Atomic& atomic, Allocation** hint, int lane,
                          const Addresses& addresses) {
  const unsigned bytes = access.bytes;
  const std::uint64_t address = addresses[static_cast<std::size_t>(lane)];
  std::byte* const at =
      hint == nullptr ? shared_atomic(address, bytes, lane) : global_atomic(*hint, address, bytes, lane);
  bool effect = false;
  const std::uint64_t operand = lane_value(atomic.operand, bytes, lane);
  const std::uint64_t swap = atomic.swap == kNoRef ? 0 : lane_value(atomic.swap, bytes, lane);
  const std::uint64_t old = apply(atomic, at, operand, swap, effect);
  if (atomic.result != kNoRef) set_lane(atomic.result, bytes, lane, old);
  if (!effect) return;
  if (hint != nullptr) {
    note_effect();
  } else {
    ++changes_;
  }
}

}  // namespace softmax_dispatch::sim
