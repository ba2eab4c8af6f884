#include <vector>

#include "device/sim/program/decoders.hpp"

namespace softmax_dispatch::sim {
namespace {

using Kind = ptx::Type::Kind;

constexpr ptx::Type kHalf{Kind::real, 16};

bool is_f32(const ptx::Type& type) {
  return type.kind == Kind::real && type.bits == 32 && !type.packed;
}

/// What the modifiers of an arithmetic instruction ask for besides the operation.
struct Wishes {
  bool flush = false, saturate = false;
};

/// ".rz" and the like; empty for the default, to the nearest.
std::string rounding(Modifiers& modifiers) {
  const std::string_view mode = modifiers.take_one_of({"rn", "rz", "rm", "rp"});
  return mode.empty() || mode == "rn" ? "" : "." + std::string(mode);
}

Ref flushed(Builder& builder, Ref value) {
  const Ref made = builder.temporary(4);
  builder.emit("flush.f32", made, {value});
  return made;
}

/// d = name(sources), with the steps that .ftz and .sat add.
void apply(Builder& builder, const std::string& name, const ptx::Type& type, Ref d, std::vector<Ref> sources,
           Wishes wishes) {
  if (wishes.flush && is_f32(type)) {
    const std::string whole = name + ".ftz" + suffix(type);
    if (builder.row(whole) != nullptr && sources.size() == 1) return builder.emit(whole, d, {sources[0]});
    for (Ref& one : sources) one = flushed(builder, one);
  }
  const Ref result = (wishes.flush && is_f32(type)) || wishes.saturate ? builder.temporary(lane_bytes(type)) : d;
  const std::string full = row_name(builder, name, type);
  if (sources.size() == 1) builder.emit(full, result, {sources[0]});
  if (sources.size() == 2) builder.emit(full, result, {sources[0], sources[1]});
  if (sources.size() == 3) builder.emit(full, result, {sources[0], sources[1], sources[2]});
  if (result == d) return;
  const bool both = wishes.flush && is_f32(type) && wishes.saturate;
  const Ref clamped = both ? builder.temporary(4) : d;
  if (wishes.saturate) builder.emit("saturate" + suffix(type), clamped, {result});
  if (wishes.flush && is_f32(type)) builder.emit("flush.f32", d, {both ? clamped : result});
}

/// The same for packed halves: once for the low ones, once for the high ones.
void apply_packed(Builder& builder, const std::string& name, Ref d, const std::vector<Ref>& sources, Wishes wishes) {
  std::vector<Ref> low, high;
  for (const Ref source : sources) {
    low.push_back(builder.temporary(4));
    high.push_back(builder.temporary(4));
    builder.emit("low.b16", low.back(), {source});
    builder.emit("high.b16", high.back(), {source});
  }
  const Ref low_result = builder.temporary(4), high_result = builder.temporary(4);
  apply(builder, name, kHalf, low_result, low, wishes);
  apply(builder, name, kHalf, high_result, high, wishes);
  builder.emit("join.b32", d, {low_result, high_result});
}

void same_type(Builder& builder, const std::string& name, const ptx::Type& type, Wishes wishes) {
  builder.expect_operands(2, 4);
  std::vector<Ref> sources;
  const bool packed_half = type.packed && type.kind == Kind::real;
  const ptx::Type slot_type = type.packed ? kB32 : type;
  for (std::size_t i = 1; i < builder.operands(); ++i) sources.push_back(builder.source(builder.operand(i), slot_type));
  const Ref d = builder.destination(builder.operand(0), slot_type);
  if (type.packed && !packed_half) builder.fail("does not support packed operands of this type");
  if (packed_half) return apply_packed(builder, name, d, sources, wishes);
  apply(builder, name, type, d, sources, wishes);
}

}  // namespace

std::string suffix(const ptx::Type& type) {
  if (type.bits == 1) return ".pred";
  const char* kind = type.kind == Kind::unsigned_integer ? "u"
                     : type.kind == Kind::signed_integer ? "s"
                     : type.kind == Kind::real           ? "f"
                     : type.kind == Kind::brain          ? "bf"
                                                         : "b";
  return fmt::format(".{}{}", kind, type.bits);
}

std::string row_name(const Builder& builder, const std::string& name, const ptx::Type& type) {
  const std::string exact = name + suffix(type);
  if (builder.row(exact) != nullptr) return exact;
  if (type.kind != Kind::real && type.kind != Kind::brain && type.bits > 1) {
    for (const Kind kind : {Kind::unsigned_integer, Kind::untyped}) {
      const std::string other = name + suffix({kind, type.bits});
      if (builder.row(other) != nullptr) return other;
    }
  }
  builder.fail("does not support this instruction");
}

std::string bits_name(const std::string& name, const ptx::Type& type) {
  return name + (type.bits == 64 ? ".b64" : ".b32");
}

ptx::Type required_type(const Builder& builder, Modifiers& modifiers) {
  const ptx::Type type = modifiers.take_type();
  if (type.bits == 0) builder.fail("needs to know the type of the operands");
  return type;
}

OpClass arithmetic_class(const ptx::Type& type) {
  if (type.kind == Kind::brain || (type.kind == Kind::real && (type.bits == 16 || type.packed))) return OpClass::fp16;
  if (type.kind == Kind::real) return type.bits == 64 ? OpClass::fp64 : OpClass::fp32;
  return type.bits == 1 ? OpClass::compare : OpClass::integer;
}

void decode_arithmetic(Builder& builder, Modifiers& modifiers) {
  const ptx::Type type = required_type(builder, modifiers);
  std::string name(modifiers.base());
  name += rounding(modifiers);
  if (modifiers.take("NaN")) name += ".NaN";
  const bool integer_saturation = type.kind == Kind::signed_integer && modifiers.take("sat");
  if (integer_saturation) name += ".sat";
  Wishes wishes;
  wishes.flush = modifiers.take("ftz");
  wishes.saturate = modifiers.take("sat");
  const bool special = is_f32(type) && (name.starts_with("div") || name.starts_with("rcp") || name.starts_with("sqrt"));
  if (special || type.bits == 64) modifiers.take_one_of({"approx", "full"});
  builder.set_class(special ? OpClass::special_function : arithmetic_class(type));
  same_type(builder, name, type, wishes);
}

void decode_multiply(Builder& builder, Modifiers& modifiers) {
  const ptx::Type type = required_type(builder, modifiers);
  builder.set_class(arithmetic_class(type));
  const bool multiply_add = modifiers.base() == "mad";
  if (type.kind == Kind::real) {
    const std::string name = (multiply_add ? "fma" : "mul") + rounding(modifiers);
    Wishes wishes;
    wishes.flush = modifiers.take("ftz");
    wishes.saturate = modifiers.take("sat");
    return same_type(builder, name, type, wishes);
  }
  const std::string_view part = modifiers.take_one_of({"lo", "hi", "wide"});
  if (part.empty()) builder.fail("needs .lo, .hi or .wide");
  builder.expect_operands(multiply_add ? 4 : 3, multiply_add ? 4 : 3);
  const std::string name = row_name(builder, "mul." + std::string(part), type);
  ptx::Type result = type;
  if (part == "wide") result.bits = static_cast<std::uint8_t>(2 * type.bits);
  const Ref a = builder.source(builder.operand(1), type), b = builder.source(builder.operand(2), type);
  const Ref d = builder.destination(builder.operand(0), result);
  if (!multiply_add) return builder.emit(name, d, {a, b});
  const Ref c = builder.source(builder.operand(3), result);
  const Ref product = builder.temporary(lane_bytes(result));
  builder.emit(name, product, {a, b});
  builder.emit(row_name(builder, "add", result), d, {product, c});
}

void decode_approximate(Builder& builder, Modifiers& modifiers) {
  const ptx::Type type = required_type(builder, modifiers);
  builder.set_class(OpClass::special_function);
  modifiers.take("approx");
  Wishes wishes;
  wishes.flush = modifiers.take("ftz");
  same_type(builder, std::string(modifiers.base()), type, wishes);
}

void decode_shift(Builder& builder, Modifiers& modifiers) {
  const ptx::Type type = required_type(builder, modifiers);
  builder.set_class(OpClass::integer);
  builder.expect_operands(3, 3);
  const Ref a = builder.source(builder.operand(1), type), n = builder.source(builder.operand(2), kU32);
  const Ref d = builder.destination(builder.operand(0), type);
  builder.emit(row_name(builder, std::string(modifiers.base()), type), d, {a, n});
}

void decode_bit_count(Builder& builder, Modifiers& modifiers) {
  const ptx::Type type = required_type(builder, modifiers);
  builder.set_class(OpClass::integer);
  builder.expect_operands(2, 2);
  const Ref a = builder.source(builder.operand(1), type);
  builder.emit(row_name(builder, std::string(modifiers.base()), type), builder.destination(builder.operand(0), kU32),
               {a});
}

void decode_bit_field(Builder& builder, Modifiers& modifiers) {
  const ptx::Type type = required_type(builder, modifiers);
  builder.set_class(OpClass::integer);
  const bool insert = modifiers.base() == "bfi";
  builder.expect_operands(insert ? 5 : 4, insert ? 5 : 4);
  const std::size_t at = insert ? 3 : 2;
  const Ref a = builder.source(builder.operand(1), type);
  const Ref position = builder.source(builder.operand(at), kU32),
            length = builder.source(builder.operand(at + 1), kU32);
  const Ref d = builder.destination(builder.operand(0), type);
  if (!insert) return builder.emit(row_name(builder, "bfe", type), d, {a, position, length});
  const Ref base = builder.source(builder.operand(2), type);
  const Ref mask = builder.temporary(lane_bytes(type)), field = builder.temporary(lane_bytes(type));
  builder.emit(row_name(builder, "bfi.mask", type), mask, {position, length});
  builder.emit(row_name(builder, "shl.field", type), field, {a, position});
  builder.emit(row_name(builder, "bfi.merge", type), d, {mask, field, base});
}

void decode_bit_triple(Builder& builder, Modifiers& modifiers) {
  builder.set_class(OpClass::integer);
  const bool lookup = modifiers.base() == "lop3";
  builder.expect_operands(lookup ? 5 : 4, lookup ? 5 : 4);
  std::string name(modifiers.base());
  for (const std::string_view part : modifiers.rest()) name += "." + std::string(part);
  modifiers.take_all([](std::string_view) { return true; });
  Ref sources[3];
  for (std::size_t i = 0; i < 3; ++i) sources[i] = builder.source(builder.operand(i + 1), kB32);
  std::uint32_t table = 0;
  if (lookup) {
    const ptx::Operand& last = builder.operand(4);
    if (last.kind != ptx::Operand::Kind::integer || last.bits > 255) builder.fail("needs a table of 8 bits");
    table = static_cast<std::uint32_t>(last.bits);
  }
  builder.emit(name, builder.destination(builder.operand(0), kB32), {sources[0], sources[1], sources[2]}, table);
}

}  // namespace softmax_dispatch::sim
