#include "device/sim/exec/repeat/repeater.hpp"

#include <utility>

namespace softmax_dispatch::sim {
namespace {

/// Rounds that a block goes before its state is looked at: loops over a few tiles end earlier.
constexpr std::uint64_t kFirstVisit = 12;

void put_shared(const Record& record, SharedMemory& shared) {
  const std::byte* from = record.shared_bytes.data();
  for (const Run& run : record.shared) {
    shared.put(run.address, from, run.bytes);
    from += run.bytes;
  }
}

/// The block ends where it stands: each of its warps has one path.
void end(Block& block) {
  for (Warp& warp : block.warps()) warp.finish(warp.pick());
}

}  // namespace

LaunchRepeats::LaunchRepeats(const GridLaunch& launch, bool checks, bool whole_blocks)
    : checks_(checks), whole_blocks_(whole_blocks), walks_(launch.block % lanes::kLanes == 0), blocks_(checks) {}

WalkPlace& LaunchRepeats::place(std::uint32_t segment) {
  const std::lock_guard lock(mutex_);
  return places_.try_emplace(segment, checks_).first->second;
}

Repeater::Repeater(LaunchRepeats& all, const GridLaunch& launch, const Allocations& memory)
    : all_(all), launch_(launch), memory_(memory) {}

Recorder& Repeater::recorder() {
  if (!recorder_) {
    const std::uint32_t warps = (launch_.block + lanes::kLanes - 1) / lanes::kLanes;
    recorder_ = std::make_unique<Recorder>(*launch_.program, memory_, warps);
  }
  return *recorder_;
}

bool Repeater::repeat(std::int64_t t, Tally& tally) {
  if (!all_.whole_blocks()) return false;
  const Record* const record = all_.blocks().find(t, scratch_);
  if (record == nullptr || !all_.blocks().apply(*record, t, tally)) return false;
  ++repeated_[record];
  ++tally.repeated;
  return true;
}

Recorder* Repeater::begin(std::int64_t t, const Tally& tally) {
  visits_.clear();
  earlier_.clear();
  recording_ = Recording::nothing;
  if (!all_.whole_blocks() || !all_.blocks().wanted()) return nullptr;
  recording_ = Recording::block;
  recorder().begin(t, tally);
  return recorder_.get();
}

void Repeater::ended(Block& block, const Tally& tally) {
  const Recording recording = std::exchange(recording_, Recording::nothing);
  if (recording == Recording::nothing) return;
  Repeats& repeats = recording == Recording::block ? all_.blocks() : from_->rounds;
  std::optional<Record> record = recorder_->finish(tally, block.shared());
  if (!record) return repeats.add_failure();
  record->ends = true;
  repeats.add(*std::move(record));
}

/// Looks at the block's registers, and finds how they follow the row where nobody has yet. False where that is not
/// known.
bool Repeater::knows_state(WalkPlace& place, std::uint32_t segment, const Block& block) {
  const Segment& at = launch_.program->segments[segment];
  WalkState::read(at, block.warps(), values_);
  const std::lock_guard lock(place.mutex);
  if (place.state) return true;
  const auto [earlier, is_first] = earlier_.try_emplace(segment, values_);
  if (is_first) return false;
  if (std::optional<WalkState> found = WalkState::find(at, earlier->second, values_)) {
    place.state = std::make_unique<const WalkState>(*std::move(found));
    return true;
  }
  place.hopeless = true;
  return false;
}

void Repeater::finish_round(Block& block, WalkPlace& place, std::int64_t t, const Tally& tally) {
  recording_ = Recording::nothing;
  std::optional<Record> record;
  if (recorder_->is_back(*place.state)) record = recorder_->finish(tally, block.shared());
  if (!record) return place.rounds.add_failure();
  record->advance = t - from_row_;
  place.rounds.add(*std::move(record));
}

std::int64_t Repeater::repeat_rounds(Block& block, WalkPlace& place, std::int64_t t, Tally& tally) {
  const std::int64_t first = t;
  bool ended = false;
  while (!ended) {
    const Record* const record = place.rounds.find(t, scratch_);
    if (record == nullptr || !place.rounds.apply(*record, t, tally)) break;
    put_shared(*record, block.shared());
    ++repeated_[record];
    ++tally.repeated;
    ended = record->ends;
    t += record->advance;
  }
  if (ended) {
    end(block);
  } else if (t != first) {
    place.state->write(t, block.warps());
  }
  return t;
}

Recorder* Repeater::passed(Block& block, std::uint32_t segment, Tally& tally) {
  Recorder* const now = recording_ == Recording::nothing ? nullptr : recorder_.get();
  const std::uint64_t visits = ++visits_[segment];
  if (visits < kFirstVisit) return now;
  WalkPlace& place = all_.place(segment);
  if (place.hopeless) return now;
  if (recording_ == Recording::block) {
    // A block of many rounds is not like another one as a whole.
    recording_ = Recording::nothing;
    all_.blocks().add_failure();
  }
  // NOTE: also while a round from another place is followed: that place may never come to be of use, where what is
  // alive there stayed the same by chance.
  const bool known = knows_state(place, segment, block);
  if (recording_ == Recording::round && from_ != &place) return recorder_.get();
  const std::optional<std::int64_t> row = known ? place.state->row(values_) : std::nullopt;
  if (!row) {
    recording_ = Recording::nothing;
    return nullptr;
  }
  if (recording_ == Recording::round) finish_round(block, place, *row, tally);
  from_row_ = repeat_rounds(block, place, *row, tally);
  if (place.rounds.in_vain()) place.hopeless = true;
  if (block.finished() || !place.rounds.wanted()) return nullptr;
  recording_ = Recording::round;
  from_ = &place;
  recorder().begin_round(from_row_, *place.state, tally);
  return recorder_.get();
}

void Repeater::count(Tally& tally) const {
  for (const auto& [record, times] : repeated_) record->tally.add_to(tally, times);
}

}  // namespace softmax_dispatch::sim
