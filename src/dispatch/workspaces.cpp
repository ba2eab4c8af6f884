#include "dispatch/workspaces.hpp"

#include <algorithm>
#include <bit>

#include "support/error.hpp"

namespace softmax_dispatch::runtime {
namespace {

constexpr std::int64_t kLeastBytes = 4096;

/// A power of two, so that a kernel that needs a little more finds what another one reserved, and so that what a stream
/// has left behind when it needed more is at most as much again.
std::int64_t rounded_up(std::int64_t bytes) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max(bytes, kLeastBytes))));
}

std::size_t spares(std::size_t wanted, std::int64_t bytes) {
  const auto most = static_cast<std::size_t>(Workspaces::kMostSpareBytes / bytes);
  return std::clamp<std::size_t>(most, 1, wanted);
}

}  // namespace

Workspaces::Workspaces(Backend& backend, Device& device)
    : backend_(backend), device_(device), slots_(std::make_shared<Slots>()) {}

Workspaces::~Workspaces() {
  if (allocations_.empty()) return;
  // After an error of the device nothing can be freed, and nothing need be.
  static_cast<void>(guarded([&] {
    backend_.run_cold([&] {
      for (const DevicePtr one : allocations_) backend_.release(device_, one);
    });
  }));
}

bool Workspaces::belongs(const Slot& slot, const StreamUse& use) noexcept {
  return slot.owner.load(std::memory_order_acquire) == use.stream + kFirst &&
         slot.capture.load(std::memory_order_relaxed) == use.capture;
}

bool Workspaces::take(Slot& slot, const StreamUse& use) noexcept {
  std::uint64_t spare = kSpare;
  if (!slot.owner.compare_exchange_strong(spare, kTaking, std::memory_order_acquire)) return false;
  slot.capture.store(use.capture, std::memory_order_relaxed);
  slot.owner.store(use.stream + kFirst, std::memory_order_release);
  return true;
}

Workspaces::Slot* Workspaces::take_spare(Purpose purpose, const StreamUse& use, std::int64_t bytes,
                                         std::uint64_t context, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    Slot& slot = slots_->all[i];
    if (slot.purpose == purpose && slot.context == context && slot.bytes >= bytes && take(slot, use)) return &slot;
  }
  return nullptr;
}

void Workspaces::give_back(void* slot) noexcept {
  auto& one = *static_cast<Slot*>(slot);
  const std::shared_ptr<Slots> keeper = std::move(one.keeper);  // may be the last to hold the slot
  one.owner.store(kSpare, std::memory_order_release);
}

DevicePtr Workspaces::find(Stream stream, std::int64_t bytes) {
  const StreamUse use = backend_.stream_use(stream);
  const std::size_t count = slots_->count.load(std::memory_order_acquire);
  // A stream that needed more at some time has several. Two threads that come with one new stream may take two.
  for (std::size_t i = 0; i < count; ++i) {
    const Slot& slot = slots_->all[i];
    if (belongs(slot, use) && slot.bytes >= bytes) return slot.pointer;
  }
  const std::uint64_t context = backend_.current_context();
  const Purpose for_good = use.capture == 0 ? Purpose::stream : Purpose::capture;
  if (const Slot* slot = take_spare(for_good, use, bytes, context, count)) return slot->pointer;
  if (use.capture == 0) return 0;
  Slot* const lent = take_spare(Purpose::loan, use, bytes, context, count);
  if (!lent) return 0;
  lent->keeper = slots_;
  backend_.when_destroyed(use.graph, &Workspaces::give_back, lent);
  return lent->pointer;
}

DevicePtr Workspaces::reserve(Stream stream, std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t context = backend_.current_context();
  DevicePtr found = find(stream, bytes);
  if (!found) {
    add(Purpose::stream, bytes, context, 1 + spares(kStreamSpares, rounded_up(bytes)));
    found = find(stream, bytes);
  }
  add(Purpose::stream, bytes, context, spares(kStreamSpares, rounded_up(bytes)));
  const std::size_t more = kMostOfCaptures - number_of(Purpose::capture);
  add(Purpose::capture, bytes, context, std::min(more, spares(kCaptureSpares, rounded_up(bytes))));
  add(Purpose::loan, bytes, context, spares(kLoanSpares, rounded_up(bytes)));
  return found;
}

std::size_t Workspaces::number_of(Purpose purpose) const noexcept {
  const std::size_t count = slots_->count.load(std::memory_order_relaxed);
  return static_cast<std::size_t>(std::count_if(slots_->all.begin(),
                                                slots_->all.begin() + static_cast<std::ptrdiff_t>(count),
                                                [&](const Slot& slot) { return slot.purpose == purpose; }));
}

/// Allocates what is missing of so many spares.
void Workspaces::add(Purpose purpose, std::int64_t bytes, std::uint64_t context, std::size_t wanted) {
  const std::size_t before = slots_->count.load(std::memory_order_relaxed);
  const auto serves = [&](const Slot& slot) {
    return slot.purpose == purpose && slot.context == context && slot.bytes >= bytes &&
           slot.owner.load(std::memory_order_relaxed) == kSpare;
  };
  const auto first = slots_->all.begin();
  const auto spare =
      static_cast<std::size_t>(std::count_if(first, first + static_cast<std::ptrdiff_t>(before), serves));
  const std::size_t missing = std::min(wanted - std::min(wanted, spare), kMost - before);
  if (missing == 0) return;
  const std::int64_t each = rounded_up(bytes);
  allocations_.reserve(allocations_.size() + 1);
  const DevicePtr memory = backend_.allocate_zeroed(device_, missing * static_cast<std::size_t>(each));
  allocations_.push_back(memory);
  for (std::size_t i = 0; i < missing; ++i) {
    Slot& slot = slots_->all[before + i];
    slot.pointer = memory + i * static_cast<std::size_t>(each);
    slot.bytes = each;
    slot.context = context;
    slot.purpose = purpose;
  }
  slots_->count.store(before + missing, std::memory_order_release);
}

}  // namespace softmax_dispatch::runtime
