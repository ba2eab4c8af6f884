#include "device/sim/program/slots.hpp"

#include <algorithm>
#include <limits>
#include <queue>

#include "device/sim/program/flow.hpp"
#include "support/error.hpp"

namespace softmax_dispatch::sim {
namespace {

bool is_register(Ref ref) {
  return (ref & kConstantBit) == 0;
}

/// Calls read(ref) for each slot that the step reads and write(ref) for each that it writes, registers or not.
template <typename Read, typename Write>
void visit_op(Program& program, Op& op, Read read, Write write) {
  read(op.guard);
  switch (op.kind) {
    case OpKind::lanes:
      read(op.a);
      read(op.b);
      read(op.c);
      write(op.d);
      break;
    case OpKind::load:
    case OpKind::store: {
      Access& access = program.accesses[op.extra];
      read(access.address);
      for (Ref& one : access.data) {
        if (op.kind == OpKind::load) {
          write(one);
        } else {
          read(one);
        }
      }
      break;
    }
    case OpKind::atomic: {
      Atomic& atomic = program.atomics[op.atomic];
      read(program.accesses[op.extra].address);
      read(atomic.operand);
      read(atomic.swap);
      write(atomic.result);
      break;
    }
    case OpKind::copy: {
      BackgroundCopy& copy = program.copies[op.extra];
      for (Ref* one : {&copy.to.address, &copy.from.address, &copy.barrier.address, &copy.value}) read(*one);
      write(copy.result);
      break;
    }
    case OpKind::clock:
      write(op.d);
      break;
    case OpKind::fence:
    case OpKind::grid_wait:
    case OpKind::pause:
      break;
  }
}

template <typename Read, typename Write>
void visit_end(Program& program, Segment& segment, Read read, Write write) {
  read(segment.end.predicate);
  if (segment.end.kind != TerminatorKind::sync) return;
  Sync& sync = program.syncs[segment.end.sync];
  for (Ref* one : {&sync.source, &sync.b, &sync.c, &sync.mask}) read(*one);
  for (Ref* one : {&sync.result, &sync.predicate}) write(*one);
}

/// From the first step at which a register may be alive to the last, in the order of the text. A step reads at an even
/// position and writes at the odd one after it: what it writes may share a slot with what it reads last, since lane i
/// reads before it writes, but not with what else it writes.
struct Interval {
  std::uint32_t begin = std::numeric_limits<std::uint32_t>::max(), end = 0;
  void include(std::uint32_t position) {
    begin = std::min(begin, position);
    end = std::max(end, position);
  }
};

using Bits = std::vector<std::uint64_t>;

/// Which registers are alive where a segment begins. Exact per thread: lanes that took another path never see what this
/// one writes, since only active lanes are written.
class Liveness {
 public:
  Liveness(Program& program, std::size_t registers)
      : program_(program), words_((registers + 63) / 64), intervals_(registers) {
    const std::size_t count = program.segments.size();
    constexpr std::size_t kMostWords = std::size_t{1} << 21;
    if (count * words_ > kMostWords)
      throw_error(StatusCode::unsupported, "kernel {} is too large for the simulator", program.name);
    in_.assign(count, Bits(words_));
    used_.assign(count, Bits(words_));
    defined_.assign(count, Bits(words_));
    for (std::size_t i = 0; i < count; ++i) scan(i);
    solve();
    for (std::size_t i = 0; i < count; ++i) extend(i);
  }

  const std::vector<Interval>& intervals() const noexcept { return intervals_; }

  /// Registers that are alive where the segment begins.
  std::vector<std::uint32_t> alive(std::size_t segment) const {
    std::vector<std::uint32_t> numbers;
    for (std::uint32_t number = 0; number < intervals_.size(); ++number) {
      if (get(in_[segment], number)) numbers.push_back(number);
    }
    return numbers;
  }

 private:
  static void set(Bits& bits, std::uint32_t number) { bits[number / 64] |= std::uint64_t{1} << (number % 64); }
  static bool get(const Bits& bits, std::uint32_t number) { return (bits[number / 64] >> (number % 64)) & 1; }

  /// Where a step reads. The end of each segment is a step too.
  static std::uint32_t position(std::size_t segment, std::uint32_t op) {
    return 2 * (op + static_cast<std::uint32_t>(segment));
  }

  void scan(std::size_t i) {
    Segment& segment = program_.segments[i];
    std::uint32_t at = position(i, segment.first);
    const auto read = [&](Ref ref) {
      if (!is_register(ref)) return;
      if (!get(defined_[i], ref >> 1)) set(used_[i], ref >> 1);
      intervals_[ref >> 1].include(at);
    };
    const auto write = [&](Ref ref, bool whole) {
      if (!is_register(ref)) return;
      // Where a guard is false the old value stays: it is alive before.
      if (!whole && !get(defined_[i], ref >> 1)) set(used_[i], ref >> 1);
      if (whole) set(defined_[i], ref >> 1);
      intervals_[ref >> 1].include(at + 1);
    };
    for (std::uint32_t index = segment.first; index < segment.last; ++index, at += 2) {
      Op& op = program_.ops[index];
      visit_op(program_, op, read, [&](Ref ref) { write(ref, op.guard == kNoRef); });
    }
    visit_end(program_, segment, read, [&](Ref ref) { write(ref, true); });
  }

  void solve() {
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t i = program_.segments.size(); i-- > 0;) {
        for (std::size_t word = 0; word < words_; ++word) {
          std::uint64_t out = 0;
          for (const std::uint32_t next : successors(program_.segments[i])) out |= in_[next][word];
          const std::uint64_t in = used_[i][word] | (out & ~defined_[i][word]);
          changed |= in != in_[i][word];
          in_[i][word] = in;
        }
      }
    }
  }

  void extend(std::size_t i) {
    const Segment& segment = program_.segments[i];
    const auto include = [&](const Bits& bits, std::uint32_t at) {
      for (std::size_t word = 0; word < words_; ++word) {
        for (std::uint64_t rest = bits[word]; rest != 0; rest &= rest - 1) {
          const auto number = static_cast<std::size_t>(__builtin_ctzll(rest)) + 64 * word;
          intervals_[number].include(at);
        }
      }
    };
    include(in_[i], position(i, segment.first));
    for (const std::uint32_t next : successors(segment)) include(in_[next], position(i, segment.last) + 1);
  }

  Program& program_;
  std::size_t words_;
  std::vector<Interval> intervals_;
  std::vector<Bits> in_, used_, defined_;
};

/// Linear scan: slots of 4 and of 8 bytes a lane are two separate areas.
class Allocator {
 public:
  Allocator(const std::vector<Interval>& intervals, const std::vector<std::uint8_t>& widths) : slots_(widths.size()) {
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < widths.size(); ++i) {
      if (intervals[i].begin <= intervals[i].end) order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](auto a, auto b) { return intervals[a].begin < intervals[b].begin; });
    for (const std::uint32_t number : order) place(number, intervals[number], widths[number] == 8 ? wide_ : narrow_);
    narrow_base_ = wide_.count * 2 * static_cast<std::uint32_t>(lanes::kSlotBytes);
    for (const std::uint32_t number : order) {
      slots_[number] = widths[number] == 8
                           ? slots_[number] * 2 * static_cast<std::uint32_t>(lanes::kSlotBytes)
                           : narrow_base_ + slots_[number] * static_cast<std::uint32_t>(lanes::kSlotBytes);
    }
  }

  Ref slot(std::uint32_t number) const { return slots_[number]; }
  std::size_t bytes() const { return narrow_base_ + narrow_.count * lanes::kSlotBytes; }

 private:
  struct Area {
    std::uint32_t count = 0;
    std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> free;
    std::priority_queue<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::pair<std::uint32_t, std::uint32_t>>,
                        std::greater<>>
        in_use;  ///< End of the interval, slot.
  };

  void place(std::uint32_t number, const Interval& interval, Area& area) {
    // A register whose last use is the step that writes this one may give its slot to it: lane i reads before it
    // writes.
    while (!area.in_use.empty() && area.in_use.top().first <= interval.begin) {
      area.free.push(area.in_use.top().second);
      area.in_use.pop();
    }
    if (area.free.empty()) area.free.push(area.count++);
    slots_[number] = area.free.top();
    area.free.pop();
    area.in_use.emplace(interval.end, slots_[number]);
  }

  std::vector<Ref> slots_;
  Area narrow_, wide_;
  std::uint32_t narrow_base_ = 0;
};

}  // namespace

void assign_slots(Program& program, const std::vector<std::uint8_t>& widths) {
  const Liveness liveness(program, widths.size());
  std::vector<Interval> intervals = liveness.intervals();
  const auto end = static_cast<std::uint32_t>(2 * (program.ops.size() + program.segments.size()));
  for (const SpecialSlot& one : program.warp_specials) {
    intervals[one.slot >> 1].include(0);
    intervals[one.slot >> 1].include(end);
  }
  const Allocator allocator(intervals, widths);
  const auto move = [&](Ref& ref) {
    if (is_register(ref)) ref = allocator.slot(ref >> 1);
  };
  for (const Segment& segment : program.segments) {
    if (segment.end.kind != TerminatorKind::sync || program.syncs[segment.end.sync].kind != SyncKind::barrier) continue;
    std::vector<RegisterSlot>& alive = program.segments[segment.end.next].alive;
    alive.clear();
    for (const std::uint32_t number : liveness.alive(segment.end.next))
      alive.push_back({allocator.slot(number), widths[number]});
  }
  for (Op& op : program.ops) visit_op(program, op, move, move);
  for (Segment& segment : program.segments) visit_end(program, segment, move, move);
  for (SpecialSlot& one : program.warp_specials) move(one.slot);
  program.register_bytes = allocator.bytes();
}

}  // namespace softmax_dispatch::sim
