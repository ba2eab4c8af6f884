#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace softmax_dispatch::ptx {

/// One instruction of a PTX text. Registers are named as written ("%f12"); of a vector operand each register is listed.
struct Instruction {
  std::string guard;                ///< "%p1" of "@%p1 bra"; empty where it is not guarded.
  std::string opcode;               ///< "ld.global.v4.f32"
  std::vector<std::string> writes;  ///< Registers of the first operand, none for stores and branches.
  std::vector<std::string> reads;   ///< Registers of the other operands.

  bool is(const char* prefix) const { return opcode.rfind(prefix, 0) == 0; }
};

/// The instructions of the text, in order; labels, directives and comments are left out.
std::vector<Instruction> parse(const std::string& text);

/// Indices of the instructions whose opcode starts with the prefix.
std::vector<std::size_t> find(const std::vector<Instruction>& code, const char* prefix);

/// Registers whose value may depend on global memory, by any path.
std::set<std::string> depends_on_data(const std::vector<Instruction>& code);

/// Guarded branches whose guard may depend on global memory.
std::size_t data_dependent_branches(const std::vector<Instruction>& code);

/// Index of the first instruction, other than a move, that reads what instruction `load` wrote or a copy of it; the
/// size of the code where there is none. In the order of the text.
std::size_t first_use(const std::vector<Instruction>& code, std::size_t load);

}  // namespace softmax_dispatch::ptx
