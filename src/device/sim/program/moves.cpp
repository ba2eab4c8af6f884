#include "device/sim/program/decoders.hpp"

namespace softmax_dispatch::sim {
namespace {

using Kind = ptx::Type::Kind;
using Operand = ptx::Operand;

constexpr ptx::Type kB16{Kind::untyped, 16};
constexpr ptx::Type kB64{Kind::untyped, 64};

/// mov.b64 d, {a, b}: the first element is the lowest part.
void join(Builder& builder, const ptx::Type& type, const Operand& vector, const Operand& to) {
  const bool pair = vector.items.size() == 2 && (type.bits == 64 || type.bits == 32);
  const bool four = vector.items.size() == 4 && type.bits == 64;
  if (!pair && !four) builder.fail("joins 2 or 4 elements of 16 or 32 bits only");
  const ptx::Type part{Kind::untyped, static_cast<std::uint8_t>(type.bits / vector.items.size())};
  Ref parts[4];
  for (std::size_t i = 0; i < vector.items.size(); ++i) parts[i] = builder.source(vector.items[i], part);
  const Ref d = builder.destination(to, type);
  if (pair) return builder.emit(type.bits == 64 ? "join.b64" : "join.b32", d, {parts[0], parts[1]});
  const Ref low = builder.temporary(4), high = builder.temporary(4);
  builder.emit("join.b32", low, {parts[0], parts[1]});
  builder.emit("join.b32", high, {parts[2], parts[3]});
  builder.emit("join.b64", d, {low, high});
}

/// mov.b64 {a, b}, d.
void split(Builder& builder, const ptx::Type& type, const Operand& from, const Operand& vector) {
  const Ref source = builder.source(from, type);
  const std::vector<Operand>& to = vector.items;
  if (to.size() == 2 && (type.bits == 64 || type.bits == 32)) {
    const ptx::Type part = type.bits == 64 ? kB32 : kB16;
    builder.emit("low" + suffix(part), builder.destination(to[0], part), {source});
    builder.emit("high" + suffix(part), builder.destination(to[1], part), {source});
    return;
  }
  if (to.size() != 4 || type.bits != 64) builder.fail("splits into 2 or 4 elements of 16 or 32 bits only");
  const Ref low = builder.temporary(4), high = builder.temporary(4);
  builder.emit("low.b32", low, {source});
  builder.emit("high.b32", high, {source});
  for (std::size_t i = 0; i < 4; ++i) {
    builder.emit(i % 2 == 0 ? "low.b16" : "high.b16", builder.destination(to[i], kB16), {i < 2 ? low : high});
  }
}

/// %clock and its like: their values pass while the kernel runs.
bool read_clock(Builder& builder, const ptx::Type& type) {
  const std::string_view name = builder.operand(1).text;
  const bool wide = name == "%clock64" || name == "%globaltimer";
  if (!wide && name != "%clock" && name != "%globaltimer_lo") return false;
  if (type.bits != (wide ? 64 : 32)) builder.fail("expects a register of another width");
  Op op;
  op.kind = OpKind::clock;
  op.d = builder.destination(builder.operand(0), type);
  op.d_bytes = wide ? 8 : 4;
  builder.emit(op);
  return true;
}

std::uint32_t rounding_of(std::string_view mode) {
  if (mode == "rz" || mode == "rzi") return static_cast<std::uint32_t>(lanes::Round::zero);
  if (mode == "rm" || mode == "rmi") return static_cast<std::uint32_t>(lanes::Round::down);
  if (mode == "rp" || mode == "rpi") return static_cast<std::uint32_t>(lanes::Round::up);
  return static_cast<std::uint32_t>(lanes::Round::nearest);
}

bool is_float(const ptx::Type& type) {
  return type.kind == Kind::real || type.kind == Kind::brain;
}

/// How a conversion between two numbers rounds and clamps.
struct Conversion {
  ptx::Type to, from;
  bool flush = false, saturate = false, to_integral = false;
  std::uint32_t round = 0;
};

std::string conversion_name(const Builder& builder, const Conversion& c, std::uint32_t& extra) {
  const std::string pair = suffix(c.to) + suffix(c.from);
  if (!is_float(c.to) && !is_float(c.from)) return "cvt" + pair + (c.saturate ? ".sat" : "");
  if (is_float(c.to) && c.to == c.from && !c.to_integral) {
    if (c.saturate) return "saturate" + suffix(c.to);
    return bits_name("mov", c.to);
  }
  const bool plain = c.round == 0 && !c.saturate && !c.to_integral;
  if (plain && builder.row("cvt.plain" + pair) != nullptr) return "cvt.plain" + pair;
  extra = c.round | (c.saturate ? lanes::kSaturate : 0) | (c.to_integral ? lanes::kToInteger : 0);
  return "cvt" + pair;
}

/// Converts one value that stands in a slot.
void convert(Builder& builder, const Conversion& c, Ref d, Ref a) {
  constexpr ptx::Type kF32{Kind::real, 32};
  if (c.flush && c.from == kF32) {
    const Ref flushed = builder.temporary(4);
    builder.emit("flush.f32", flushed, {a});
    a = flushed;
  }
  std::uint32_t extra = 0;
  const std::string name = conversion_name(builder, c, extra);
  const bool flush_result = c.flush && c.to == kF32;
  const Ref result = flush_result ? builder.temporary(4) : d;
  builder.emit(name, result, {a}, extra);
  if (flush_result) builder.emit("flush.f32", d, {result});
}

}  // namespace

void decode_mov(Builder& builder, Modifiers& modifiers) {
  const ptx::Type type = required_type(builder, modifiers);
  builder.set_class(OpClass::move);
  builder.expect_operands(2, 2);
  const Operand &to = builder.operand(0), &from = builder.operand(1);
  if (from.kind == Operand::Kind::vector) return join(builder, type, from, to);
  if (to.kind == Operand::Kind::vector) return split(builder, type, from, to);
  if (from.kind == Operand::Kind::special && read_clock(builder, type)) return;
  const Ref source = builder.source(from, type);
  if (builder.bind(to, source)) return;
  const std::string name = type.bits == 1 ? "mov.pred" : bits_name("mov", type);
  builder.emit(name, builder.destination(to, type), {source});
}

void decode_cvt(Builder& builder, Modifiers& modifiers) {
  Conversion c;
  c.from = required_type(builder, modifiers);
  c.to = required_type(builder, modifiers);
  c.flush = modifiers.take("ftz");
  c.saturate = modifiers.take("sat");
  const std::string_view integral = modifiers.take_one_of({"rni", "rzi", "rmi", "rpi"});
  const std::string_view mode = modifiers.take_one_of({"rn", "rz", "rm", "rp"});
  c.round = rounding_of(integral.empty() ? mode : integral);
  c.to_integral = !integral.empty() && is_float(c.to);
  builder.set_class(OpClass::conversion);
  if (c.to.bits == 64 && is_float(c.to) && c.round != 0 && !c.to_integral)
    builder.fail("rounds to f64 to the nearest only");
  if (c.to.packed) {
    // The first source becomes the high half.
    builder.expect_operands(3, 3);
    const Ref high_source = builder.source(builder.operand(1), c.from);
    const Ref low_source = builder.source(builder.operand(2), c.from);
    c.to = {c.to.kind, 16};
    const Ref low = builder.temporary(4), high = builder.temporary(4);
    convert(builder, c, high, high_source);
    convert(builder, c, low, low_source);
    return builder.emit("join.b32", builder.destination(builder.operand(0), kB32), {low, high});
  }
  builder.expect_operands(2, 2);
  // Registers may be wider than the types, as in cvt.u32.u8.
  std::uint8_t from_bytes = 0, to_bytes = 0;
  const Ref a = builder.any_source(builder.operand(1), c.from, from_bytes);
  Ref d = builder.any_destination(builder.operand(0), to_bytes);
  if (d == kNoRef) d = builder.temporary(lane_bytes(c.to));
  convert(builder, c, d, a);
}

void decode_cvta(Builder& builder, Modifiers& modifiers) {
  const ptx::Type type = required_type(builder, modifiers);
  builder.set_class(OpClass::move);
  builder.expect_operands(2, 2);
  const bool to_space = modifiers.take("to");
  const std::string_view space = modifiers.take_one_of({"global", "const", "param", "shared", "shared::cta", "local"});
  if (space.empty() || type.bits != 64) builder.fail("needs a state space and addresses of 64 bits");
  const Ref a = builder.source(builder.operand(1), kB64);
  if (space == "global" || space == "const" || space == "param") {
    if (builder.bind(builder.operand(0), a)) return;
    return builder.emit("mov.b64", builder.destination(builder.operand(0), kB64), {a});
  }
  const std::uint64_t window = (space == "local" ? kLocalWindow : kSharedWindow) << kWindowShift;
  builder.emit(to_space ? "sub.u64" : "add.u64", builder.destination(builder.operand(0), kB64),
               {a, builder.constant(window, 8)});
}

void decode_isspacep(Builder& builder, Modifiers& modifiers) {
  builder.set_class(OpClass::compare);
  builder.expect_operands(2, 2);
  const std::string_view space = modifiers.take_one_of({"global", "shared", "shared::cta", "local"});
  const Ref a = builder.source(builder.operand(1), kB64);
  const Ref d = builder.destination(builder.operand(0), kPredicate);
  const Ref window = builder.temporary(8);
  builder.emit("shr.u64", window, {a, builder.constant(kWindowShift, 4)});
  if (space == "global") return builder.emit("setp.lt.u64", d, {window, builder.constant(kSharedWindow, 8)});
  if (space.empty()) builder.fail("knows the spaces global, shared and local only");
  builder.emit("setp.eq.u64", d, {window, builder.constant(space == "local" ? kLocalWindow : kSharedWindow, 8)});
}

}  // namespace softmax_dispatch::sim
