#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace softmax_dispatch::sim::lanes {

inline constexpr int kLanes = 32;

/// Bytes of a register of up to 32 bits for a whole warp: 32 words, one per lane. A 64-bit register takes two of these,
/// as 32 double words. Values of 8 and 16 bits stand in the low bits of their word; a predicate's word is all ones or
/// zero.
inline constexpr std::size_t kSlotBytes = 128;

/// Computes an instruction for all 32 lanes. Operands are slots aligned to 64 bytes; d may be one of the sources, and
/// then is exactly that slot. Total: every input gives some value, since inactive lanes hold anything.
using LaneFn = void (*)(std::byte* d, const std::byte* a, const std::byte* b, const std::byte* c, std::uint32_t extra);

/// Float rounding, and the same towards integers, as `extra` of the conversions gives them.
enum class Round : std::uint32_t { nearest = 0, zero = 1, down = 2, up = 3 };
inline constexpr std::uint32_t kSaturate = 4;  ///< Flag in `extra`: clamp to the destination's range, floats to [0, 1].
inline constexpr std::uint32_t kToInteger = 8;  ///< Flag in `extra`: a float rounded to an integral float.

/// One instruction as it is spelled in PTX without modifiers that are the default, e.g. "add.u32", "fma.rm.f32".
/// Integer instructions that do not depend on the sign are spelled unsigned, or untyped (b32) where PTX has that.
struct Row {
  LaneFn function = nullptr;
  /// Bytes per lane of d, a, b, c: 4 or 8; 0 where there is no such operand.
  std::array<std::uint8_t, 4> bytes{};
};

/// The same few functions over whole warps that the interpreter needs itself.
struct Helpers {
  void (*blend32)(std::byte* d, const std::byte* from, const std::uint32_t* mask) = nullptr;  ///< Lanes with mask set.
  void (*blend64)(std::byte* d, const std::byte* from, const std::uint32_t* mask) = nullptr;
  void (*expand)(std::uint32_t bits, std::uint32_t* mask) = nullptr;  ///< Bit i to all ones or zero.
  std::uint32_t (*pack)(const std::byte* predicate) = nullptr;        ///< Nonzero words to bits.
  /// Whether address i is the first plus i * step for all 32 lanes.
  bool (*strided)(const std::uint64_t* addresses, std::uint64_t step) = nullptr;
};

/// Every lane function for one instruction set of the host.
class Table {
 public:
  /// Null where there is none of that name.
  const Row* find(std::string_view name) const noexcept;
  void put(const std::string& name, const Row& row);
  const std::map<std::string, Row, std::less<>>& rows() const noexcept { return rows_; }

  Helpers helpers;

 private:
  std::map<std::string, Row, std::less<>> rows_;
};

/// The fastest that this processor runs. Results do not depend on which it is.
const Table& table();
/// For any x86-64 or other processor.
const Table& portable_table();

}  // namespace softmax_dispatch::sim::lanes
