#include "device/sim/program/decoders.hpp"

namespace softmax_dispatch::sim {
namespace {

using Kind = ptx::Type::Kind;

/// The predicate `result` becomes the comparison of operands 1 and 2.
void compare(Builder& builder, std::string_view comparison, ptx::Type type, bool flush, Ref result) {
  // Unsigned comparisons have names of their own.
  if (comparison == "lo") comparison = "lt";
  if (comparison == "ls") comparison = "le";
  if (comparison == "hi") comparison = "gt";
  if (comparison == "hs") comparison = "ge";
  Ref a = builder.source(builder.operand(1), type);
  Ref b = builder.source(builder.operand(2), type);
  if (flush && type.kind == Kind::real && type.bits == 32) {
    for (Ref* one : {&a, &b}) {
      const Ref made = builder.temporary(4);
      builder.emit("flush.f32", made, {*one});
      *one = made;
    }
  }
  builder.emit(row_name(builder, "setp." + std::string(comparison), type), result, {a, b});
}

/// The comparison and the boolean operation that the modifiers name.
struct Test {
  std::string_view comparison, combination;
  bool flush = false;
};

Test take_test(const Builder& builder, Modifiers& modifiers) {
  Test test;
  test.flush = modifiers.take("ftz");
  test.combination = modifiers.take_one_of({"and", "or", "xor"});
  test.comparison = modifiers.take_one_of({"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu",
                                           "ltu", "leu", "gtu", "geu", "num", "nan"});
  if (test.comparison.empty()) builder.fail("needs to know the comparison");
  return test;
}

}  // namespace

void decode_setp(Builder& builder, Modifiers& modifiers) {
  const ptx::Type type = required_type(builder, modifiers);
  const Test test = take_test(builder, modifiers);
  builder.set_class(OpClass::compare);
  builder.expect_operands(test.combination.empty() ? 3 : 4, test.combination.empty() ? 3 : 4);
  const ptx::Operand& out = builder.operand(0);
  const bool pair = out.kind == ptx::Operand::Kind::pair;
  if (!pair && test.combination.empty())
    return compare(builder, test.comparison, type, test.flush, builder.destination(out, kPredicate));
  Ref result = builder.temporary(4);
  compare(builder, test.comparison, type, test.flush, result);
  Ref opposite = kNoRef;
  if (pair) {
    opposite = builder.temporary(4);
    builder.emit("not.pred", opposite, {result});
  }
  if (!test.combination.empty()) {
    const Ref c = builder.source(builder.operand(3), kPredicate);
    for (Ref* one : {&result, &opposite}) {
      if (*one == kNoRef) continue;
      const Ref combined = builder.temporary(4);
      builder.emit(std::string(test.combination) + ".pred", combined, {*one, c});
      *one = combined;
    }
  }
  builder.emit("mov.pred", builder.destination(pair ? out.items[0] : out, kPredicate), {result});
  if (pair) builder.emit("mov.pred", builder.destination(out.items[1], kPredicate), {opposite});
}

void decode_set(Builder& builder, Modifiers& modifiers) {
  const ptx::Type type = required_type(builder, modifiers);    // the last one
  const ptx::Type result = required_type(builder, modifiers);  // the one before it
  const Test test = take_test(builder, modifiers);
  builder.set_class(OpClass::compare);
  builder.expect_operands(test.combination.empty() ? 3 : 4, test.combination.empty() ? 3 : 4);
  if (result.bits != 32) builder.fail("sets results of 32 bits only");
  Ref condition = builder.temporary(4);
  compare(builder, test.comparison, type, test.flush, condition);
  if (!test.combination.empty()) {
    const Ref c = builder.source(builder.operand(3), kPredicate);
    const Ref combined = builder.temporary(4);
    builder.emit(std::string(test.combination) + ".pred", combined, {condition, c});
    condition = combined;
  }
  const std::uint64_t yes = result.kind == Kind::real ? 0x3f800000 : 0xffffffff;
  builder.emit("selp.b32", builder.destination(builder.operand(0), result),
               {builder.constant(yes, 4), builder.constant(0, 4), condition});
}

void decode_selp(Builder& builder, Modifiers& modifiers) {
  const ptx::Type type = required_type(builder, modifiers);
  builder.set_class(OpClass::select);
  builder.expect_operands(4, 4);
  const Ref a = builder.source(builder.operand(1), type), b = builder.source(builder.operand(2), type);
  const Ref p = builder.source(builder.operand(3), kPredicate);
  builder.emit(bits_name("selp", type), builder.destination(builder.operand(0), type), {a, b, p});
}

void decode_testp(Builder& builder, Modifiers& modifiers) {
  const ptx::Type type = required_type(builder, modifiers);
  const std::string_view what =
      modifiers.take_one_of({"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
  builder.set_class(OpClass::compare);
  builder.expect_operands(2, 2);
  const Ref a = builder.source(builder.operand(1), type);
  builder.emit(row_name(builder, "testp." + std::string(what), type),
               builder.destination(builder.operand(0), kPredicate), {a});
}

}  // namespace softmax_dispatch::sim
