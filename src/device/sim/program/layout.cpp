// Where variables, parameters and special registers lie.
#include <algorithm>
#include <array>

#include "device/sim/program/builder.hpp"

namespace softmax_dispatch::sim {
namespace {

/// Unused bytes between two shared variables: an index a little out of range is then found.
constexpr std::uint64_t kSharedGap = 256;
constexpr std::uint64_t kMostShared = std::uint64_t{1} << 20;
constexpr std::uint64_t kMostLocal = std::uint64_t{1} << 19;

std::uint64_t align_up(std::uint64_t offset, std::uint64_t align) {
  return (offset + align - 1) / align * align;
}

struct NamedSpecial {
  std::string_view name;
  Special what;
};

constexpr std::array<NamedSpecial, 27> kSpecials{{
    {"%tid.x", Special::tid_x},
    {"%tid.y", Special::tid_y},
    {"%tid.z", Special::tid_z},
    {"%warpid", Special::warpid},
    {"%ctaid.x", Special::ctaid_x},
    {"%ctaid.y", Special::ctaid_y},
    {"%ctaid.z", Special::ctaid_z},
    {"%smid", Special::smid},
    {"%ntid.x", Special::ntid_x},
    {"%ntid.y", Special::ntid_y},
    {"%ntid.z", Special::ntid_z},
    {"%nctaid.x", Special::nctaid_x},
    {"%nctaid.y", Special::nctaid_y},
    {"%nctaid.z", Special::nctaid_z},
    {"%nwarpid", Special::nwarpid},
    {"%nsmid", Special::nsmid},
    {"%gridid", Special::gridid},
    {"%dynamic_smem_size", Special::dynamic_smem_size},
    {"%total_smem_size", Special::total_smem_size},
    {"%laneid", Special::laneid},
    {"%lanemask_eq", Special::lanemask_eq},
    {"%lanemask_lt", Special::lanemask_lt},
    {"%lanemask_le", Special::lanemask_le},
    {"%lanemask_gt", Special::lanemask_gt},
    {"%lanemask_ge", Special::lanemask_ge},
    {"%laneid.x", Special::laneid},
    {"%nwarpid.x", Special::nwarpid},
}};

}  // namespace

void Builder::lay_out_shared(const ptx::Variable& variable, std::uint64_t& offset) {
  if (variable.bytes == 0) {
    variable_offsets_.push_back(0);  // the dynamic array: behind all others, once those are known
    return;
  }
  offset = align_up(offset, variable.align);
  variable_offsets_.push_back(offset);
  program_.shared.push_back({static_cast<std::uint32_t>(offset), variable.bytes});
  offset += variable.bytes + kSharedGap;
  // Without the gaps, for the limit.
  program_.shared_static_bytes = static_cast<std::uint32_t>(align_up(program_.shared_static_bytes, variable.align) +
                                                            std::min(variable.bytes, kMostShared));
  if (program_.shared_static_bytes > kMostShared || offset > 4 * kMostShared) {
    throw_error(StatusCode::unsupported, "kernel {} declares more shared memory than any device has", program_.name);
  }
}

void Builder::lay_out_variables() {
  std::uint64_t shared = 0, local = 0;
  for (const ptx::Variable& variable : program_.module->variables) {
    if (variable.space == ptx::Space::shared) {
      lay_out_shared(variable, shared);
      module_addresses_.push_back(variable_offsets_.back());
      variable_offsets_.pop_back();
    } else {
      module_addresses_.push_back(0);  // asked for at the first use
    }
  }
  for (const ptx::Variable& variable : entry_.variables) {
    if (variable.space == ptx::Space::shared) {
      lay_out_shared(variable, shared);
      continue;
    }
    local = align_up(local, variable.align);
    variable_offsets_.push_back(local);
    local += std::min(variable.bytes, kMostLocal + 1);
    if (local > kMostLocal) {
      throw_error(StatusCode::unsupported, "kernel {} declares more than {} bytes of local memory", program_.name,
                  kMostLocal);
    }
  }
  program_.local_bytes = static_cast<std::uint32_t>(local);
  constexpr std::uint64_t kDynamicAlign = 1024;
  program_.shared_dynamic_offset = static_cast<std::uint32_t>(align_up(shared, kDynamicAlign));
  const auto place_dynamic = [&](const std::vector<ptx::Variable>& variables, std::vector<std::uint64_t>& offsets) {
    for (std::size_t i = 0; i < variables.size(); ++i) {
      if (variables[i].space == ptx::Space::shared && variables[i].bytes == 0)
        offsets[i] = program_.shared_dynamic_offset;
    }
  };
  place_dynamic(program_.module->variables, module_addresses_);
  place_dynamic(entry_.variables, variable_offsets_);
}

std::uint64_t Builder::variable_address(const ptx::Operand& operand) const {
  if (operand.kind == ptx::Operand::Kind::entry_variable) return variable_offsets_[operand.index];
  const ptx::Variable& variable = program_.module->variables[operand.index];
  return variable.space == ptx::Space::shared ? module_addresses_[operand.index] : address_of_(variable);
}

void Builder::lay_out_parameters() {
  constexpr std::uint64_t kMostParameters = 4096;
  std::uint64_t offset = 0;
  for (const ptx::Variable& one : entry_.params) {
    offset = align_up(offset, one.align);
    parameter_offsets_.push_back(static_cast<std::uint32_t>(offset));
    offset += std::min(one.bytes, kMostParameters + 1);
    if (offset > kMostParameters) {
      throw_error(StatusCode::unsupported, "kernel {} has parameters of more than {} bytes", program_.name,
                  kMostParameters);
    }
  }
  program_.parameter_bytes = static_cast<std::uint32_t>(offset);
  program_.parameter_count = static_cast<std::uint32_t>(entry_.params.size());
}

Ref Builder::parameter(const ptx::Operand& address, ParameterSlot wanted) {
  const ptx::Operand& base = address.items.at(0);
  if (base.kind != ptx::Operand::Kind::param) fail("reads parameters at constant addresses only");
  const std::int64_t inside = address.offset;
  const ptx::Variable& variable = entry_.params[base.index];
  if (inside < 0 || static_cast<std::uint64_t>(inside) + wanted.bytes > variable.bytes)
    fail(fmt::format("cannot read past the {} bytes of parameter {}", variable.bytes, variable.name));
  wanted.offset = parameter_offsets_[base.index] + static_cast<std::uint32_t>(inside);
  return pool_.parameter(wanted);
}

bool Builder::is_warp_special(Ref ref) const noexcept {
  const std::uint32_t number = ref >> 1;
  return (ref & kConstantBit) == 0 && number >= entry_.registers.size() &&
         number < entry_.registers.size() + kWarpSpecials;
}

std::optional<Ref> Builder::special(std::string_view name) {
  const auto found =
      std::find_if(kSpecials.begin(), kSpecials.end(), [&](const NamedSpecial& one) { return one.name == name; });
  if (found == kSpecials.end()) return std::nullopt;
  const auto index = static_cast<std::uint32_t>(found->what);
  if (index >= kWarpSpecials) return pool_.special(found->what);
  const Ref slot = register_ref(static_cast<std::uint32_t>(entry_.registers.size()) + index);
  const bool known = std::any_of(program_.warp_specials.begin(), program_.warp_specials.end(),
                                 [&](const SpecialSlot& one) { return one.what == found->what; });
  if (!known) program_.warp_specials.push_back({found->what, slot});
  return slot;
}

Program Builder::take(const std::vector<std::uint32_t>& segment_of_instruction) {
  Terminator finish{.kind = TerminatorKind::finish, .instruction = info_};
  push_segment(finish);
  for (Segment& segment : program_.segments) {
    const bool to_instruction = segment.end.kind == TerminatorKind::branch || segment.end.is_instruction;
    if (to_instruction) segment.end.target = segment_of_instruction[segment.end.target];
  }
  return std::move(program_);
}

}  // namespace softmax_dispatch::sim
