#include "device/sim/program/builder.hpp"

#include <algorithm>
#include <cstring>

namespace softmax_dispatch::sim {
namespace {

using Operand = ptx::Operand;

std::uint8_t lane_bytes_of(unsigned bits) {
  return bits == 64 ? 8 : 4;
}

/// The bits of a number as a value of the type.
std::uint64_t literal_bits(const Operand& operand, ptx::Type type) {
  std::uint64_t bits = operand.bits;
  if (operand.kind == Operand::Kind::real && operand.width == 64 && type.bits == 32) {
    const auto narrowed = static_cast<float>(__builtin_bit_cast(double, bits));
    bits = __builtin_bit_cast(std::uint32_t, narrowed);
  } else if (operand.kind == Operand::Kind::real && operand.width == 32 && type.bits == 64) {
    const double widened = __builtin_bit_cast(float, static_cast<std::uint32_t>(bits));
    bits = __builtin_bit_cast(std::uint64_t, widened);
  }
  if (type.bits == 1) return bits != 0 ? 0xffffffff : 0;
  return type.bits < 64 ? bits & ((std::uint64_t{1} << type.bits) - 1) : bits;
}

}  // namespace

Builder::Builder(const std::shared_ptr<const ptx::Module>& module, const ptx::Entry& entry, const AddressOf& address_of,
                 Pool& pool, Bindings& bindings)
    : entry_(entry), address_of_(address_of), pool_(pool), bindings_(bindings), lanes_(lanes::table()) {
  program_.module = module;
  program_.name = std::string(entry.name);
  program_.max_threads = entry.max_threads;
  for (const ptx::Register& one : entry.registers) widths_.push_back(lane_bytes_of(one.type.bits));
  widths_.resize(widths_.size() + kWarpSpecials, 4);
  count_writes();
  lay_out_variables();
  lay_out_parameters();
}

/// Operand 0 is taken as written by every instruction, stores and branches too: a register that counts as written too
/// often is merely not bound.
void Builder::count_writes() {
  writes_.resize(entry_.registers.size());
  const auto count = [&](const Operand& operand) {
    if (operand.kind == Operand::Kind::reg) ++writes_[operand.index];
  };
  for (const ptx::Instruction& instruction : entry_.code) {
    if (instruction.operands.empty()) continue;
    count(instruction.operands[0]);
    for (const Operand& item : instruction.operands[0].items) count(item);
  }
}

void Builder::begin(const ptx::Instruction& instruction) {
  instruction_ = &instruction;
  guard_counted_ = false;
  guard_ = kNoRef;
  InstructionInfo info;
  info.line = instruction.line;
  info.source = instruction.source;
  const auto [opcode, added] =
      opcodes_.emplace(std::string(instruction.opcode), static_cast<std::uint32_t>(program_.opcodes.size()));
  if (added) program_.opcodes.push_back(opcode->first);
  info.opcode = opcode->second;
  info_ = static_cast<std::uint32_t>(program_.instructions.size());
  program_.instructions.push_back(info);
  if (instruction.guard < 0) {
    segment_counted_.push_back(info_);
  } else {
    guard_ = guard_of(instruction);
  }
}

/// An instruction of several steps may write its own guard: they all go by what it was before.
Ref Builder::guard_of(const ptx::Instruction& instruction) {
  const auto number = static_cast<std::uint32_t>(instruction.guard);
  const auto is_guard = [&](const Operand& one) { return one.kind == Operand::Kind::reg && one.index == number; };
  const bool written = !instruction.operands.empty() && (is_guard(instruction.operands[0]) ||
                                                         std::any_of(instruction.operands[0].items.begin(),
                                                                     instruction.operands[0].items.end(), is_guard));
  const Ref guard = register_of(number);
  if (!written) return guard;
  const Ref copy = temporary(4);
  emit("mov.pred", copy, {guard});
  return copy;
}

void Builder::set_class(OpClass op_class) {
  program_.instructions[info_].op_class = op_class;
}

void Builder::fail(const std::string& what) const {
  throw_error(StatusCode::unsupported, "the simulator {}: '{}' at {} of kernel {}", what, instruction_->opcode,
              program_.module->describe(instruction_->line, instruction_->source), program_.name);
}

const Operand& Builder::operand(std::size_t index) const {
  if (index >= operands()) fail(fmt::format("expects more than {} operands", operands()));
  return instruction_->operands[index];
}

void Builder::expect_operands(std::size_t least, std::size_t most) const {
  if (operands() < least || operands() > most)
    fail(fmt::format("expects {} to {} operands, not {}", least, most, operands()));
}

Ref Builder::register_of(std::uint32_t number) const {
  const auto bound = bindings_.find(number);
  return bound == bindings_.end() ? register_ref(number) : bound->second;
}

void Builder::check_width(const Operand& operand, ptx::Type type) const {
  const unsigned bits = entry_.registers[operand.index].type.bits;
  if (bits != type.bits) {
    fail(fmt::format("expects a register of {} bits where {} of {} bits stands", type.bits, operand.text, bits));
  }
}

Ref Builder::any_source(const Operand& operand, ptx::Type type, std::uint8_t& lane_bytes) {
  lane_bytes = lane_bytes_of(type.bits);
  switch (operand.kind) {
    case Operand::Kind::reg: {
      lane_bytes = widths_[operand.index];
      if ((entry_.registers[operand.index].type.bits == 1) != (type.bits == 1))
        fail(fmt::format("cannot read {} here: one of it and the type is a predicate", operand.text));
      if (!operand.negated) return register_of(operand.index);
      const Ref opposite = temporary(4);
      emit("not.pred", opposite, {register_of(operand.index)});
      return opposite;
    }
    case Operand::Kind::integer:
    case Operand::Kind::real:
      return constant(literal_bits(operand, type), lane_bytes);
    case Operand::Kind::entry_variable:
    case Operand::Kind::module_variable:
      return constant(variable_address(operand), lane_bytes);
    case Operand::Kind::special:
      if (const auto slot = special(operand.text); slot && type.bits == 32) return *slot;
      break;
    default:
      break;
  }
  fail(fmt::format("cannot read the operand '{}'", operand.text));
}

Ref Builder::source(const Operand& operand, ptx::Type type) {
  if (operand.kind == Operand::Kind::reg) check_width(operand, type);
  std::uint8_t lane_bytes = 0;
  return any_source(operand, type, lane_bytes);
}

Ref Builder::destination(const Operand& operand, ptx::Type type) {
  if (operand.kind == Operand::Kind::sink) return temporary(lane_bytes_of(type.bits));
  if (operand.kind != Operand::Kind::reg) fail(fmt::format("cannot write the operand '{}'", operand.text));
  check_width(operand, type);
  return register_ref(operand.index);
}

Ref Builder::any_destination(const Operand& operand, std::uint8_t& lane_bytes) {
  if (operand.kind == Operand::Kind::sink) return kNoRef;
  if (operand.kind != Operand::Kind::reg || entry_.registers[operand.index].type.bits == 1)
    fail(fmt::format("cannot write the operand '{}'", operand.text));
  lane_bytes = widths_[operand.index];
  return register_ref(operand.index);
}

Ref Builder::temporary(std::uint8_t lane_bytes) {
  widths_.push_back(lane_bytes);
  return register_ref(static_cast<std::uint32_t>(widths_.size() - 1));
}

bool Builder::bind(const Operand& operand, Ref value) {
  if (operand.kind != Operand::Kind::reg || instruction_->guard >= 0 || writes_[operand.index] != 1) return false;
  const bool fixed = (value & kConstantBit) != 0 || is_warp_special(value);
  if (fixed) bindings_[operand.index] = value;
  return fixed;
}

void Builder::emit(const std::string& name, Ref d, std::initializer_list<Ref> sources, std::uint32_t extra) {
  const lanes::Row* found = row(name);
  if (found == nullptr) fail(fmt::format("does not support this instruction (it has no '{}')", name));
  emit(*found, d, sources, extra);
}

void Builder::emit(const lanes::Row& row, Ref d, std::initializer_list<Ref> sources, std::uint32_t extra) {
  Op op;
  op.function = row.function;
  op.d = d;
  op.d_bytes = row.bytes[0];
  op.extra = extra;
  const auto matches = [&](Ref ref, std::uint8_t bytes) {
    return (ref & kConstantBit) != 0 || widths_[ref >> 1] == bytes;
  };
  Ref* const refs[3]{&op.a, &op.b, &op.c};
  bool right = matches(d, row.bytes[0]);
  std::size_t used = 0;
  for (const Ref ref : sources) {
    if (used == 3) fail("has no step of so many operands");
    right = right && row.bytes[used + 1] != 0 && matches(ref, row.bytes[used + 1]);
    *refs[used++] = ref;
  }
  right = right && (used == 3 || row.bytes[used + 1] == 0);
  if (!right) fail("expects operands of other widths");
  // A lane function gets a valid slot for every source.
  for (; used < 3; ++used) *refs[used] = used == 0 ? d : op.a;
  emit(op);
}

void Builder::emit(Op op) {
  op.instruction = info_;
  if (guard_ != kNoRef) {
    op.guard = guard_;
    op.guard_negated = instruction_->guard_negated;
    op.counts = !guard_counted_;
    guard_counted_ = true;
  }
  program_.ops.push_back(op);
}

std::uint32_t Builder::add_access(const Access& access) {
  program_.accesses.push_back(access);
  const bool global = access.space == ptx::Space::global || access.space == ptx::Space::none;
  program_.communicates |= access.strong && global;
  return static_cast<std::uint32_t>(program_.accesses.size() - 1);
}

std::uint32_t Builder::add_atomic(const Atomic& atomic) {
  program_.atomics.push_back(atomic);
  return static_cast<std::uint32_t>(program_.atomics.size() - 1);
}

std::uint32_t Builder::add_copy(const BackgroundCopy& copy) {
  program_.copies.push_back(copy);
  return static_cast<std::uint32_t>(program_.copies.size() - 1);
}

void Builder::push_segment(Terminator terminator) {
  Segment segment;
  segment.first = segment_begin_;
  segment.last = segment_begin_ = static_cast<std::uint32_t>(program_.ops.size());
  terminator.instruction = info_;
  segment.end = terminator;
  segment.counted = std::move(segment_counted_);
  segment_counted_.clear();
  program_.segments.push_back(std::move(segment));
}

void Builder::start_segment() {
  if (segment_begin_ == program_.ops.size() && segment_counted_.empty()) return;
  const auto following = static_cast<std::uint32_t>(program_.segments.size() + 1);
  push_segment({.kind = TerminatorKind::next, .next = following});
}

void Builder::end_segment(Terminator terminator) {
  auto here = static_cast<std::uint32_t>(program_.segments.size());
  if (guard_ != kNoRef) {
    push_segment({.kind = TerminatorKind::conditional,
                  .negated = instruction_->guard_negated,
                  .predicate = guard_,
                  .target = here + 1,
                  .next = here + 2});
    ++here;
    segment_counted_.push_back(info_);
  }
  terminator.next = here + 1;
  push_segment(terminator);
}

void Builder::end_with_sync(const Sync& sync) {
  program_.syncs.push_back(sync);
  end_segment({.kind = TerminatorKind::sync, .sync = static_cast<std::uint32_t>(program_.syncs.size() - 1)});
}

void Builder::end_with_branch(std::uint32_t target_instruction) {
  const auto following = static_cast<std::uint32_t>(program_.segments.size() + 1);
  if (guard_ == kNoRef) {
    push_segment({.kind = TerminatorKind::branch, .target = target_instruction, .next = following});
    return;
  }
  segment_counted_.push_back(info_);
  push_segment({.kind = TerminatorKind::conditional,
                .negated = instruction_->guard_negated,
                .is_instruction = true,
                .predicate = guard_,
                .target = target_instruction,
                .next = following});
}

}  // namespace softmax_dispatch::sim
