// Shared and local memory, and the elements of one lane's access.
#include <algorithm>
#include <cstring>

#include "device/sim/exec/executor.hpp"

namespace softmax_dispatch::sim {
namespace {

std::uint64_t sign_extended(std::uint64_t value, unsigned bytes) {
  const unsigned shift = 64 - 8 * bytes;
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(value << shift) >> shift);
}

/// Strong accesses of whole words are atomic on the host too: another host thread may run the block that they wait for.
std::uint64_t read_element(const std::byte* from, unsigned bytes, bool strong) {
  if (strong && bytes == 4) return __atomic_load_n(reinterpret_cast<const std::uint32_t*>(from), __ATOMIC_SEQ_CST);
  if (strong && bytes == 8) return __atomic_load_n(reinterpret_cast<const std::uint64_t*>(from), __ATOMIC_SEQ_CST);
  std::uint64_t value = 0;
  std::memcpy(&value, from, bytes);
  return value;
}

void write_element(std::byte* to, unsigned bytes, bool strong, std::uint64_t value) {
  if (strong && bytes == 4)
    return __atomic_store_n(reinterpret_cast<std::uint32_t*>(to), static_cast<std::uint32_t>(value), __ATOMIC_SEQ_CST);
  if (strong && bytes == 8) return __atomic_store_n(reinterpret_cast<std::uint64_t*>(to), value, __ATOMIC_SEQ_CST);
  std::memcpy(to, &value, bytes);
}

bool is_aligned(const void* pointer, unsigned bytes) {
  return reinterpret_cast<std::uintptr_t>(pointer) % bytes == 0;
}

}  // namespace

void Executor::load_elements(const Access& access, int lane, const std::byte* from) const {
  const bool strong = access.strong && is_aligned(from, access.bytes);
  for (std::size_t i = 0; i < access.count; ++i, from += access.bytes) {
    if (access.data[i] == kNoRef) continue;
    std::uint64_t value = read_element(from, access.bytes, strong);
    if (access.sign_extend) value = sign_extended(value, access.bytes);
    set_lane(access.data[i], access.data_bytes[i], lane, value);
  }
}

void Executor::store_elements(const Access& access, int lane, std::byte* to) const {
  const bool strong = access.strong && is_aligned(to, access.bytes);
  for (std::size_t i = 0; i < access.count; ++i, to += access.bytes)
    write_element(to, access.bytes, strong, lane_value(access.data[i], access.data_bytes[i], lane));
}

void Executor::check_shared(std::uint64_t address, unsigned bytes, int lane, const char* action) const {
  if (!block_->shared().holds(address, bytes)) {
    fault(lane, fmt::format("shared {} of {} bytes out of bounds at address {:#x}, {}", action, bytes, address,
                            block_->shared().describe_outside(address)));
  }
  if (checks_) check_alignment(address, bytes, lane, "shared access");
}

/// Lanes that are the first ones and access words in a row, or one word: how most kernels use shared memory.
bool Executor::load_shared_row(const Access& access, LaneMask mask, const Addresses& addresses) {
  const int lanes = leading_lanes(mask);
  if (!is_plain(access) || access.bytes != 4 || access.count != 1 || lanes == 0) return false;
  SharedMemory& shared = block_->shared();
  const std::uint64_t first = addresses[0];
  std::byte* const slot = write(access.data[0]);
  if (in_row(addresses, lanes, 4)) {
    if (!shared.holds(first, 4 * static_cast<std::uint64_t>(lanes))) return false;
    if (checks_ && !shared.read_row(accessor(0, false), first, lanes)) return false;
    std::memcpy(slot, shared.at(first), 4 * static_cast<std::size_t>(lanes));
    return true;
  }
  if (!in_row(addresses, lanes, 0) || !shared.holds(first, 4)) return false;
  if (checks_ && !shared.read_word(accessor(0, false), first, mask)) return false;
  for (int lane = 0; lane < lanes; ++lane) std::memcpy(slot + 4 * lane, shared.at(first), 4);
  return true;
}

void Executor::load_shared(const Access& access, LaneMask mask, const Addresses& addresses) {
  if (load_shared_row(access, mask, addresses)) return;
  const unsigned bytes = unsigned{access.bytes} * access.count;
  SharedMemory& shared = block_->shared();
  for_each_lane(mask, [&](int lane) {
    const std::uint64_t address = addresses[static_cast<std::size_t>(lane)];
    check_shared(address, bytes, lane, "load");
    if (checks_ && !shared.initialised(address, bytes))
      fault(lane, fmt::format("shared load of {} uninitialised bytes at address {:#x}: no thread has written them yet",
                              bytes, address));
    if (checks_ && !shared.read(accessor(lane, access.strong), address, bytes)) race(lane, address, "a read");
    load_elements(access, lane, shared.at(address));
  });
}

bool Executor::store_shared_row(const Access& access, LaneMask mask, const Addresses& addresses) {
  const int lanes = leading_lanes(mask);
  if (!is_plain(access) || access.bytes != 4 || access.count != 1 || lanes == 0) return false;
  SharedMemory& shared = block_->shared();
  const std::uint64_t first = addresses[0];
  if (!in_row(addresses, lanes, 4) || !shared.holds(first, 4 * static_cast<std::uint64_t>(lanes))) return false;
  if (checks_ && !shared.write_row(accessor(0, false), first, lanes)) return false;
  std::memcpy(shared.at(first), read(access.data[0]), 4 * static_cast<std::size_t>(lanes));
  return true;
}

void Executor::store_shared(const Access& access, LaneMask mask, const Addresses& addresses) {
  if (store_shared_row(access, mask, addresses)) return;
  const unsigned bytes = unsigned{access.bytes} * access.count;
  SharedMemory& shared = block_->shared();
  for_each_lane(mask, [&](int lane) {
    const std::uint64_t address = addresses[static_cast<std::size_t>(lane)];
    check_shared(address, bytes, lane, "store");
    std::byte* const to = shared.at(address);
    std::array<std::byte, 16> before;
    std::memcpy(before.data(), to, bytes);
    store_elements(access, lane, to);
    if (!checks_) return;
    const bool same_value = std::memcmp(before.data(), to, bytes) == 0;
    if (!shared.write(accessor(lane, access.strong), address, bytes, same_value)) race(lane, address, "a write");
  });
}

void Executor::race(int lane, std::uint64_t address, const char* what) const {
  fault(lane, fmt::format("shared memory race at address {:#x}: {} with no barrier after {}", address, what,
                          block_->shared().race()));
}

void Executor::check_local(std::uint64_t address, unsigned bytes, int lane, const char* action) const {
  if (address > program_.local_bytes || bytes > program_.local_bytes - address) {
    fault(lane, fmt::format("local {} of {} bytes out of bounds at address {:#x}: a thread has {} bytes", action, bytes,
                            address, program_.local_bytes));
  }
  if (checks_) check_alignment(address, bytes, lane, "local access");
}

void Executor::load_local(const Access& access, LaneMask mask, const Addresses& addresses) {
  const unsigned bytes = unsigned{access.bytes} * access.count;
  for_each_lane(mask, [&](int lane) {
    const std::uint64_t address = addresses[static_cast<std::size_t>(lane)];
    check_local(address, bytes, lane, "load");
    const std::uint32_t thread = block_->thread(*warp_, lane);
    const std::uint8_t* const written = block_->local_written(thread) + address;
    if (checks_ && !std::all_of(written, written + bytes, [](std::uint8_t one) { return one != 0; }))
      fault(lane, fmt::format("local load of {} uninitialised bytes at address {:#x}", bytes, address));
    load_elements(access, lane, block_->local(thread) + address);
  });
}

void Executor::store_local(const Access& access, LaneMask mask, const Addresses& addresses) {
  const unsigned bytes = unsigned{access.bytes} * access.count;
  for_each_lane(mask, [&](int lane) {
    const std::uint64_t address = addresses[static_cast<std::size_t>(lane)];
    check_local(address, bytes, lane, "store");
    const std::uint32_t thread = block_->thread(*warp_, lane);
    store_elements(access, lane, block_->local(thread) + address);
    std::fill_n(block_->local_written(thread) + address, bytes, std::uint8_t{1});
  });
}

}  // namespace softmax_dispatch::sim
