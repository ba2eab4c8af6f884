#include <map>

#include "device/sim/program/decoders.hpp"
#include "device/sim/program/flow.hpp"
#include "device/sim/program/slots.hpp"
#include "support/text.hpp"

namespace softmax_dispatch::sim {
namespace {

using Decoder = void (*)(Builder&, Modifiers&);

/// A new instruction whose operands all have its type needs no line here, only a lane function that is named like it.
const std::map<std::string_view, Decoder>& decoders() {
  static const std::map<std::string_view, Decoder> all{
      {"abs", decode_arithmetic},
      {"activemask", decode_activemask},
      {"add", decode_arithmetic},
      {"and", decode_arithmetic},
      {"applypriority", decode_hint},
      {"atom", decode_atomic},
      {"bar", decode_barrier},
      {"barrier", decode_barrier},
      {"bfe", decode_bit_field},
      {"bfi", decode_bit_field},
      {"bfind", decode_bit_count},
      {"bra", decode_branch},
      {"brev", decode_arithmetic},
      {"clz", decode_bit_count},
      {"cnot", decode_arithmetic},
      {"copysign", decode_arithmetic},
      {"cos", decode_approximate},
      {"cp", decode_copy},
      {"createpolicy", decode_cache_policy},
      {"cvt", decode_cvt},
      {"cvta", decode_cvta},
      {"discard", decode_hint},
      {"div", decode_arithmetic},
      {"ex2", decode_approximate},
      {"exit", decode_finish},
      {"fence", decode_fence},
      {"fma", decode_arithmetic},
      {"griddepcontrol", decode_grid_dependency},
      {"isspacep", decode_isspacep},
      {"ld", decode_load},
      {"ldu", decode_load},
      {"lg2", decode_approximate},
      {"lop3", decode_bit_triple},
      {"mad", decode_multiply},
      {"match", decode_match},
      {"max", decode_arithmetic},
      {"mbarrier", decode_copy_barrier},
      {"membar", decode_fence},
      {"min", decode_arithmetic},
      {"mov", decode_mov},
      {"mul", decode_multiply},
      {"nanosleep", decode_nanosleep},
      {"neg", decode_arithmetic},
      {"not", decode_arithmetic},
      {"or", decode_arithmetic},
      {"pmevent", decode_hint},
      {"popc", decode_bit_count},
      {"prefetch", decode_hint},
      {"prefetchu", decode_hint},
      {"prmt", decode_bit_triple},
      {"rcp", decode_arithmetic},
      {"red", decode_atomic},
      {"rem", decode_arithmetic},
      {"ret", decode_finish},
      {"rsqrt", decode_approximate},
      {"selp", decode_selp},
      {"set", decode_set},
      {"setp", decode_setp},
      {"shf", decode_bit_triple},
      {"shfl", decode_shuffle},
      {"shl", decode_shift},
      {"shr", decode_shift},
      {"sin", decode_approximate},
      {"sqrt", decode_arithmetic},
      {"st", decode_store},
      {"sub", decode_arithmetic},
      {"tanh", decode_approximate},
      {"testp", decode_testp},
      {"trap", decode_trap},
      {"vote", decode_vote},
      {"xor", decode_arithmetic},
  };
  return all;
}

void decode_plain(Builder& builder, Modifiers& modifiers) {
  const std::string name(builder.instruction().opcode);
  const ptx::Type type = modifiers.take_type();
  const lanes::Row* row = builder.row(name);
  if (row == nullptr || type.bits == 0) builder.fail("does not support this instruction");
  modifiers.take_all([](std::string_view) { return true; });
  builder.set_class(arithmetic_class(type));
  builder.expect_operands(2, 4);
  Ref sources[3]{kNoRef, kNoRef, kNoRef};
  for (std::size_t i = 1; i < builder.operands(); ++i) sources[i - 1] = builder.source(builder.operand(i), type);
  const Ref d = builder.destination(builder.operand(0), type);
  if (builder.operands() == 2) builder.emit(*row, d, {sources[0]});
  if (builder.operands() == 3) builder.emit(*row, d, {sources[0], sources[1]});
  if (builder.operands() == 4) builder.emit(*row, d, {sources[0], sources[1], sources[2]});
}

void decode_one(Builder& builder, const ptx::Instruction& instruction) {
  builder.begin(instruction);
  Modifiers modifiers(instruction.opcode);
  const auto found = decoders().find(modifiers.base());
  (found == decoders().end() ? decode_plain : found->second)(builder, modifiers);
  if (!modifiers.rest().empty())
    builder.fail(fmt::format("does not support the modifier .{}", modifiers.rest().front()));
}

/// Whether an instruction, or the end, is the target of a branch.
std::vector<bool> branch_targets(const ptx::Entry& entry) {
  std::vector<bool> is_target(entry.code.size() + 1);
  for (const ptx::Instruction& instruction : entry.code) {
    for (const ptx::Operand& operand : instruction.operands) {
      if (operand.kind == ptx::Operand::Kind::label) is_target[operand.index] = true;
    }
  }
  return is_target;
}

Program decode_all(Builder& builder) {
  const ptx::Entry& entry = builder.entry();
  const std::vector<bool> is_target = branch_targets(entry);
  std::vector<std::uint32_t> segment_of_instruction;
  for (std::size_t i = 0; i < entry.code.size(); ++i) {
    if (is_target[i]) builder.start_segment();
    segment_of_instruction.push_back(static_cast<std::uint32_t>(builder.segment_count()));
    decode_one(builder, entry.code[i]);
  }
  builder.start_segment();
  segment_of_instruction.push_back(static_cast<std::uint32_t>(builder.segment_count()));
  return builder.take(segment_of_instruction);
}

const ptx::Entry& find_entry(const ptx::Module& module, const std::string& name) {
  std::vector<std::string> names;
  for (const ptx::Entry& one : module.entries) {
    if (one.name == name) return one;
    names.emplace_back(one.name);
  }
  throw_error(StatusCode::device, "the PTX has no kernel {}; it has {}", name,
              names.empty() ? "none" : join(names, ", "));
}

}  // namespace

std::shared_ptr<const Program> decode(std::shared_ptr<const ptx::Module> module, const std::string& entry_name,
                                      const AddressOf& address_of) {
  const ptx::Entry& entry = find_entry(*module, entry_name);
  Pool pool;
  Bindings bindings;
  // The first pass finds the registers that stand for constants, for the second to use even before they are written.
  {
    Builder first(module, entry, address_of, pool, bindings);
    decode_all(first);
  }
  Builder builder(module, entry, address_of, pool, bindings);
  auto program = std::make_shared<Program>(decode_all(builder));
  pool.move_into(*program);
  find_reconvergence(*program);
  assign_slots(*program, builder.widths());
  return program;
}

}  // namespace softmax_dispatch::sim
