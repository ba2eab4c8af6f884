#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "device/sim/program/pool.hpp"
#include "device/sim/program/program.hpp"
#include "support/error.hpp"

namespace softmax_dispatch::sim {

/// While a program is built, a register's Ref is twice its number; assign_slots() makes it an offset.
constexpr Ref register_ref(std::uint32_t number) {
  return number << 1;
}

/// A register that is written once, with a value that never changes, is that value everywhere.
using Bindings = std::unordered_map<std::uint32_t, Ref>;

/// Collects the steps of one kernel. The decoders of single instructions talk to it.
class Builder {
 public:
  /// `pool` and `bindings` may come from an earlier pass over the same entry.
  Builder(const std::shared_ptr<const ptx::Module>& module, const ptx::Entry& entry, const AddressOf& address_of,
          Pool& pool, Bindings& bindings);

  void begin(const ptx::Instruction& instruction);  ///< What follows belongs to it.
  const ptx::Instruction& instruction() const noexcept { return *instruction_; }
  const ptx::Operand& operand(std::size_t index) const;
  std::size_t operands() const noexcept { return instruction_->operands.size(); }
  void expect_operands(std::size_t least, std::size_t most) const;
  /// Throws Error(unsupported): what, the instruction, and its line.
  [[noreturn]] void fail(const std::string& what) const;

  /// Slot with the operand's value. A register must have the type's width.
  Ref source(const ptx::Operand& operand, ptx::Type type);
  /// The same for a register of any width; `lane_bytes` is set to 4 or 8.
  Ref any_source(const ptx::Operand& operand, ptx::Type type, std::uint8_t& lane_bytes);
  /// Slot to write. `_` gives a slot that nobody reads.
  Ref destination(const ptx::Operand& operand, ptx::Type type);
  /// The same for a register of any width; kNoRef for `_`.
  Ref any_destination(const ptx::Operand& operand, std::uint8_t& lane_bytes);
  Ref temporary(std::uint8_t lane_bytes);
  Ref constant(std::uint64_t bits, std::uint8_t lane_bytes) { return pool_.constant(bits, lane_bytes); }
  /// The value of a parameter at [name + offset].
  Ref parameter(const ptx::Operand& address, ParameterSlot wanted);
  /// None where there is no such register.
  std::optional<Ref> special(std::string_view name);

  /// Whether `value` never changes and the operand is a register that only this instruction writes: then the operand is
  /// that value from now on, and no step is needed.
  bool bind(const ptx::Operand& operand, Ref value);

  const lanes::Row* row(const std::string& name) const { return lanes_.find(name); }
  /// Adds a step that runs the lane function of that name; throws where there is none.
  void emit(const std::string& name, Ref d, std::initializer_list<Ref> sources, std::uint32_t extra = 0);
  void emit(const lanes::Row& row, Ref d, std::initializer_list<Ref> sources, std::uint32_t extra = 0);
  /// Adds a step of another kind.
  void emit(Op op);
  std::uint32_t add_access(const Access& access);
  std::uint32_t add_atomic(const Atomic& atomic);
  std::uint32_t add_copy(const BackgroundCopy& copy);
  void set_class(OpClass op_class);

  /// Ends the segment. The guard of the instruction becomes a branch around the terminator.
  void end_segment(Terminator terminator);
  void end_with_sync(const Sync& sync);
  /// A branch to a label; conditional where the instruction has a guard.
  void end_with_branch(std::uint32_t target_instruction);
  /// The next instruction may be jumped to.
  void start_segment();
  std::size_t segment_count() const noexcept { return program_.segments.size(); }

  /// Per register, temporaries too: bytes of a lane.
  const std::vector<std::uint8_t>& widths() const noexcept { return widths_; }
  /// The program, with branches to instructions resolved; its registers have no slots yet.
  Program take(const std::vector<std::uint32_t>& segment_of_instruction);
  const ptx::Entry& entry() const noexcept { return entry_; }

 private:
  Ref register_of(std::uint32_t number) const;
  Ref guard_of(const ptx::Instruction& instruction);
  std::uint64_t variable_address(const ptx::Operand& operand) const;
  void check_width(const ptx::Operand& operand, ptx::Type type) const;
  bool is_warp_special(Ref ref) const noexcept;
  void count_writes();
  void lay_out_shared(const ptx::Variable& variable, std::uint64_t& offset);
  void lay_out_variables();
  void lay_out_parameters();
  void push_segment(Terminator terminator);

  const ptx::Entry& entry_;
  const AddressOf& address_of_;
  Pool& pool_;
  Bindings& bindings_;
  const lanes::Table& lanes_;
  Program program_;
  std::vector<std::uint32_t> writes_;  ///< Per register of the entry: how many instructions write it.
  std::vector<std::uint8_t> widths_;
  std::vector<std::uint64_t> variable_offsets_;
  std::vector<std::uint64_t> module_addresses_;
  std::vector<std::uint32_t> parameter_offsets_;
  std::map<std::string, std::uint32_t, std::less<>> opcodes_;
  const ptx::Instruction* instruction_ = nullptr;
  Ref guard_ = kNoRef;
  std::uint32_t info_ = 0;
  std::uint32_t segment_begin_ = 0;
  std::vector<std::uint32_t> segment_counted_;
  bool guard_counted_ = false;
};

}  // namespace softmax_dispatch::sim
