#pragma once

#include "device/sim/program/builder.hpp"
#include "device/sim/program/modifiers.hpp"

// One function per family of instructions: it takes the modifiers it knows, resolves the operands, and adds steps.
namespace softmax_dispatch::sim {

/// Operands and result of one type, as most arithmetic: add.rn.ftz.f32, min.s32, and.b32. The lane function is named
/// like the instruction without default modifiers; .ftz and .sat become steps of their own.
void decode_arithmetic(Builder& builder, Modifiers& modifiers);
void decode_multiply(Builder& builder, Modifiers& modifiers);     ///< mul, mad: also of integers
void decode_approximate(Builder& builder, Modifiers& modifiers);  ///< ex2.approx and its like
void decode_shift(Builder& builder, Modifiers& modifiers);
void decode_bit_count(Builder& builder, Modifiers& modifiers);   ///< popc, clz, bfind
void decode_bit_field(Builder& builder, Modifiers& modifiers);   ///< bfe, bfi
void decode_bit_triple(Builder& builder, Modifiers& modifiers);  ///< lop3, prmt, shf

void decode_setp(Builder& builder, Modifiers& modifiers);
void decode_set(Builder& builder, Modifiers& modifiers);
void decode_selp(Builder& builder, Modifiers& modifiers);
void decode_testp(Builder& builder, Modifiers& modifiers);

void decode_mov(Builder& builder, Modifiers& modifiers);
void decode_cvt(Builder& builder, Modifiers& modifiers);
void decode_cvta(Builder& builder, Modifiers& modifiers);
void decode_isspacep(Builder& builder, Modifiers& modifiers);

void decode_load(Builder& builder, Modifiers& modifiers);
void decode_store(Builder& builder, Modifiers& modifiers);
void decode_atomic(Builder& builder, Modifiers& modifiers);
void decode_fence(Builder& builder, Modifiers& modifiers);
void decode_grid_dependency(Builder& builder, Modifiers& modifiers);
void decode_hint(Builder& builder, Modifiers& modifiers);  ///< prefetch and its like: nothing happens
void decode_nanosleep(Builder& builder, Modifiers& modifiers);

void decode_copy(Builder& builder, Modifiers& modifiers);          ///< cp
void decode_cache_policy(Builder& builder, Modifiers& modifiers);  ///< createpolicy
void decode_copy_barrier(Builder& builder, Modifiers& modifiers);  ///< mbarrier

void decode_branch(Builder& builder, Modifiers& modifiers);
void decode_finish(Builder& builder, Modifiers& modifiers);  ///< ret, exit
void decode_trap(Builder& builder, Modifiers& modifiers);
void decode_barrier(Builder& builder, Modifiers& modifiers);  ///< bar, barrier
void decode_shuffle(Builder& builder, Modifiers& modifiers);
void decode_vote(Builder& builder, Modifiers& modifiers);
void decode_match(Builder& builder, Modifiers& modifiers);
void decode_activemask(Builder& builder, Modifiers& modifiers);

/// What all decoders share.
inline constexpr ptx::Type kPredicate{ptx::Type::Kind::predicate, 1};
inline constexpr ptx::Type kU32{ptx::Type::Kind::unsigned_integer, 32};
inline constexpr ptx::Type kB32{ptx::Type::Kind::untyped, 32};
inline constexpr ptx::Type kU64{ptx::Type::Kind::unsigned_integer, 64};

/// The name of the lane function `name` for the type, or for the unsigned or untyped one of its width where the sign
/// makes no difference. Throws where there is none.
std::string row_name(const Builder& builder, const std::string& name, const ptx::Type& type);
/// As untyped, of at least 32 bits: what moves and selections go by.
std::string bits_name(const std::string& name, const ptx::Type& type);
/// Of an operand [register + offset].
void set_address(Builder& builder, const ptx::Operand& operand, Access& access);
ptx::Type required_type(const Builder& builder, Modifiers& modifiers);
OpClass arithmetic_class(const ptx::Type& type);
inline std::uint8_t lane_bytes(const ptx::Type& type) {
  return type.bits == 64 ? 8 : 4;
}

}  // namespace softmax_dispatch::sim
