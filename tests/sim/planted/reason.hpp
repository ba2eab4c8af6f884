#pragma once

#include <string>

#include "jit/compiler.hpp"
#include "sim/sim_fixture.hpp"
#include "variants/registry.hpp"
#include "verify/verify.hpp"

namespace softmax_dispatch::sim {

/// The reason for which the configuration does not verify on a simulated device of the architecture, or the fault that
/// ended it; empty where it verifies.
inline std::string reason(const std::string& arch, const Registry& variants, const jit::Sources& sources,
                          const Config& config) {
  const Variant& variant = variants.at(config.variant);
  const jit::Compiler compiler(jit::Nvrtc::open(), sources, nullptr);
  DeviceInfo info = t4();
  info.limits = arch_limits(arch);
  SimDevice device(info, std::make_shared<OneMicrosecond>(), kOneThread);
  const auto kernel = device.load(
      compiler.compile_ptx(config.variant, variant.macros(config.dtype, config.constants), arch, true), config.variant);
  try {
    return verify::run(device, variant, config.dtype, config.constants, *kernel, verify::Depth::full).reason;
  } catch (const Fault& fault) {
    return fault.what();
  }
}

}  // namespace softmax_dispatch::sim
