#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace softmax_dispatch::sim::ptx {

/// A fundamental type: what its bits are, and how many.
struct Type {
  enum class Kind : std::uint8_t { untyped, unsigned_integer, signed_integer, real, brain, predicate };
  Kind kind = Kind::untyped;
  std::uint8_t bits = 0;  ///< 8 .. 64; 1 for predicates; 32 for the packed halves f16x2 and bf16x2.
  bool packed = false;

  friend bool operator==(const Type&, const Type&) = default;
};

/// The type of a name without its dot, e.g. "u32"; bits = 0 where there is none of that name.
Type parse_type(std::string_view name) noexcept;

enum class Space : std::uint8_t { none, reg, param, global, constant, shared, local };

/// A named array of bytes outside the registers.
struct Variable {
  std::string_view name;
  Space space = Space::none;
  std::uint32_t align = 1;
  std::uint64_t bytes = 0;           ///< 0 for an array without size: dynamic shared memory.
  std::vector<std::uint8_t> values;  ///< Initial bytes from the start; the rest is zero.
};

/// Where an instruction comes from, as a `.loc` directive says it.
struct SourceLine {
  std::uint32_t file = 0;
  std::uint32_t line = 0;
  std::int32_t inlined_at = -1;  ///< Index of the line of the call, or -1.
};

struct Operand {
  enum class Kind : std::uint8_t {
    none,
    reg,
    integer,
    real,
    module_variable,
    entry_variable,
    param,
    label,
    special,
    sink,
    vector,
    address,
    pair
  };
  Kind kind = Kind::none;
  bool negated = false;        ///< !%p1
  std::uint32_t index = 0;     ///< Register, variable of the module or the entry, parameter, instruction (label).
  std::uint64_t bits = 0;      ///< Integer value, or the bits of a real.
  std::uint8_t width = 0;      ///< Of a real: 32 or 64 as written 0f or 0d.
  std::int64_t offset = 0;     ///< Bytes, of an address or variable.
  std::string_view text;       ///< Name of a special register or label.
  std::vector<Operand> items;  ///< Elements of a vector; destinations of a pair p|q; the base of an address.
};

struct Instruction {
  std::string_view opcode;  ///< "ld.global.v4.f32"
  std::int32_t guard = -1;  ///< Register, or -1.
  bool guard_negated = false;
  std::vector<Operand> operands;
  std::uint32_t line = 0;    ///< In the PTX.
  std::int32_t source = -1;  ///< Index of Module::lines, or -1.
};

struct Register {
  std::string_view name;
  Type type;
};

/// One kernel. A label operand's `index` is that of the instruction that follows the label (or the end).
struct Entry {
  std::string_view name;
  std::uint32_t line = 0;
  std::vector<Variable> params;     ///< In order; their offsets follow from sizes and alignments.
  std::vector<Variable> variables;  ///< Declared inside it.
  std::vector<Register> registers;
  std::vector<Instruction> code;
  std::uint32_t max_threads = 0;  ///< .maxntid or .reqntid, 0 where there is none.
};

/// Everything read from one PTX text. Views point into `text`.
struct Module {
  std::unique_ptr<const std::string> text;
  std::string_view target;  ///< "sm_75"
  std::vector<Variable> variables;
  std::vector<Entry> entries;
  std::vector<std::pair<std::uint32_t, std::string_view>> files;
  std::vector<SourceLine> lines;

  /// "online.cuh:62 (inlined at name.cu:16)"; "PTX line 12" where the PTX has no line information.
  std::string describe(std::uint32_t ptx_line, std::int32_t source) const;
};

/// Reads PTX as NVRTC writes it. Throws Error(unsupported) with the line for anything else; never crashes on any text.
Module parse(std::string text);

}  // namespace softmax_dispatch::sim::ptx
