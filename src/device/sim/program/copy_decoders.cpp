// Copies in the background, and the barriers in shared memory on which they complete.
#include "device/sim/program/decoders.hpp"

namespace softmax_dispatch::sim {
namespace {

using ptx::Space;

Access address_in(Builder& builder, std::size_t operand, Space space) {
  Access access;
  access.space = space;
  set_address(builder, builder.operand(operand), access);
  return access;
}

void take_shared(Builder& builder, Modifiers& modifiers) {
  if (modifiers.take_one_of({"shared", "shared::cta", "shared::cluster"}).empty())
    builder.fail("is supported in shared memory alone");
}

void emit_copy(Builder& builder, const BackgroundCopy& copy) {
  Op op;
  op.kind = OpKind::copy;
  op.extra = builder.add_copy(copy);
  builder.emit(op);
}

}  // namespace

void decode_copy(Builder& builder, Modifiers& modifiers) {
  builder.set_class(OpClass::global_load);
  if (!modifiers.take("async")) builder.fail("does not support copies without .async");
  BackgroundCopy copy;
  if (modifiers.take("wait_all")) {
    builder.set_class(OpClass::other);
    builder.expect_operands(0, 0);
    copy.kind = CopyKind::wait_vectors;
    return emit_copy(builder, copy);
  }
  const bool bulk = modifiers.take("bulk");
  take_shared(builder, modifiers);
  if (!modifiers.take("global")) builder.fail("copies from global memory alone");
  if (bulk) {
    copy.kind = CopyKind::bulk;
    if (!modifiers.take("mbarrier::complete_tx::bytes")) builder.fail("needs .mbarrier::complete_tx::bytes");
    const std::size_t operands = modifiers.take("L2::cache_hint") ? 5 : 4;
    builder.expect_operands(operands, operands);
    copy.barrier = address_in(builder, 3, Space::shared);
  } else {
    if (modifiers.take_one_of({"ca", "cg"}).empty()) builder.fail("needs .ca or .cg");
    builder.expect_operands(3, 3);
  }
  copy.to = address_in(builder, 0, Space::shared);
  copy.from = address_in(builder, 1, Space::global);
  copy.value = builder.source(builder.operand(2), kU32);
  emit_copy(builder, copy);
}

/// What says how long the caches keep something; there are none here.
void decode_cache_policy(Builder& builder, Modifiers& modifiers) {
  if (!modifiers.take("fractional") || modifiers.take_one_of({"L2::evict_first", "L2::evict_last"}).empty())
    builder.fail("needs .fractional and .L2::evict_first or .L2::evict_last");
  if (required_type(builder, modifiers).bits != 64) builder.fail("is of 64 bits");
  builder.set_class(OpClass::move);
  builder.expect_operands(2, 2);
  builder.emit("mov.b64", builder.destination(builder.operand(0), kU64), {builder.constant(0, 8)});
}

void decode_copy_barrier(Builder& builder, Modifiers& modifiers) {
  builder.set_class(OpClass::other);
  BackgroundCopy copy;
  std::size_t barrier = 1;
  bool has_value = true;
  if (modifiers.take("init")) {
    copy.kind = CopyKind::barrier_init;
    barrier = 0;
  } else if (modifiers.take("arrive")) {
    copy.kind = CopyKind::barrier_arrive;
    has_value = modifiers.take("expect_tx");
    modifiers.take("release");
    modifiers.take("cta");
  } else if (!modifiers.take_one_of({"try_wait", "test_wait"}).empty()) {
    copy.kind = CopyKind::barrier_wait;
    if (!modifiers.take("parity")) builder.fail("needs .parity");
    modifiers.take("acquire");
    modifiers.take("cta");
  } else {
    builder.fail("needs .init, .arrive, .try_wait or .test_wait");
  }
  take_shared(builder, modifiers);
  if (required_type(builder, modifiers).bits != 64) builder.fail("is of 64 bits");
  const std::size_t operands = barrier + (has_value ? 2 : 1);
  builder.expect_operands(operands, operands);
  copy.barrier = address_in(builder, barrier, Space::shared);
  copy.value = has_value ? builder.source(builder.operand(barrier + 1), kU32) : builder.constant(0, 4);
  if (copy.kind == CopyKind::barrier_wait) copy.result = builder.destination(builder.operand(0), kPredicate);
  emit_copy(builder, copy);
}

}  // namespace softmax_dispatch::sim
