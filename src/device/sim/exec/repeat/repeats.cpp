#include "device/sim/exec/repeat/repeats.hpp"

#include <cstring>
#include <mutex>
#include <utility>

namespace softmax_dispatch::sim {
namespace {

constexpr std::size_t kTrial = 256;  // records without a repetition, and no more are made
constexpr std::size_t kMostRecords = 4096;
constexpr std::size_t kMostPlans = 64;
constexpr std::uint64_t kMostFailures = 4;

std::uint64_t hash_of(const std::vector<std::byte>& bytes) {
  std::uint64_t hash = bytes.size();
  std::size_t i = 0;
  const auto mix = [&](std::uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 29;
  };
  for (; i + 8 <= bytes.size(); i += 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data() + i, 8);
    mix(word);
  }
  std::uint64_t rest = 0;
  std::memcpy(&rest, bytes.data() + i, bytes.size() - i);
  mix(rest);
  return hash;
}

std::uint64_t sectors_at(const std::vector<Run>& runs, std::int64_t distance) {
  constexpr std::uint64_t kSectorBytes = 32;
  std::uint64_t sectors = 0;
  for (const Run& run : runs) {
    const std::uint64_t address = run.address_at(distance);
    sectors += (address + run.bytes - 1) / kSectorBytes - address / kSectorBytes + 1;
  }
  return sectors;
}

}  // namespace

bool Repeats::same_plan(const Plan& plan, const Record& record) {
  const std::int64_t distance = record.t - plan.t;
  const std::uint64_t low = (std::uint64_t{1} << plan.multiple_bits) - 1;
  if (plan.multiple_bits != record.reach.multiple_bits || (static_cast<std::uint64_t>(distance) & low) != 0 ||
      plan.loads.size() != record.loads.size())
    return false;
  for (std::size_t i = 0; i < plan.loads.size(); ++i) {
    Run there = plan.loads[i];
    there.address = there.address_at(distance);
    if (!(there == record.loads[i])) return false;
  }
  return true;
}

void Repeats::add(Record record) {
  const std::lock_guard lock(mutex_);
  Plan* plan = nullptr;
  for (const auto& one : plans_) {
    if (same_plan(*one, record)) plan = one.get();
  }
  if (plan == nullptr) {
    plan = plans_.emplace_back(std::make_unique<Plan>()).get();
    plan->t = record.t;
    plan->multiple_bits = record.reach.multiple_bits;
    plan->loads = record.loads;
    plan->bytes = record.loaded.size();
  }
  const std::uint64_t hash = hash_of(record.loaded);
  plan->records.emplace(hash, std::make_unique<const Record>(std::move(record)));
  ++records_;
  const bool useless = records_ >= kTrial && found_.load() == 0;
  if (useless || records_ >= kMostRecords || plans_.size() >= kMostPlans) wanted_ = false;
}

void Repeats::add_failure() noexcept {
  if (++failures_ >= kMostFailures) wanted_ = false;
}

bool Repeats::gather(const Plan& plan, std::int64_t distance, std::vector<std::byte>& bytes) const {
  bytes.clear();
  for (const Run& run : plan.loads) {
    const std::uint64_t address = run.address_at(distance);
    if (!run.allocation->holds(address, run.bytes)) return false;
    const std::uint64_t offset = address - run.allocation->base();
    if (checks_ && !run.allocation->initialised(offset, run.bytes)) return false;
    const std::byte* const from = run.allocation->host() + offset;
    bytes.insert(bytes.end(), from, from + run.bytes);
  }
  return true;
}

const Record* Repeats::find(std::int64_t t, std::vector<std::byte>& scratch) {
  const std::shared_lock lock(mutex_);
  for (const auto& plan : plans_) {
    const std::int64_t distance = t - plan->t;
    if ((static_cast<std::uint64_t>(distance) & ((std::uint64_t{1} << plan->multiple_bits) - 1)) != 0) continue;
    if (!gather(*plan, distance, scratch)) continue;
    const auto [first, last] = plan->records.equal_range(hash_of(scratch));
    for (auto one = first; one != last; ++one) {
      const Record& record = *one->second;
      if (!record.reach.holds(t - record.t) || record.loaded != scratch) continue;
      if (found_.load(std::memory_order_relaxed) == 0) found_ = 1;
      return &record;
    }
  }
  return nullptr;
}

bool Repeats::apply(const Record& record, std::int64_t t, Tally& tally) const {
  const std::int64_t distance = t - record.t;
  for (const Run& run : record.stores) {
    if (!run.allocation->holds(run.address_at(distance), run.bytes)) return false;
  }
  const std::byte* from = record.stored.data();
  for (const Run& run : record.stores) {
    const std::uint64_t offset = run.address_at(distance) - run.allocation->base();
    std::memcpy(run.allocation->host() + offset, from, run.bytes);
    run.allocation->mark(offset, run.bytes);
    from += run.bytes;
  }
  tally.sectors_load += sectors_at(record.sector_loads, distance);
  tally.sectors_store += sectors_at(record.sector_stores, distance);
  return true;
}

}  // namespace softmax_dispatch::sim
