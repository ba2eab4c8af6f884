// Loads and stores, and global memory.
#include <algorithm>
#include <cstring>

#include "device/sim/exec/executor.hpp"

namespace softmax_dispatch::sim {
namespace {

/// Sectors of 32 bytes that an access touches, each counted once.
class SectorCount {
 public:
  void add(std::uint64_t address, unsigned bytes) {
    for (std::uint64_t sector = address / kSectorBytes; sector <= (address + bytes - 1) / kSectorBytes; ++sector) {
      if (count_ > 0 && sectors_[count_ - 1] == sector) continue;
      sectors_[count_++] = sector;
    }
  }
  std::uint64_t count() {
    const auto end = sectors_.begin() + static_cast<std::ptrdiff_t>(count_);
    std::sort(sectors_.begin(), end);
    return static_cast<std::uint64_t>(std::unique(sectors_.begin(), end) - sectors_.begin());
  }

 private:
  // An access that is not aligned (checks are off) touches two.
  std::array<std::uint64_t, 2 * lanes::kLanes> sectors_;
  std::size_t count_ = 0;
};

/// Between rows of elements in memory and slots of their own: element j of lane i is at i * COUNT + j.
template <typename T, int COUNT>
void scatter(const std::byte* from, const std::array<std::byte*, 4>& slots, int lanes) {
  for (int lane = 0; lane < lanes; ++lane) {
    for (int j = 0; j < COUNT; ++j)
      std::memcpy(slots[static_cast<std::size_t>(j)] + sizeof(T) * static_cast<std::size_t>(lane),
                  from + sizeof(T) * static_cast<std::size_t>(lane * COUNT + j), sizeof(T));
  }
}
template <typename T, int COUNT>
void gather(std::byte* to, const std::array<const std::byte*, 4>& slots, int lanes) {
  for (int lane = 0; lane < lanes; ++lane) {
    for (int j = 0; j < COUNT; ++j)
      std::memcpy(to + sizeof(T) * static_cast<std::size_t>(lane * COUNT + j),
                  slots[static_cast<std::size_t>(j)] + sizeof(T) * static_cast<std::size_t>(lane), sizeof(T));
  }
}

}  // namespace

bool Executor::is_plain(const Access& access) noexcept {
  if (access.strong || (access.bytes != 4 && access.bytes != 8)) return false;
  for (std::size_t i = 0; i < access.count; ++i) {
    if (access.data[i] == kNoRef || access.data_bytes[i] != access.bytes) return false;
  }
  return true;
}

int Executor::leading_lanes(LaneMask mask) noexcept {
  const int count = std::countr_one(mask);
  return count == lanes::kLanes || (mask >> count) == 0 ? count : 0;
}

bool Executor::in_row(const Addresses& addresses, int lanes, unsigned step) const noexcept {
  if (lanes == lanes::kLanes) return helpers_.strided(addresses.data(), step);
  for (int lane = 1; lane < lanes; ++lane) {
    const auto i = static_cast<std::size_t>(lane);
    if (addresses[i] != addresses[0] + step * i) return false;
  }
  return true;
}

SpreadAccess Executor::spread(const Access& access) const {
  SpreadAccess made;
  const std::byte* const slot = read(access.address);
  const auto offset = static_cast<std::uint64_t>(access.offset);
  if (access.address_bytes == 8) {
    std::memcpy(made.addresses.data(), slot, sizeof made.addresses);
  } else {
    std::array<std::uint32_t, lanes::kLanes> narrow;
    std::memcpy(narrow.data(), slot, sizeof narrow);
    std::copy(narrow.begin(), narrow.end(), made.addresses.begin());
  }
  for (std::uint64_t& one : made.addresses) one += offset;
  switch (access.space) {
    case ptx::Space::shared:
      made.shared = mask_;
      return made;
    case ptx::Space::local:
      made.local = mask_;
      return made;
    case ptx::Space::none:
      break;
    default:
      made.global = mask_;
      return made;
  }
  for_each_lane(mask_, [&](int lane) {
    std::uint64_t& address = made.addresses[static_cast<std::size_t>(lane)];
    const std::uint64_t window = address >> kWindowShift;
    LaneMask& lanes = window == kSharedWindow ? made.shared : window == kLocalWindow ? made.local : made.global;
    lanes |= LaneMask{1} << lane;
    if (&lanes != &made.global) address -= window << kWindowShift;
  });
  return made;
}

void Executor::memory_op(const Op& op) {
  const Access& access = program_.accesses[op.extra];
  if (access.strong) note_poll();
  const SpreadAccess at = spread(access);
  if (recorder_ != nullptr) return recorded_memory_op(op, at);
  memory_op(op, at);
}

/// The recorder asks before for what the access is about to change, and after for what it did.
void Executor::recorded_memory_op(const Op& op, const SpreadAccess& at) {
  recorder_->access(op, *warp_, mask_);
  if (at.shared != 0) recorder_->shared(op, at.shared, at.addresses);
  const std::uint64_t before = tally_.sectors_load + tally_.sectors_store;
  memory_op(op, at);
  if (at.global != 0)
    recorder_->global(op, at.global, at.addresses, tally_.sectors_load + tally_.sectors_store - before);
}

void Executor::memory_op(const Op& op, const SpreadAccess& at) {
  const Access& access = program_.accesses[op.extra];
  Allocation*& hint = hints_[op.extra];
  if (checks_waits_) check_waited(at.global);
  std::unique_lock<std::mutex> alone;
  if (launch_.workspace_check != nullptr) alone = check_workspace(op.kind, access, at);
  if (op.kind == OpKind::load) {
    if (at.global != 0) load_global(access, hint, at.global, at.addresses);
    if (at.shared != 0) load_shared(access, at.shared, at.addresses);
    if (at.local != 0) load_local(access, at.local, at.addresses);
    if (at.global != 0 && block_->timeline() != nullptr) {
      block_->timeline()->load(warp_->index(), static_cast<std::uint32_t>(&op - program_.ops.data()), at.addresses,
                               at.global, unsigned{access.bytes} * access.count);
    }
    return;
  }
  if (at.global != 0) store_global(access, hint, at.global, at.addresses);
  if (at.shared != 0) store_shared(access, at.shared, at.addresses);
  if (at.local != 0) store_local(access, at.local, at.addresses);
  if (at.global != 0) {
    if (block_->timeline() != nullptr)
      block_->timeline()->store(warp_->index(), at.addresses, at.global, unsigned{access.bytes} * access.count);
    note_effect();
  } else {
    ++changes_;
  }
}

void Executor::check_waited(LaneMask mask) const {
  const LaneMask early = mask & ~warp_->waited();
  if (early == 0) return;
  fault(std::countr_zero(early),
        "global memory accessed before griddepcontrol.wait: what the launch ahead of this one writes may not be there");
}

std::unique_lock<std::mutex> Executor::check_workspace(OpKind kind, const Access& access,
                                                       const SpreadAccess& at) const {
  WorkspaceCheck& check = *launch_.workspace_check;
  std::unique_lock<std::mutex> alone;
  for_each_lane(at.global, [&](int lane) {
    const std::uint64_t address = at.addresses[static_cast<std::size_t>(lane)];
    if (!check.holds(address)) return;
    if (!alone.owns_lock()) alone = check.hold();
    if (kind == OpKind::atomic) return check.atomic(block_->index(), address);
    const unsigned bytes = unsigned{access.bytes} * access.count;
    const bool loads = kind == OpKind::load;
    const std::string other = loads ? check.load(block_->index(), address, bytes, access.strong)
                                    : check.store(block_->index(), address, bytes, access.strong);
    if (other.empty()) return;
    fault(lane, fmt::format("workspace race at address {:#x}: a {} with nothing that orders it after {}", address,
                            loads ? "read" : "write", other));
  });
  return alone;
}

/// A copy reads as it arrives, and like a strong load may find what is there before or after a strong store.
std::unique_lock<std::mutex> Executor::check_workspace_copy(const PendingCopy& copy) const {
  if (launch_.workspace_check == nullptr || !launch_.workspace_check->holds(copy.source)) return {};
  WorkspaceCheck& check = *launch_.workspace_check;
  std::unique_lock<std::mutex> alone = check.hold();
  const std::string other = check.load(block_->index(), copy.source, copy.bytes, true);
  if (!other.empty()) {
    fault(-1, fmt::format("workspace race at address {:#x}: a copy with nothing that orders it after {}", copy.source,
                          other));
  }
  return alone;
}

void Executor::check_alignment(std::uint64_t address, unsigned bytes, int lane, const char* what) const {
  if (address % bytes == 0) return;
  fault(lane, fmt::format("misaligned {} of {} bytes at address {:#x}", what, bytes, address));
}

Allocation& Executor::allocation_at(Allocation*& hint, std::uint64_t address, unsigned bytes, int lane,
                                    const char* action) {
  if (hint == nullptr || !hint->holds(address, bytes)) hint = find_allocation(memory_, address);
  if (hint == nullptr || !hint->holds(address, bytes)) {
    fault(lane, fmt::format("global {} of {} bytes out of bounds at address {:#x}, {}", action, bytes, address,
                            describe_outside(memory_, hint == nullptr ? address : hint->base() + hint->bytes())));
  }
  return *hint;
}

const std::byte* Executor::loaded(Allocation*& hint, std::uint64_t address, unsigned bytes, int lane) {
  const Allocation& allocation = allocation_at(hint, address, bytes, lane, "load");
  const std::uint64_t offset = address - allocation.base();
  if (checks_ && !allocation.initialised(offset, bytes))
    fault(lane, fmt::format("global load of {} uninitialised bytes at address {:#x}", bytes, address));
  return allocation.host() + offset;
}

/// The whole warp, or its first lanes, access one row of elements: the usual case, without a look at each lane.
bool Executor::load_global_row(const Access& access, Allocation*& hint, LaneMask mask, const Addresses& addresses) {
  const int lanes = leading_lanes(mask);
  const unsigned bytes = unsigned{access.bytes} * access.count;
  if (!is_plain(access) || lanes == 0) return false;
  const std::uint64_t first = addresses[0];
  const unsigned total = bytes * static_cast<unsigned>(lanes);
  if (!in_row(addresses, lanes, bytes) || first % bytes != 0) return false;
  if (hint == nullptr || !hint->holds(first, total)) hint = find_allocation(memory_, first);
  if (hint == nullptr || !hint->holds(first, total)) return false;
  const std::uint64_t offset = first - hint->base();
  if (checks_ && !hint->initialised(offset, total)) return false;
  const std::byte* const from = hint->host() + offset;
  std::array<std::byte*, 4> slots{};
  for (std::size_t i = 0; i < access.count; ++i) slots[i] = write(access.data[i]);
  if (access.count == 1) std::memcpy(slots[0], from, total);
  if (access.count == 2 && access.bytes == 4) scatter<std::uint32_t, 2>(from, slots, lanes);
  if (access.count == 4) scatter<std::uint32_t, 4>(from, slots, lanes);
  if (access.count == 2 && access.bytes == 8) scatter<std::uint64_t, 2>(from, slots, lanes);
  tally_.sectors_load += sectors_of_range(first, total);
  tally_.bytes_load += total;
  return true;
}

void Executor::load_global(const Access& access, Allocation*& hint, LaneMask mask, const Addresses& addresses) {
  if (load_global_row(access, hint, mask, addresses)) return;
  const unsigned bytes = unsigned{access.bytes} * access.count;
  SectorCount sectors;
  for_each_lane(mask, [&](int lane) {
    const std::uint64_t address = addresses[static_cast<std::size_t>(lane)];
    if (checks_) check_alignment(address, bytes, lane, "global load");
    const std::byte* const from = loaded(hint, address, bytes, lane);
    if (access.strong) std::atomic_thread_fence(std::memory_order_seq_cst);
    load_elements(access, lane, from);
    sectors.add(address, bytes);
  });
  tally_.sectors_load += sectors.count();
  tally_.bytes_load += std::uint64_t{bytes} * static_cast<unsigned>(std::popcount(mask));
}

bool Executor::store_global_row(const Access& access, Allocation*& hint, LaneMask mask, const Addresses& addresses) {
  const int lanes = leading_lanes(mask);
  const unsigned bytes = unsigned{access.bytes} * access.count;
  if (!is_plain(access) || lanes != lanes::kLanes || !helpers_.strided(addresses.data(), bytes)) return false;
  const std::uint64_t first = addresses[0];
  const unsigned total = bytes * static_cast<unsigned>(lanes);
  if (first % bytes != 0) return false;
  if (hint == nullptr || !hint->holds(first, total)) hint = find_allocation(memory_, first);
  if (hint == nullptr || !hint->holds(first, total)) return false;
  const std::uint64_t offset = first - hint->base();
  std::byte* const to = hint->host() + offset;
  std::array<const std::byte*, 4> slots{};
  for (std::size_t i = 0; i < access.count; ++i) slots[i] = read(access.data[i]);
  if (access.count == 1) std::memcpy(to, slots[0], total);
  if (access.count == 2 && access.bytes == 4) gather<std::uint32_t, 2>(to, slots, lanes);
  if (access.count == 4) gather<std::uint32_t, 4>(to, slots, lanes);
  if (access.count == 2 && access.bytes == 8) gather<std::uint64_t, 2>(to, slots, lanes);
  hint->mark(offset, total);
  tally_.sectors_store += sectors_of_range(first, total);
  tally_.bytes_store += total;
  return true;
}

void Executor::store_global(const Access& access, Allocation*& hint, LaneMask mask, const Addresses& addresses) {
  if (store_global_row(access, hint, mask, addresses)) return;
  const unsigned bytes = unsigned{access.bytes} * access.count;
  SectorCount sectors;
  for_each_lane(mask, [&](int lane) {
    const std::uint64_t address = addresses[static_cast<std::size_t>(lane)];
    if (checks_) check_alignment(address, bytes, lane, "global store");
    Allocation& allocation = allocation_at(hint, address, bytes, lane, "store");
    const std::uint64_t offset = address - allocation.base();
    store_elements(access, lane, allocation.host() + offset);
    allocation.mark(offset, bytes);
    if (access.strong) std::atomic_thread_fence(std::memory_order_seq_cst);
    sectors.add(address, bytes);
  });
  tally_.sectors_store += sectors.count();
  tally_.bytes_store += std::uint64_t{bytes} * static_cast<unsigned>(std::popcount(mask));
}

}  // namespace softmax_dispatch::sim
