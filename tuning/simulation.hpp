#pragma once

#include <functional>

#include "device/sim/open.hpp"
#include "jit/compiler.hpp"

/// What the tuner does on a simulated device and nowhere else.
namespace softmax_dispatch::tuning {

/// Of a worker's device: its launches stay on the worker's own thread, since there is a worker for each core.
sim::SimOptions simulation_options();

/// Throws the device error that `again` meets with the kernel compiled anew with line information, on a simulated
/// device of its own: the same fault, but with file and line of the source. Returns where it meets none.
void throw_with_line(const jit::Compiler& compiler, const std::string& id, const Macros& macros,
                     const std::string& arch, const Resources& resources,
                     const std::function<void(sim::SimDevice& device, const LoadedKernel& kernel)>& again,
                     const sim::SimOptions& options = simulation_options());

}  // namespace softmax_dispatch::tuning
