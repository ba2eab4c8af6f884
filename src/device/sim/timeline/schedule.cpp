#include "device/sim/timeline/schedule.hpp"

#include <algorithm>
#include <map>
#include <queue>

#include "support/error.hpp"

namespace softmax_dispatch::sim {
namespace {

constexpr std::uint32_t kNone = 0xffffffff;

bool is_register(Ref ref) {
  return ref != kNoRef && (ref & kConstantBit) == 0;
}

std::uint32_t register_of(Ref ref) {
  return ref / static_cast<std::uint32_t>(lanes::kSlotBytes);
}

enum class Ordered : std::uint8_t { no, load, store };

/// An instruction in the order of the text: one or several steps.
struct Node {
  InstructionCost cost;
  std::uint32_t load = kNoOp;
  Ordered global = Ordered::no, block = Ordered::no;  ///< Accesses to global and to other memory.
  std::vector<std::uint32_t> reads, writes;           ///< Registers.
  std::vector<std::uint32_t> after;                   ///< Nodes whose result it needs.
  std::vector<std::uint32_t> behind;                  ///< Nodes that must have been issued.
  double stall = 0;
  double priority = 0;  ///< Cycles from its issue to the end of the segment.
};

class SegmentScheduler {
 public:
  SegmentScheduler(const Program& program, const InstructionCosts& costs, const Segment& segment)
      : program_(program), costs_(costs) {
    for (std::uint32_t i = segment.first; i < segment.last; ++i) add_step(i);
    add_end(segment);
    connect();
  }

  SegmentSchedule made(bool loop) {
    const std::vector<std::uint32_t> order = ordered();
    std::vector<std::uint32_t> place(nodes_.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
    SegmentSchedule schedule;
    schedule.unrolled = loop && std::none_of(nodes_.begin(), nodes_.end(), [](const Node& node) {
                          return node.global == Ordered::store || node.block == Ordered::store;
                        });
    for (const std::uint32_t index : order) {
      const Node& node = nodes_[index];
      ScheduledInstruction one{node.cost.slots, node.cost.latency, std::max(node.cost.slots, node.stall), node.load};
      one.first_need = static_cast<std::uint32_t>(schedule.needs.size());
      for (const std::uint32_t other : node.after) schedule.needs.push_back(place[other]);
      for (const std::uint32_t reg : outside_[index]) schedule.needs.push_back(reg | kFromOutside);
      one.needs = static_cast<std::uint32_t>(schedule.needs.size()) - one.first_need;
      one.first_made = static_cast<std::uint32_t>(schedule.made.size());
      for (const std::uint32_t reg : node.writes)
        if (last_writer_.at(reg) == index) schedule.made.push_back(reg);
      one.made = static_cast<std::uint32_t>(schedule.made.size()) - one.first_made;
      schedule.instructions.push_back(one);
    }
    return schedule;
  }

 private:
  Node& node_of(std::uint32_t instruction) {
    if (nodes_.empty() || instruction != last_instruction_) {
      const InstructionInfo& info = program_.instructions[instruction];
      nodes_.emplace_back();
      nodes_.back().cost = costs_.of(program_.opcodes[info.opcode], info.op_class);
      last_instruction_ = instruction;
    }
    return nodes_.back();
  }

  void read(Node& node, Ref ref) {
    if (is_register(ref)) node.reads.push_back(register_of(ref));
  }
  void write(Node& node, Ref ref, bool guarded) {
    if (!is_register(ref)) return;
    // Where the guard is false the old value stays.
    if (guarded) node.reads.push_back(register_of(ref));
    node.writes.push_back(register_of(ref));
  }

  void add_step(std::uint32_t index) {
    const Op& op = program_.ops[index];
    Node& node = node_of(op.instruction);
    const bool guarded = op.guard != kNoRef;
    read(node, op.guard);
    if (op.kind == OpKind::lanes) {
      for (const Ref ref : {op.a, op.b, op.c}) read(node, ref);
      write(node, op.d, guarded);
    } else if (op.kind == OpKind::clock) {
      write(node, op.d, guarded);
    } else if (op.kind == OpKind::fence || op.kind == OpKind::pause || op.kind == OpKind::grid_wait) {
      node.global = node.block = Ordered::store;
    } else {
      add_access(node, index, op, guarded);
    }
  }

  void add_access(Node& node, std::uint32_t index, const Op& op, bool guarded) {
    const Access& access = program_.accesses[op.extra];
    read(node, access.address);
    const bool global = access.space == ptx::Space::global || access.space == ptx::Space::none;
    Ordered& kind = global ? node.global : node.block;
    if (op.kind == OpKind::load) {
      kind = access.strong ? Ordered::store : Ordered::load;
      for (const Ref ref : access.data) write(node, ref, guarded);
      if (global) node.load = index;
      return;
    }
    kind = Ordered::store;
    if (op.kind == OpKind::store) {
      for (const Ref ref : access.data) read(node, ref);
      return;
    }
    const Atomic& atomic = program_.atomics[op.atomic];
    read(node, atomic.operand);
    read(node, atomic.swap);
    write(node, atomic.result, guarded);
  }

  /// Branches and synchronisations are the last to issue.
  void add_end(const Segment& segment) {
    const Terminator& end = segment.end;
    if (end.kind == TerminatorKind::next) return;
    last_instruction_ = kNone;
    Node& node = node_of(end.instruction);
    if (end.kind == TerminatorKind::conditional && !end.is_instruction) node.cost = {1, 4};  // stands for a guard
    if (end.kind == TerminatorKind::branch || end.kind == TerminatorKind::conditional) node.stall = node.cost.latency;
    read(node, end.predicate);
    if (end.kind == TerminatorKind::sync) {
      const Sync& sync = program_.syncs[end.sync];
      for (const Ref ref : {sync.source, sync.b, sync.c, sync.mask}) read(node, ref);
      for (const Ref ref : {sync.result, sync.predicate}) write(node, ref, false);
    }
    for (std::uint32_t i = 0; i + 1 < nodes_.size(); ++i) node.behind.push_back(i);
  }

  void connect() {
    outside_.resize(nodes_.size());
    std::vector<std::uint32_t> loads[2];
    std::uint32_t last_store[2] = {kNone, kNone};
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
      Node& node = nodes_[i];
      for (const std::uint32_t reg : node.reads) {
        const auto writer = last_writer_.find(reg);
        if (writer == last_writer_.end()) {
          outside_[i].push_back(reg);
        } else if (writer->second != i) {
          node.after.push_back(writer->second);
        }
      }
      for (const std::uint32_t reg : node.writes) last_writer_[reg] = i;
      const Ordered kinds[] = {node.global, node.block};
      for (std::size_t space = 0; space < 2; ++space) {
        if (kinds[space] == Ordered::no) continue;
        if (last_store[space] != kNone) node.behind.push_back(last_store[space]);
        if (kinds[space] == Ordered::load) {
          loads[space].push_back(i);
          continue;
        }
        node.behind.insert(node.behind.end(), loads[space].begin(), loads[space].end());
        loads[space].clear();
        last_store[space] = i;
      }
    }
  }

  double latency_of(const Node& node) const { return node.load == kNoOp ? node.cost.latency : costs_.memory.l2; }

  /// Of the instructions that could issue, always the one with the longest way to the end.
  std::vector<std::uint32_t> ordered() {
    std::vector<std::vector<std::uint32_t>> followers(nodes_.size());
    std::vector<std::uint32_t> waits(nodes_.size());
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
      nodes_[i].priority = latency_of(nodes_[i]);
      for (const auto* list : {&nodes_[i].after, &nodes_[i].behind}) {
        for (const std::uint32_t other : *list) followers[other].push_back(i);
        waits[i] += static_cast<std::uint32_t>(list->size());
      }
    }
    for (std::uint32_t i = static_cast<std::uint32_t>(nodes_.size()); i-- > 0;) {
      for (const std::uint32_t other : nodes_[i].after)
        nodes_[other].priority = std::max(nodes_[other].priority, latency_of(nodes_[other]) + nodes_[i].priority);
      for (const std::uint32_t other : nodes_[i].behind)
        nodes_[other].priority = std::max(nodes_[other].priority, nodes_[i].priority);
    }
    // By the cycle from which they can issue; those that can by their priority.
    using Entry = std::pair<double, std::uint32_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> coming;
    const auto less_urgent = [&](std::uint32_t a, std::uint32_t b) {
      return nodes_[a].priority != nodes_[b].priority ? nodes_[a].priority < nodes_[b].priority : a > b;
    };
    std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, decltype(less_urgent)> ready(less_urgent);
    std::vector<double> from(nodes_.size());
    for (std::uint32_t i = 0; i < nodes_.size(); ++i)
      if (waits[i] == 0) ready.push(i);
    std::vector<std::uint32_t> order;
    for (double now = 0; order.size() < nodes_.size();) {
      for (; !coming.empty() && (coming.top().first <= now || ready.empty()); coming.pop()) {
        now = std::max(now, coming.top().first);
        ready.push(coming.top().second);
      }
      const std::uint32_t next = ready.top();
      ready.pop();
      order.push_back(next);
      for (const std::uint32_t other : followers[next]) {
        const auto& after = nodes_[other].after;
        const bool result = std::find(after.begin(), after.end(), next) != after.end();
        from[other] = std::max(from[other], now + (result ? latency_of(nodes_[next]) : nodes_[next].cost.slots));
        if (--waits[other] == 0) coming.emplace(from[other], other);
      }
      now += nodes_[next].cost.slots;
    }
    return order;
  }

  const Program& program_;
  const InstructionCosts& costs_;
  std::uint32_t last_instruction_ = kNone;
  std::vector<Node> nodes_;
  std::vector<std::vector<std::uint32_t>> outside_;  ///< Per node: registers that it reads from before the segment.
  std::map<std::uint32_t, std::uint32_t> last_writer_;
};

}  // namespace

Schedule::Schedule(const Program& program, const InstructionCosts& costs)
    : registers(register_of(static_cast<Ref>(program.register_bytes)) + 1),
      barrier_latency(costs.of("", OpClass::barrier).latency),
      memory(costs.memory) {
  if (!program.copies.empty()) {
    throw_error(StatusCode::unsupported,
                "kernel {} copies in the background (cp.async), which is not timed: it can be run", program.name);
  }
  for (const InstructionInfo& one : program.instructions)
    slots.push_back(costs.of(program.opcodes[one.opcode], one.op_class).slots);
  for (std::uint32_t i = 0; i < program.segments.size(); ++i) {
    const Terminator& end = program.segments[i].end;
    const bool loop = end.kind == TerminatorKind::conditional && (end.target == i || end.next == i);
    segments.push_back(SegmentScheduler(program, costs, program.segments[i]).made(loop));
  }
}

}  // namespace softmax_dispatch::sim
