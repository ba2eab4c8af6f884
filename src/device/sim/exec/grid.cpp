#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>

#include "device/sim/exec/executor.hpp"
#include "device/sim/exec/order.hpp"
#include "device/sim/exec/progress.hpp"
#include "device/sim/exec/repeat/repeater.hpp"

namespace softmax_dispatch::sim {
namespace {

/// The constants with the launch's parameters and special registers filled in.
SlotBuffer launch_constants(const GridLaunch& launch) {
  const Program& program = *launch.program;
  SlotBuffer made(program.constants.size());
  std::copy(program.constants.begin(), program.constants.end(), made.data());
  const auto fill = [&](Ref slot, unsigned lane_bytes, std::uint64_t value) {
    for (std::size_t lane = 0; lane < lanes::kLanes; ++lane)
      std::memcpy(made.data() + (slot & ~kConstantBit) + lane * lane_bytes, &value, lane_bytes);
  };
  for (const ParameterSlot& one : program.parameters) {
    std::uint64_t value = 0;
    std::memcpy(&value, launch.parameters.data() + one.offset, one.bytes);
    const unsigned shift = 64 - 8u * one.bytes;
    if (one.sign_extend) value = static_cast<std::uint64_t>(static_cast<std::int64_t>(value << shift) >> shift);
    fill(one.slot, one.lane_bytes, value);
  }
  for (const SpecialSlot& one : program.launch_specials) {
    std::uint64_t value = 1;  // of the dimensions that a grid and a block do not have here
    if (one.what == Special::ntid_x) value = launch.block;
    if (one.what == Special::nctaid_x) value = launch.grid;
    if (one.what == Special::nwarpid) value = (launch.block + lanes::kLanes - 1) / lanes::kLanes;
    if (one.what == Special::nsmid) value = launch.sm_count;
    if (one.what == Special::gridid) value = 0;
    if (one.what == Special::dynamic_smem_size) value = launch.dynamic_shared_bytes;
    if (one.what == Special::total_smem_size) value = program.shared_static_bytes + launch.dynamic_shared_bytes;
    fill(one.slot, 4, value);
  }
  return made;
}

/// What the host threads of one launch have in common.
struct Shared {
  Shared(const GridLaunch& of_launch, const Allocations& of_memory, const RunOptions& of_options)
      : launch(of_launch),
        memory(of_memory),
        options(of_options),
        constants(launch_constants(of_launch)),
        sample(of_launch.grid, of_launch.blocks_wait() ? 0 : of_options.sampled_blocks, of_options.sample_group),
        order(sample.count(), of_options.seed),
        progress(std::max(1u, of_options.host_threads), of_options.resident_blocks),
        total(*of_launch.program) {
    // Fewer blocks are hardly alike often enough.
    constexpr std::uint64_t kMany = 4096;
    const bool timed = options.schedule != nullptr;  // a block that is not executed has no time
    if (options.repeat && !timed && Recorder::can_record(*launch.program))
      repeats = std::make_unique<LaunchRepeats>(launch, options.checks, sample.count() >= kMany);
  }

  const GridLaunch& launch;
  const Allocations& memory;
  const RunOptions& options;
  SlotBuffer constants;
  Sample sample;
  Order order;
  Progress progress;
  std::unique_ptr<LaunchRepeats> repeats;  ///< Null where every block is executed.

  std::mutex mutex;  // of what follows
  Tally total;
  std::exception_ptr error;
};

/// One host thread: takes blocks in the order of the seed, and several at once where they wait for each other.
class Worker {
 public:
  Worker(Shared& shared, unsigned index)
      : shared_(shared),
        index_(index),
        executor_(shared.launch, shared.memory, shared.options.checks, shared.constants.data()) {
    executor_.start_clock(shared.options.seed);
    if (shared.repeats) {
      repeater_ = std::make_unique<Repeater>(*shared.repeats, shared.launch, shared.memory);
      if (repeater_->wants_places()) executor_.tell(repeater_.get());
    }
    shared.progress.begin(index);
  }

  /// `between` is called after each round of turns.
  template <typename F>
  void run(F between) {
    while (start_block(between) || !running_.empty() || blocks_are_left()) {
      if (running_.empty()) {
        // All places on the device are taken by blocks of other threads.
        shared_.progress.stalled(index_, shared_.progress.effects());
        std::this_thread::yield();
        continue;
      }
      // A block that polls may be waiting for one that has not started; others run alone, from start to end.
      do {
        round();
        between();
      } while (!running_.empty() && !waits_);
    }
    shared_.progress.done(index_);
    if (repeater_) repeater_->count(executor_.tally());
    const std::lock_guard lock(shared_.mutex);
    shared_.total.add(executor_.tally());
  }

  void note_fault(std::uint64_t order) {
    const std::lock_guard lock(shared_.mutex);
    if (shared_.progress.fault(order)) shared_.error = std::current_exception();
  }

 private:
  bool blocks_are_left() const {
    return shared_.progress.started() < std::min(shared_.sample.count(), shared_.progress.fault_order());
  }

  /// False where no block is left to execute, or the device has no place for one more.
  template <typename F>
  bool start_block(F between) {
    constexpr std::uint64_t kRound = 256;
    for (std::uint64_t repeated = 1;; ++repeated) {
      if (!blocks_are_left() || !shared_.progress.enter()) return false;
      const std::uint64_t order = shared_.progress.next();
      if (order >= std::min(shared_.sample.count(), shared_.progress.fault_order())) {
        shared_.progress.leave();
        return false;
      }
      const std::uint64_t index = shared_.sample(shared_.order(order));
      if (!repeat(index)) {
        execute(index, order);
        return true;
      }
      if (repeated % kRound == 0) between();
    }
  }

  /// Whether the block is done by doing what another one did.
  bool repeat(std::uint64_t index) {
    if (!repeater_ || !repeater_->repeat(static_cast<std::int64_t>(index), executor_.tally())) return false;
    count_block((shared_.launch.block + lanes::kLanes - 1) / lanes::kLanes);
    shared_.progress.leave();
    return true;
  }

  void execute(std::uint64_t index, std::uint64_t order) {
    if (repeater_) executor_.follow_with(repeater_->begin(static_cast<std::int64_t>(index), executor_.tally()));
    if (spare_.empty()) spare_.push_back(std::make_unique<Block>(shared_.launch, shared_.options.schedule));
    running_.push_back(std::move(spare_.back()));
    spare_.pop_back();
    running_.back()->reset(index, order, shared_.options.seed);
    moved();
  }

  void count_block(std::uint64_t warps) {
    ++executor_.tally().blocks;
    executor_.tally().warps += warps;
  }

  void end_block(std::size_t i) {
    spare_.push_back(std::move(running_[i]));
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
    shared_.progress.leave();
    moved();
  }

  void moved() {
    watch_.moved();
    waits_ = false;
    shared_.progress.moved(index_);
  }

  /// A turn for each block that runs here.
  void round() {
    bool ended = false;
    std::uint64_t polls = 0;
    for (std::size_t i = 0; i < running_.size();) {
      const bool useless = running_[i]->order() > shared_.progress.fault_order();
      if (useless || turn(*running_[i])) {
        end_block(i);
        ended = true;
      } else {
        polls += executor_.polls();
        ++i;
      }
    }
    if (ended) return;
    const std::uint64_t effects = shared_.progress.effects();
    const bool repeats = watch_.repeats(running_, effects, polls);
    waits_ = repeats || polls > 0;
    if (!repeats || (blocks_are_left() && shared_.progress.has_place())) return;
    if (shared_.progress.stalled(index_, effects)) give_up();
    std::this_thread::yield();
  }

  /// True where the block is done with.
  bool turn(Block& block) {
    bool finished = true, faultless = false;
    try {
      finished = executor_.run(block) == Turn::finished;
      if (finished) count_block(block.warps().size());
      if (finished && block.timeline() != nullptr) add_times(*block.timeline());
      faultless = finished;
    } catch (...) {
      note_fault(block.order());
    }
    if (repeater_ && faultless) repeater_->ended(block, executor_.tally());
    if (repeater_) repeater_->interrupted();
    executor_.follow_with(nullptr);
    shared_.progress.note_effects(index_, executor_.effects());
    return finished;
  }

  void add_times(const Timeline& timeline) {
    const Timeline::Times times = timeline.end();
    for (std::size_t i = 0; i < times.size(); ++i) executor_.tally().times[i] += times[i];
    Timeline::Times& longest = executor_.tally().longest;
    for (std::size_t i = 0; i < times.size(); ++i) longest[i] = std::max(longest[i], times[i]);
    executor_.tally().live_bytes += timeline.live_bytes();
    executor_.tally().code_slots += timeline.code_slots();
  }

  /// Nobody can go on: a deadlock, unless it only follows from the fault of another block.
  void give_up() {
    try {
      executor_.deadlock(running_);
    } catch (...) {
      note_fault(std::numeric_limits<std::uint64_t>::max() - 1);
    }
    while (!running_.empty()) end_block(running_.size() - 1);
  }

  Shared& shared_;
  unsigned index_;
  Executor executor_;
  std::unique_ptr<Repeater> repeater_;  ///< Null where every block is executed.
  Watch watch_;
  bool waits_ = false;
  std::vector<std::unique_ptr<Block>> running_, spare_;
};

/// Host threads besides the calling one, started when the launch turns out to be worth them.
class Helpers {
 public:
  explicit Helpers(Shared& shared) : shared_(shared), begin_(std::chrono::steady_clock::now()) {}
  ~Helpers() {
    for (std::thread& one : threads_) one.join();
  }
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;

  void start_if_worth() {
    constexpr std::chrono::microseconds kWorth{300};
    const std::uint64_t left = shared_.sample.count() - std::min(shared_.sample.count(), shared_.progress.started());
    if (started_ || left == 0 || std::chrono::steady_clock::now() - begin_ < kWorth) return;
    started_ = true;
    for (unsigned i = 1; i < shared_.options.host_threads && i <= left; ++i) {
      threads_.emplace_back([this, i] {
        Worker worker(shared_, i);
        try {
          worker.run([] {});
        } catch (...) {
          worker.note_fault(0);
        }
      });
    }
  }

 private:
  Shared& shared_;
  std::chrono::steady_clock::time_point begin_;
  bool started_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace

LaunchCounts run(const GridLaunch& launch, const Allocations& memory, const RunOptions& options) {
  if (launch.parameters.size() < launch.program->parameter_bytes) {
    throw_error(StatusCode::internal, "kernel {} has {} bytes of parameters, not {}", launch.program->name,
                launch.program->parameter_bytes, launch.parameters.size());
  }
  Shared shared(launch, memory, options);
  {
    Helpers helpers(shared);
    Worker(shared, 0).run([&] { helpers.start_if_worth(); });
  }
  if (shared.error) std::rethrow_exception(shared.error);
  return summarise(*launch.program, shared.total, launch.grid, options.schedule);
}

}  // namespace softmax_dispatch::sim
