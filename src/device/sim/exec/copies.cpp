#include "device/sim/exec/copies.hpp"

#include <algorithm>
#include <cstring>

#include "device/sim/exec/executor.hpp"

namespace softmax_dispatch::sim {
namespace {

constexpr unsigned kBarrierBytes = 8;
constexpr std::uint32_t kBulkUnit = 16;

}  // namespace

CopyBarrier CopyBarrier::read(const std::byte* from) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, from, kBarrierBytes);
  const auto field = [&](unsigned index) {
    return static_cast<std::uint32_t>(word >> (1 + kFieldBits * index) & ((1u << kFieldBits) - 1));
  };
  return {.phase = static_cast<std::uint32_t>(word & 1), .threads = field(0), .missing = field(1), .bytes = field(2)};
}

void CopyBarrier::write(std::byte* to) const noexcept {
  std::uint64_t word = phase;
  unsigned shift = 1;
  for (const std::uint64_t field : {threads, missing, bytes}) {
    word |= field << shift;
    shift += kFieldBits;
  }
  std::memcpy(to, &word, kBarrierBytes);
}

void CopyBarrier::settle() noexcept {
  if (missing != 0 || bytes != 0) return;
  phase ^= 1;
  missing = threads;
}

void Executor::copy_op(const Op& op) {
  const BackgroundCopy& copy = program_.copies[op.extra];
  switch (copy.kind) {
    case CopyKind::vector:
    case CopyKind::bulk:
      return start_copies(copy);
    case CopyKind::wait_vectors:
      return for_each_lane(mask_, [&](int lane) {
        const std::uint32_t thread = block_->thread(*warp_, lane);
        deliver([&](const PendingCopy& one) { return !one.on_barrier && one.thread == thread; });
      });
    case CopyKind::barrier_init:
    case CopyKind::barrier_arrive: {
      const SpreadAccess at = spread(copy.barrier);
      return for_each_lane(mask_, [&](int lane) {
        const std::uint64_t place = at.addresses[static_cast<std::size_t>(lane)];
        const auto value = static_cast<std::uint32_t>(lane_value(copy.value, 4, lane));
        if (copy.kind == CopyKind::barrier_init) {
          init_barrier(place, value, lane);
        } else {
          arrive_at(place, value, lane);
        }
      });
    }
    case CopyKind::barrier_wait:
      return wait_at(copy);
  }
}

/// The bytes of one that was initialised; accesses to it are never a race, but with its initialisation.
std::byte* Executor::copy_barrier(std::uint64_t place, int lane) {
  SharedMemory& shared = block_->shared();
  check_shared(place, kBarrierBytes, lane, "barrier");
  if (checks_ && !shared.initialised(place, kBarrierBytes))
    fault(lane, fmt::format("mbarrier at address {:#x} is not initialised", place));
  if (checks_ && !shared.read(accessor(lane, true), place, kBarrierBytes)) race(lane, place, "use of an mbarrier");
  return shared.at(place);
}

void Executor::init_barrier(std::uint64_t place, std::uint32_t threads, int lane) {
  SharedMemory& shared = block_->shared();
  check_shared(place, kBarrierBytes, lane, "barrier");
  if (threads == 0 || threads >= 1u << CopyBarrier::kFieldBits)
    fault(lane, fmt::format("mbarrier of {} threads", threads));
  if (checks_ && !shared.write(accessor(lane, false), place, kBarrierBytes, false)) race(lane, place, "a write");
  CopyBarrier{.threads = threads, .missing = threads}.write(shared.at(place));
  ++changes_;
}

/// What the thread did so far is known to those that wait for the barrier from here on.
void Executor::release_at(std::uint64_t place, int lane) {
  Copies::Arrivals& arrivals = block_->copies().arrivals[place];
  block_->shared().release(*warp_, arrivals.clock);
  arrivals.lanes[warp_->index()] |= LaneMask{1} << lane;
}

void Executor::arrive_at(std::uint64_t place, std::uint32_t bytes, int lane) {
  std::byte* const word = copy_barrier(place, lane);
  CopyBarrier barrier = CopyBarrier::read(word);
  if (barrier.missing == 0) fault(lane, "mbarrier at which more threads arrive than it is for");
  if (barrier.bytes + bytes >= 1u << CopyBarrier::kFieldBits)
    fault(lane, fmt::format("mbarrier that waits for {} bytes", barrier.bytes + bytes));
  release_at(place, lane);
  barrier.bytes += bytes;
  --barrier.missing;
  barrier.settle();
  barrier.write(word);
  ++changes_;
}

void Executor::start_copies(const BackgroundCopy& copy) {
  if (checks_waits_) check_waited(mask_);
  const SpreadAccess to = spread(copy.to), from = spread(copy.from);
  const bool bulk = copy.kind == CopyKind::bulk;
  const SpreadAccess at = bulk ? spread(copy.barrier) : SpreadAccess{};
  SharedMemory& shared = block_->shared();
  Allocation* hint = nullptr;
  for_each_lane(mask_, [&](int lane) {
    const auto i = static_cast<std::size_t>(lane);
    const auto bytes = static_cast<std::uint32_t>(lane_value(copy.value, 4, lane));
    const std::uint32_t unit = bulk ? kBulkUnit : bytes;
    const bool of_size = bulk ? bytes % kBulkUnit == 0 : bytes == 4 || bytes == 8 || bytes == 16;
    if (bytes == 0 || !of_size) fault(lane, fmt::format("copy of {} bytes to shared memory", bytes));
    check_alignment(to.addresses[i], unit, lane, "copy to shared memory");
    check_alignment(from.addresses[i], unit, lane, "copy from global memory");
    if (!shared.holds(to.addresses[i], bytes)) {
      fault(lane, fmt::format("copy of {} bytes to shared memory out of bounds at address {:#x}, {}", bytes,
                              to.addresses[i], shared.describe_outside(to.addresses[i])));
    }
    const std::byte* const source = loaded(hint, from.addresses[i], bytes, lane);
    if (checks_ && !shared.write(accessor(lane, false), to.addresses[i], bytes, false))
      race(lane, to.addresses[i], "a copy");
    // Who does not wait sees neither what was there nor what comes.
    std::memset(shared.at(to.addresses[i]), 0xff, bytes);
    if (bulk) {
      copy_barrier(at.addresses[i], lane);
      release_at(at.addresses[i], lane);
    }
    block_->copies().pending.push_back({to.addresses[i], source, from.addresses[i], bytes, block_->thread(*warp_, lane),
                                        bulk, bulk ? at.addresses[i] : 0});
    tally_.sectors_load += sectors_of_range(from.addresses[i], bytes);
    tally_.bytes_load += bytes;
    ++changes_;
    // It may be a look at what another block has to write.
    if (bulk) note_poll();
  });
}

/// Those of the pending copies arrive for which wanted(copy).
template <typename Wanted>
void Executor::deliver(Wanted wanted) {
  SharedMemory& shared = block_->shared();
  std::erase_if(block_->copies().pending, [&](const PendingCopy& one) {
    if (!wanted(one)) return false;
    {
      const std::unique_lock<std::mutex> alone = check_workspace_copy(one);
      std::memcpy(shared.at(one.to), one.from, one.bytes);
    }
    ++changes_;
    if (!one.on_barrier) return true;
    CopyBarrier barrier = CopyBarrier::read(shared.at(one.barrier));
    if (barrier.bytes < one.bytes)
      fault(-1, fmt::format("copy of {} bytes that its mbarrier does not wait for", one.bytes));
    barrier.bytes -= one.bytes;
    barrier.settle();
    barrier.write(shared.at(one.barrier));
    return true;
  });
}

void Executor::wait_at(const BackgroundCopy& copy) {
  const SpreadAccess at = spread(copy.barrier);
  LaneMask done = 0;
  for_each_lane(mask_, [&](int lane) {
    const std::uint64_t place = at.addresses[static_cast<std::size_t>(lane)];
    const std::byte* const word = copy_barrier(place, lane);
    deliver([&](const PendingCopy& one) { return one.on_barrier && one.barrier == place; });
    const bool over = CopyBarrier::read(word).phase != (lane_value(copy.value, 4, lane) & 1);
    set_lane(copy.result, 4, lane, as_flag(over));
    if (over) done |= LaneMask{1} << lane;
  });
  for_each_lane(done, [&](int lane) {
    const Copies::Arrivals& arrivals = block_->copies().arrivals[at.addresses[static_cast<std::size_t>(lane)]];
    block_->shared().acquire(*warp_, arrivals.clock);
    // Within the warp all lanes that wait with one that has arrived are taken to be in order.
    const LaneMask own = arrivals.lanes[warp_->index()];
    if (own != 0) warp_->synchronised(done | own);
  });
  if (done == mask_) return;
  ++polls_;
  budget_ = 0;
}

}  // namespace softmax_dispatch::sim
