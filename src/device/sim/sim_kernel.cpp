#include "device/sim/sim_kernel.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "support/error.hpp"

namespace softmax_dispatch::sim {
namespace {

std::uint64_t next_id() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

/// The first of x, y, M, N and workspace, of 8 bytes each, and phase and parts, of 4.
void check_parameters(const Program& program) {
  constexpr std::uint32_t kWide = 5, kParameters = 7;
  const std::uint32_t count = program.parameter_count;
  const std::uint32_t wide = std::min(count, kWide);
  if (count <= kParameters && program.parameter_bytes == 8 * wide + 4 * (count - wide)) return;
  throw_error(
      StatusCode::device,
      "kernel {} has {} parameters of {} bytes; it must have the first ones of (const T* x, T* y, int64 M, int64 "
      "N, void* workspace, int phase, int parts)",
      program.name, count, program.parameter_bytes);
}

}  // namespace

SimKernel::SimKernel(std::shared_ptr<Memory> memory, std::string_view image, const std::string& entry,
                     const Resources& resources)
    : memory_(std::move(memory)), resources_(resources), id_(next_id()) {
  const auto module = std::make_shared<const ptx::Module>(ptx::parse(std::string(image)));
  try {
    program_ = decode(module, entry, [this](const ptx::Variable& variable) { return place(variable); });
    check_parameters(*program_);
  } catch (...) {
    for (const auto& [name, pointer] : variables_) memory_->release(pointer);
    throw;
  }
}

SimKernel::~SimKernel() {
  for (const auto& [name, pointer] : variables_) memory_->release(pointer);
}

const Schedule& SimKernel::schedule(const InstructionCosts& costs) const {
  std::call_once(scheduled_, [&] { schedule_ = std::make_unique<const Schedule>(*program_, costs); });
  return *schedule_;
}

/// Variables of the module exist once a load, and only those that the kernel names.
std::uint64_t SimKernel::place(const ptx::Variable& variable) {
  const auto known = variables_.find(variable.name);
  if (known != variables_.end()) return known->second;
  const DevicePtr pointer = memory_->allocate(variable.bytes, "variable " + std::string(variable.name));
  variables_.emplace(variable.name, pointer);
  memory_->fill(pointer, 0, variable.bytes);
  memory_->upload(pointer, variable.values.data(), variable.values.size());
  return pointer;
}

}  // namespace softmax_dispatch::sim
