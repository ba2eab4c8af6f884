#include "tuning/simulation.hpp"

namespace softmax_dispatch::tuning {

sim::SimOptions simulation_options() {
  return {.host_threads = 1};
}

void throw_with_line(const jit::Compiler& compiler, const std::string& id, const Macros& macros,
                     const std::string& arch, const Resources& resources,
                     const std::function<void(sim::SimDevice& device, const LoadedKernel& kernel)>& again,
                     const sim::SimOptions& options) {
  const std::string ptx = compiler.compile_ptx(id, macros, arch, true);
  const auto device = sim::open(arch, options);
  const auto kernel = device->load(ptx, id, resources);
  again(*device, *kernel);
}

}  // namespace softmax_dispatch::tuning
