#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/sim/sim_device.hpp"
#include "jit/compiler.hpp"

namespace softmax_dispatch::sim {

/// A microsecond for each launch or copy: for tests that are not about time.
class OneMicrosecond : public TimingModel {
 public:
  ModelledTime launch(const TimedLaunch& /*launch*/) const override { return {1.0, "launch", {{"launch", 1.0}}}; }
  double copy_us(const DeviceInfo& /*device*/, std::size_t /*bytes*/, std::int64_t /*between*/) const override {
    return 1.0;
  }
};

inline DeviceInfo t4() {
  DeviceInfo info;
  info.name = "Tesla T4";
  info.arch = "sm_75";
  info.sm_count = 40;
  info.l2_bytes = 4 << 20;
  info.memory_bytes = std::int64_t{15360} << 20;
  info.memory_bus_bits = 256;
  info.sm_clock_khz = 1590000;
  info.memory_clock_khz = 5001000;
  info.limits = arch_limits("sm_75");
  return info;
}

/// For what takes seconds: ctest gives the cores to other tests, and blocks that wait for those of a thread that does
/// not run wait long.
inline constexpr SimOptions kOneThread{.host_threads = 1};

inline std::unique_ptr<SimDevice> simulated_t4(const SimOptions& options = {}) {
  return std::make_unique<SimDevice>(t4(), std::make_shared<OneMicrosecond>(), options);
}

/// PTX of a kernel of the product for the T4.
inline std::string product_ptx(const std::string& id, const Macros& macros) {
  const jit::Compiler compiler(jit::Nvrtc::open(), jit::Sources::product(), nullptr);
  return compiler.compile_ptx(id, macros, "sm_75");
}

/// PTX of CUDA source with line information. The file is called "test.cu".
inline std::string line_info_ptx(const std::string& source, std::vector<std::string> options = {}) {
  options.insert(options.end(), {"-std=c++17", "-lineinfo", "--no-source-include"});
  return jit::Nvrtc::open()->compile("test", source, jit::Sources::product().headers(), "compute_75", options).image;
}

}  // namespace softmax_dispatch::sim
