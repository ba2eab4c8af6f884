#include "device/sim/program/decoders.hpp"

namespace softmax_dispatch::sim {

void set_address(Builder& builder, const ptx::Operand& operand, Access& access) {
  if (operand.kind != ptx::Operand::Kind::address) builder.fail("expects an address in brackets");
  access.offset = operand.offset;
  const ptx::Operand& base = operand.items.at(0);
  if (base.kind == ptx::Operand::Kind::param) builder.fail("accesses parameters at constant addresses only");
  access.address = builder.any_source(base, kU64, access.address_bytes);
}

namespace {

using Kind = ptx::Type::Kind;
using Operand = ptx::Operand;
using Space = ptx::Space;

Space take_space(Modifiers& modifiers) {
  if (modifiers.take("global")) return Space::global;
  if (modifiers.take("shared") || modifiers.take("shared::cta")) return Space::shared;
  if (modifiers.take("local")) return Space::local;
  if (modifiers.take("const")) return Space::constant;
  if (modifiers.take("param")) return Space::param;
  return Space::none;
}

/// Takes the memory model's words; whether the access is one that other blocks may wait for.
bool take_strength(Modifiers& modifiers) {
  const bool ordered = !modifiers.take_one_of({"acquire", "release", "acq_rel", "relaxed", "volatile", "mmio"}).empty();
  modifiers.take("weak");
  modifiers.take_one_of({"cta", "cluster", "gpu", "sys"});
  return ordered;
}

/// Caches have no contents here.
void take_cache_hints(Modifiers& modifiers) {
  modifiers.take_all([](std::string_view part) { return part.starts_with("L1::") || part.starts_with("L2::"); });
  modifiers.take_one_of({"ca", "cg", "cs", "lu", "cv", "wb", "wt"});
  modifiers.take("nc");
  modifiers.take("unified");
}

Access start_access(Builder& builder, Modifiers& modifiers, const ptx::Type& type) {
  Access access;
  access.strong = take_strength(modifiers);
  access.space = take_space(modifiers);
  take_cache_hints(modifiers);
  access.count = static_cast<std::uint8_t>(modifiers.take_vector());
  access.bytes = static_cast<std::uint8_t>(type.bits / 8);
  access.sign_extend = type.kind == Kind::signed_integer;
  const bool fits = access.bytes * access.count <= 16 && (access.count == 1 || access.count == 2 || access.count == 4);
  if (!fits) builder.fail("accesses at most 16 bytes per thread, in 1, 2 or 4 elements");
  return access;
}

/// The elements of {a, b, c, d}, or the operand itself.
std::vector<Operand> elements(Builder& builder, const Operand& operand, const Access& access) {
  const std::vector<Operand> made = operand.kind == Operand::Kind::vector ? operand.items : std::vector{operand};
  if (made.size() != access.count) builder.fail(fmt::format("expects {} elements", access.count));
  return made;
}

void load_parameter(Builder& builder, const Access& access) {
  builder.set_class(OpClass::parameter_load);
  const Operand& address = builder.operand(1);
  if (address.kind != Operand::Kind::address) builder.fail("expects an address in brackets");
  std::int64_t offset = address.offset;
  for (const Operand& to : elements(builder, builder.operand(0), access)) {
    Operand element = address;
    element.offset = offset;
    offset += access.bytes;
    ParameterSlot slot;
    slot.bytes = access.bytes;
    slot.sign_extend = access.sign_extend;
    const Ref d = builder.any_destination(to, slot.lane_bytes);
    const Ref value = builder.parameter(element, slot);
    if (d == kNoRef || builder.bind(to, value)) continue;
    builder.emit(slot.lane_bytes == 8 ? "mov.b64" : "mov.b32", d, {value});
  }
}

void emit_access(Builder& builder, OpKind kind, const Access& access) {
  Op op;
  op.kind = kind;
  op.extra = builder.add_access(access);
  builder.emit(op);
}

AtomicOp atomic_op(const Builder& builder, Modifiers& modifiers) {
  struct Named {
    std::string_view name;
    AtomicOp op;
  };
  static constexpr Named kNames[] = {
      {"add", AtomicOp::add},          {"min", AtomicOp::minimum},   {"max", AtomicOp::maximum},
      {"inc", AtomicOp::increment},    {"dec", AtomicOp::decrement}, {"exch", AtomicOp::exchange},
      {"cas", AtomicOp::compare_swap}, {"and", AtomicOp::bit_and},   {"or", AtomicOp::bit_or},
      {"xor", AtomicOp::bit_xor},
  };
  for (const Named& one : kNames) {
    if (modifiers.take(one.name)) return one.op;
  }
  builder.fail("does not support this atomic operation");
}

bool supported(AtomicOp op, const ptx::Type& type) {
  if (type.packed || (type.bits != 32 && type.bits != 64)) return false;
  switch (op) {
    case AtomicOp::add:
      return type.kind != Kind::untyped;
    case AtomicOp::minimum:
    case AtomicOp::maximum:
      return type.kind == Kind::signed_integer || type.kind == Kind::unsigned_integer;
    case AtomicOp::increment:
    case AtomicOp::decrement:
      return type == kU32;
    default:
      return type.kind == Kind::untyped;
  }
}

}  // namespace

void decode_load(Builder& builder, Modifiers& modifiers) {
  const ptx::Type type = required_type(builder, modifiers);
  Access access = start_access(builder, modifiers, type);
  builder.expect_operands(2, 3);  // the third is a cache policy
  if (access.space == Space::param) return load_parameter(builder, access);
  builder.set_class(access.space == Space::shared     ? OpClass::shared_load
                    : access.space == Space::local    ? OpClass::local_load
                    : access.space == Space::constant ? OpClass::parameter_load
                    : access.space == Space::none     ? OpClass::generic_load
                                                      : OpClass::global_load);
  set_address(builder, builder.operand(1), access);
  const std::vector<Operand> to = elements(builder, builder.operand(0), access);
  for (std::size_t i = 0; i < to.size(); ++i) {
    access.data[i] = builder.any_destination(to[i], access.data_bytes[i]);
    if (access.data[i] != kNoRef && access.data_bytes[i] < access.bytes) builder.fail("expects a wider register");
  }
  emit_access(builder, OpKind::load, access);
}

void decode_store(Builder& builder, Modifiers& modifiers) {
  const ptx::Type type = required_type(builder, modifiers);
  Access access = start_access(builder, modifiers, type);
  builder.expect_operands(2, 3);
  builder.set_class(access.space == Space::shared  ? OpClass::shared_store
                    : access.space == Space::local ? OpClass::local_store
                    : access.space == Space::none  ? OpClass::generic_store
                                                   : OpClass::global_store);
  if (access.space == Space::constant || access.space == Space::param) builder.fail("cannot store there");
  set_address(builder, builder.operand(0), access);
  const std::vector<Operand> from = elements(builder, builder.operand(1), access);
  for (std::size_t i = 0; i < from.size(); ++i) {
    access.data[i] = builder.any_source(from[i], type, access.data_bytes[i]);
    if (access.data_bytes[i] < access.bytes) builder.fail("expects a wider register");
  }
  emit_access(builder, OpKind::store, access);
}

void decode_atomic(Builder& builder, Modifiers& modifiers) {
  const ptx::Type type = required_type(builder, modifiers);
  builder.set_class(OpClass::atomic);
  Atomic atomic;
  atomic.type = type;
  atomic.op = atomic_op(builder, modifiers);
  if (!supported(atomic.op, type)) builder.fail("does not support this atomic operation on this type");
  Access access = start_access(builder, modifiers, type);
  access.strong = true;
  const bool returns = modifiers.base() == "atom";
  const bool swaps = atomic.op == AtomicOp::compare_swap;
  const std::size_t at = returns ? 1 : 0;
  builder.expect_operands(at + (swaps ? 3 : 2), at + (swaps ? 3 : 2));
  if (access.space == Space::local || access.space == Space::constant || access.space == Space::param)
    builder.fail("has no atomics in this state space");
  set_address(builder, builder.operand(at), access);
  atomic.operand = builder.source(builder.operand(at + 1), type);
  if (swaps) atomic.swap = builder.source(builder.operand(at + 2), type);
  if (returns) atomic.result = builder.destination(builder.operand(0), type);
  Op op;
  op.kind = OpKind::atomic;
  op.extra = builder.add_access(access);
  op.atomic = builder.add_atomic(atomic);
  builder.emit(op);
}

void decode_fence(Builder& builder, Modifiers& modifiers) {
  builder.set_class(OpClass::fence);
  builder.expect_operands(0, 0);
  // What copies in the background see of other accesses is in order here.
  if (modifiers.take("proxy")) modifiers.take("async");
  modifiers.take("mbarrier_init");
  modifiers.take_one_of({"sc", "acq_rel", "release"});
  modifiers.take_one_of({"cta", "cluster", "gl", "gpu", "sys", "shared::cta", "global"});
  Op op;
  op.kind = OpKind::fence;
  builder.emit(op);
}

void decode_hint(Builder& builder, Modifiers& modifiers) {
  builder.set_class(OpClass::other);
  modifiers.take_all([](std::string_view) { return true; });
}

/// Launches follow one another here: only that nothing is touched before the wait can be seen.
void decode_grid_dependency(Builder& builder, Modifiers& modifiers) {
  builder.set_class(OpClass::other);
  builder.expect_operands(0, 0);
  if (modifiers.take("launch_dependents")) return;
  if (!modifiers.take("wait")) builder.fail("needs .wait or .launch_dependents");
  Op op;
  op.kind = OpKind::grid_wait;
  builder.emit(op);
}

void decode_nanosleep(Builder& builder, Modifiers& modifiers) {
  builder.set_class(OpClass::other);
  required_type(builder, modifiers);
  builder.expect_operands(1, 1);
  builder.source(builder.operand(0), kU32);
  Op op;
  op.kind = OpKind::pause;
  builder.emit(op);
}

}  // namespace softmax_dispatch::sim
