#include "device/sim/memory.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "support/error.hpp"

namespace softmax_dispatch::sim {
namespace {

constexpr std::size_t kAlign = 256;
constexpr DevicePtr kGap = DevicePtr{1} << 34;
constexpr std::uint8_t kWholeWord = 0x0f;

std::size_t align_up(std::size_t bytes) {
  return (bytes + kAlign - 1) / kAlign * kAlign;
}

/// The bits of a word's bytes [first, last).
std::uint8_t word_bits(std::size_t first, std::size_t last) {
  return static_cast<std::uint8_t>((kWholeWord >> (4 - (last - first))) << first);
}

/// Calls f(index of a word, bits of its bytes) for the words of [offset, offset + bytes).
template <typename F>
void for_each_word(std::size_t offset, std::size_t bytes, F f) {
  const std::size_t end = offset + bytes;
  for (std::size_t word = offset / 4; word * 4 < end; ++word) {
    const std::size_t begin = word * 4;
    f(word, word_bits(std::max(offset, begin) - begin, std::min(end, begin + 4) - begin));
  }
}

bool all_whole(const std::uint8_t* written, std::size_t words) {
  constexpr std::uint64_t kEight = 0x0f0f0f0f0f0f0f0f;
  std::size_t i = 0;
  for (; i + 8 <= words; i += 8) {
    std::uint64_t eight;
    std::memcpy(&eight, written + i, 8);
    if ((eight & kEight) != kEight) return false;
  }
  return std::all_of(written + i, written + words, [](std::uint8_t one) { return one == kWholeWord; });
}

}  // namespace

void Allocation::Free::operator()(void* data) const noexcept {
  std::free(data);
}

Allocation::Allocation(DevicePtr base, std::size_t bytes, std::string name)
    : base_(base),
      bytes_(bytes),
      name_(std::move(name)),
      storage_(static_cast<std::byte*>(std::aligned_alloc(kAlign, align_up(std::max<std::size_t>(bytes, 1))))),
      host_(storage_.get()),
      written_(static_cast<std::uint8_t*>(std::calloc(bytes / 4 + 1, 1))) {
  if (!storage_ || !written_) throw_error(StatusCode::device, "the host has no {} bytes for an allocation", bytes);
}

Allocation::Allocation(std::byte* host, std::size_t bytes, std::string name)
    : base_(reinterpret_cast<std::uintptr_t>(host)),
      bytes_(bytes),
      name_(std::move(name)),
      host_(host),
      complete_(true) {}

bool Allocation::initialised(std::size_t offset, std::size_t bytes) const noexcept {
  if (complete()) return true;
  if (offset % 4 == 0 && bytes % 4 == 0) return all_whole(written_.get() + offset / 4, bytes / 4);
  bool all = true;
  for_each_word(offset, bytes,
                [&](std::size_t word, std::uint8_t bits) { all = all && (written_.get()[word] & bits) == bits; });
  return all;
}

void Allocation::mark(std::size_t offset, std::size_t bytes) noexcept {
  if (complete()) return;
  if (offset % 4 == 0 && bytes % 4 == 0) {
    std::memset(written_.get() + offset / 4, kWholeWord, bytes / 4);
    return;
  }
  for_each_word(offset, bytes, [&](std::size_t word, std::uint8_t bits) {
    std::atomic_ref<std::uint8_t>(written_.get()[word]).fetch_or(bits, std::memory_order_relaxed);
  });
}

void insert(Allocations& all, std::shared_ptr<Allocation> one) {
  const auto place =
      std::upper_bound(all.begin(), all.end(), one, [](const auto& a, const auto& b) { return a->base() < b->base(); });
  all.insert(place, std::move(one));
}

Allocation* find_allocation(const Allocations& all, DevicePtr address) noexcept {
  auto after = std::upper_bound(all.begin(), all.end(), address,
                                [](DevicePtr value, const auto& one) { return value < one->base(); });
  if (after == all.begin()) return nullptr;
  Allocation* const found = std::prev(after)->get();
  return address - found->base() < std::max<std::size_t>(found->bytes(), 1) ? found : nullptr;
}

std::string describe_outside(const Allocations& all, DevicePtr address) {
  const auto after = std::upper_bound(all.begin(), all.end(), address,
                                      [](DevicePtr value, const auto& one) { return value < one->base(); });
  const Allocation* below = after == all.begin() ? nullptr : std::prev(after)->get();
  const Allocation* above = after == all.end() ? nullptr : after->get();
  const DevicePtr past = below ? address - below->base() - below->bytes() : kGap;
  const DevicePtr before = above ? above->base() - address : kGap;
  const Allocation* const near = past <= before ? below : above;
  if (std::min(past, before) >= kGap / 2) return "not near any allocation that exists";
  return fmt::format("{} bytes {} the {} of {} bytes at {:#x}", std::min(past, before),
                     near == below ? "past the end of" : "before the start of", near->name(), near->bytes(),
                     near->base());
}

DevicePtr Memory::allocate(std::size_t bytes, const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (static_cast<std::int64_t>(bytes) < 0 || static_cast<std::int64_t>(bytes) > capacity_ - used_) {
    throw_error(StatusCode::device, "the simulated device has no {} bytes left: {} of {} are in use", bytes, used_,
                capacity_);
  }
  const auto made = std::make_shared<Allocation>(next_, bytes, name);
  next_ += align_up(bytes) + kGap;
  used_ += static_cast<std::int64_t>(bytes);
  auto changed = std::make_shared<Allocations>(*all_);
  insert(*changed, made);
  all_ = std::move(changed);
  return made->base();
}

void Memory::release(DevicePtr pointer) noexcept {
  const std::lock_guard lock(mutex_);
  auto changed = std::make_shared<Allocations>(*all_);
  const auto found =
      std::find_if(changed->begin(), changed->end(), [&](const auto& one) { return one->base() == pointer; });
  if (found == changed->end()) return;
  used_ -= static_cast<std::int64_t>((*found)->bytes());
  changed->erase(found);
  all_ = std::move(changed);
}

std::shared_ptr<const Allocations> Memory::snapshot() const {
  const std::lock_guard lock(mutex_);
  return all_;
}

std::shared_ptr<Allocation> Memory::at(DevicePtr pointer, std::size_t bytes, const char* action) const {
  const auto all = snapshot();
  const Allocation* const found = find_allocation(*all, pointer);
  if (found == nullptr || !found->holds(pointer, bytes)) {
    throw_error(
        StatusCode::device, "cannot {} {} bytes at {:#x}: {}", action, bytes, pointer,
        found ? fmt::format("the {} there has {} bytes from {:#x} on", found->name(), found->bytes(), found->base())
              : describe_outside(*all, pointer));
  }
  return *std::find_if(all->begin(), all->end(), [&](const auto& one) { return one.get() == found; });
}

void Memory::upload(DevicePtr to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  const auto target = at(to, bytes, "upload");
  std::memcpy(target->host() + (to - target->base()), from, bytes);
  target->mark(to - target->base(), bytes);
  if (bytes == target->bytes()) target->mark_all();
}

void Memory::download(void* to, DevicePtr from, std::size_t bytes) const {
  if (bytes == 0) return;
  const auto source = at(from, bytes, "download");
  std::memcpy(to, source->host() + (from - source->base()), bytes);
}

void Memory::fill(DevicePtr to, unsigned char byte, std::size_t bytes) {
  if (bytes == 0) return;
  const auto target = at(to, bytes, "fill");
  std::memset(target->host() + (to - target->base()), byte, bytes);
  target->mark(to - target->base(), bytes);
  if (bytes == target->bytes()) target->mark_all();
}

void Memory::copy(DevicePtr to, DevicePtr from, std::size_t bytes) {
  if (bytes == 0) return;
  const auto source = at(from, bytes, "copy from");
  const auto target = at(to, bytes, "copy to");
  const std::size_t source_offset = from - source->base(), target_offset = to - target->base();
  std::memmove(target->host() + target_offset, source->host() + source_offset, bytes);
  if (source->initialised(source_offset, bytes)) return target->mark(target_offset, bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    if (source->initialised(source_offset + i, 1)) target->mark(target_offset + i, 1);
  }
}

}  // namespace softmax_dispatch::sim
