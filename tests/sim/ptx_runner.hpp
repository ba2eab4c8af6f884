#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/sim/exec/launch.hpp"
#include "device/sim/memory.hpp"
#include "device/sim/program/program.hpp"

namespace softmax_dispatch::sim {

/// Memory and launches without a device around them: for kernels with any parameters.
class PtxRunner {
 public:
  RunOptions options;
  std::uint32_t dynamic_shared_bytes = 0;
  Memory memory{std::int64_t{1} << 32};

  /// The program of the only kernel in the text.
  std::shared_ptr<const Program> decode(const std::string& text) {
    const auto module = std::make_shared<const ptx::Module>(ptx::parse(text));
    std::map<std::string_view, DevicePtr> places;
    return sim::decode(module, std::string(module->entries.at(0).name), [&](const ptx::Variable& variable) {
      DevicePtr& at = places[variable.name];
      if (at != 0) return at;
      at = memory.allocate(variable.bytes, std::string(variable.name));
      memory.fill(at, 0, variable.bytes);
      memory.upload(at, variable.values.data(), variable.values.size());
      return at;
    });
  }

  LaunchCounts run(const std::shared_ptr<const Program>& program, std::uint64_t grid, std::uint32_t block,
                   const std::vector<std::uint64_t>& parameters) {
    GridLaunch launch;
    launch.program = program;
    launch.grid = grid;
    launch.block = block;
    launch.dynamic_shared_bytes = dynamic_shared_bytes;
    launch.parameters.resize(parameters.size() * 8);
    std::memcpy(launch.parameters.data(), parameters.data(), launch.parameters.size());
    launch.sm_count = 4;
    return sim::run(launch, *memory.snapshot(), options);
  }
  LaunchCounts run(const std::string& text, std::uint64_t grid, std::uint32_t block,
                   const std::vector<std::uint64_t>& parameters) {
    return run(decode(text), grid, block, parameters);
  }

  template <typename T>
  DevicePtr upload(const std::vector<T>& values) {
    const DevicePtr at = memory.allocate(values.size() * sizeof(T));
    memory.upload(at, values.data(), values.size() * sizeof(T));
    return at;
  }
  template <typename T>
  std::vector<T> download(DevicePtr from, std::size_t count) {
    std::vector<T> values(count);
    memory.download(values.data(), from, count * sizeof(T));
    return values;
  }
};

/// A kernel with one 64-bit parameter, out, whose generic address is in %out, and the linear thread number in %t (32
/// bits). `declarations` and `body` may use %r, %rd, %f, %p and %h registers <0..63>.
inline std::string ptx_kernel(const std::string& body, const std::string& declarations = {}) {
  return R"(.version 7.5
.target sm_75
.address_size 64
)" + declarations +
         R"(
.visible .entry kernel(.param .u64 out)
{
  .reg .pred %p<64>;
  .reg .b16 %h<64>;
  .reg .b32 %r<64>;
  .reg .f32 %f<64>;
  .reg .b64 %rd<64>;
  .reg .f64 %fd<16>;
  .reg .b32 %t, %ntid, %ctaid;
  .reg .b64 %out, %mine;
  ld.param.u64 %out, [out];
  cvta.to.global.u64 %out, %out;
  mov.u32 %t, %tid.x;
  mov.u32 %ctaid, %ctaid.x;
  mov.u32 %ntid, %ntid.x;
  mad.lo.u32 %t, %ctaid, %ntid, %t;
  mad.wide.u32 %mine, %t, 4, %out;
)" + body +
         "\n  ret;\n}\n";
}

/// Runs ptx_kernel(body) and gives the 32-bit words that the threads wrote, each at %mine.
inline std::vector<std::uint32_t> words_of(const std::string& body, std::uint32_t threads = 32, std::uint64_t grid = 1,
                                           const std::string& declarations = {}) {
  PtxRunner runner;
  const DevicePtr out = runner.upload(std::vector<std::uint32_t>(grid * threads));
  runner.run(ptx_kernel(body, declarations), grid, threads, {out});
  return runner.download<std::uint32_t>(out, grid * threads);
}

}  // namespace softmax_dispatch::sim
