#include "device/sim/program/decoders.hpp"

namespace softmax_dispatch::sim {
namespace {

using Kind = ptx::Type::Kind;
using Operand = ptx::Operand;

/// A predicate source, which may be negated.
Ref predicate_source(Builder& builder, const Operand& operand) {
  return builder.source(operand, kPredicate);
}

/// bar.red: an operation on a predicate of every thread.
void reduction(Builder& builder, Modifiers& modifiers, Sync& sync) {
  const std::string_view operation = modifiers.take_one_of({"popc", "and", "or"});
  const ptx::Type type = required_type(builder, modifiers);
  sync.mode = operation == "popc"  ? SyncMode::barrier_count
              : operation == "and" ? SyncMode::barrier_all
                                   : SyncMode::barrier_any;
  if (operation.empty() || (operation == "popc") != (type == kU32))
    builder.fail("needs .popc.u32, .and.pred or .or.pred");
  builder.expect_operands(3, 4);
  sync.source = predicate_source(builder, builder.operand(builder.operands() - 1));
  sync.result = builder.destination(builder.operand(0), type);
}

void warp_barrier(Builder& builder, Modifiers& modifiers) {
  modifiers.take("sync");
  builder.set_class(OpClass::warp_barrier);
  builder.expect_operands(1, 1);
  Sync sync;
  sync.mask = builder.source(builder.operand(0), kB32);
  builder.end_with_sync(sync);
}

}  // namespace

void decode_branch(Builder& builder, Modifiers& modifiers) {
  modifiers.take("uni");
  builder.set_class(OpClass::branch);
  builder.expect_operands(1, 1);
  if (builder.operand(0).kind != Operand::Kind::label) builder.fail("branches to labels only");
  builder.end_with_branch(builder.operand(0).index);
}

void decode_finish(Builder& builder, Modifiers& modifiers) {
  modifiers.take("uni");
  builder.set_class(OpClass::other);
  builder.expect_operands(0, 0);
  builder.end_segment({.kind = TerminatorKind::finish});
}

void decode_trap(Builder& builder, Modifiers& /*modifiers*/) {
  builder.set_class(OpClass::other);
  builder.expect_operands(0, 0);
  builder.end_segment({.kind = TerminatorKind::trap});
}

void decode_barrier(Builder& builder, Modifiers& modifiers) {
  if (modifiers.take("warp")) return warp_barrier(builder, modifiers);
  if (modifiers.has("cluster")) builder.fail("does not support this instruction");
  modifiers.take("cta");
  builder.set_class(OpClass::barrier);
  Sync sync;
  sync.kind = SyncKind::barrier;
  sync.aligned = modifiers.base() == "bar" || modifiers.take("aligned");
  const bool reduces = modifiers.take("red");
  std::size_t first = 0, last = builder.operands();
  if (reduces) {
    reduction(builder, modifiers, sync);
    first = 1;
    --last;
  } else if (modifiers.take("arrive")) {
    sync.mode = SyncMode::barrier_arrive;
    builder.expect_operands(2, 2);
  } else if (modifiers.take("sync")) {
    sync.mode = SyncMode::barrier_sync;
    builder.expect_operands(1, 2);
  } else {
    builder.fail("needs .sync, .arrive or .red");
  }
  sync.b = builder.source(builder.operand(first), kU32);
  if (last - first == 2) sync.c = builder.source(builder.operand(first + 1), kU32);
  builder.end_with_sync(sync);
}

void decode_shuffle(Builder& builder, Modifiers& modifiers) {
  if (!modifiers.take("sync")) builder.fail("does not support shuffles without .sync");
  const ptx::Type type = required_type(builder, modifiers);
  builder.set_class(OpClass::shuffle);
  builder.expect_operands(5, 5);
  const std::string_view mode = modifiers.take_one_of({"up", "down", "bfly", "idx"});
  if (mode.empty() || type.bits != 32) builder.fail("shuffles 32 bits, by .up, .down, .bfly or .idx");
  Sync sync;
  sync.kind = SyncKind::shuffle;
  sync.mode = mode == "up"     ? SyncMode::shuffle_up
              : mode == "down" ? SyncMode::shuffle_down
              : mode == "bfly" ? SyncMode::shuffle_butterfly
                               : SyncMode::shuffle_index;
  sync.source = builder.source(builder.operand(1), type);
  sync.b = builder.source(builder.operand(2), kB32);
  sync.c = builder.source(builder.operand(3), kB32);
  sync.mask = builder.source(builder.operand(4), kB32);
  const Operand& out = builder.operand(0);
  const bool pair = out.kind == Operand::Kind::pair;
  sync.result = builder.destination(pair ? out.items[0] : out, type);
  if (pair) sync.predicate = builder.destination(out.items[1], kPredicate);
  builder.end_with_sync(sync);
}

void decode_vote(Builder& builder, Modifiers& modifiers) {
  if (!modifiers.take("sync")) builder.fail("does not support votes without .sync");
  const ptx::Type type = required_type(builder, modifiers);
  builder.set_class(OpClass::vote);
  builder.expect_operands(3, 3);
  const std::string_view mode = modifiers.take_one_of({"all", "any", "uni", "ballot"});
  if (mode.empty() || (mode == "ballot" ? type.bits != 32 : type.bits != 1))
    builder.fail("needs .all.pred, .any.pred, .uni.pred or .ballot.b32");
  Sync sync;
  sync.kind = SyncKind::vote;
  sync.mode = mode == "all"   ? SyncMode::vote_all
              : mode == "any" ? SyncMode::vote_any
              : mode == "uni" ? SyncMode::vote_uniform
                              : SyncMode::vote_ballot;
  sync.source = predicate_source(builder, builder.operand(1));
  sync.mask = builder.source(builder.operand(2), kB32);
  sync.result = builder.destination(builder.operand(0), type);
  builder.end_with_sync(sync);
}

void decode_match(Builder& builder, Modifiers& modifiers) {
  if (!modifiers.take("sync")) builder.fail("does not support matches without .sync");
  const ptx::Type type = required_type(builder, modifiers);
  builder.set_class(OpClass::vote);
  builder.expect_operands(3, 3);
  const std::string_view mode = modifiers.take_one_of({"any", "all"});
  if (mode.empty() || (type.bits != 32 && type.bits != 64)) builder.fail("needs .any or .all, and .b32 or .b64");
  Sync sync;
  sync.kind = SyncKind::match;
  sync.mode = mode == "any" ? SyncMode::match_any : SyncMode::match_all;
  sync.source = builder.source(builder.operand(1), type);
  sync.source_bytes = lane_bytes(type);
  sync.mask = builder.source(builder.operand(2), kB32);
  const Operand& out = builder.operand(0);
  const bool pair = out.kind == Operand::Kind::pair;
  sync.result = builder.destination(pair ? out.items[0] : out, kB32);
  if (pair) sync.predicate = builder.destination(out.items[1], kPredicate);
  builder.end_with_sync(sync);
}

void decode_activemask(Builder& builder, Modifiers& modifiers) {
  required_type(builder, modifiers);
  builder.set_class(OpClass::vote);
  builder.expect_operands(1, 1);
  Sync sync;
  sync.kind = SyncKind::activemask;
  sync.result = builder.destination(builder.operand(0), kB32);
  builder.end_with_sync(sync);
}

}  // namespace softmax_dispatch::sim
