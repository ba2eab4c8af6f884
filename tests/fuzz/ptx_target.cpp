// The PTX parser and the decoder take any text: what is no PTX of a kernel is refused with an Error.
#include <memory>

#include "device/sim/memory.hpp"
#include "device/sim/program/program.hpp"
#include "fuzz/target.hpp"
#include "jit/compiler.hpp"
#include "support/error.hpp"
#include "variants/registry.hpp"

using namespace softmax_dispatch;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto module = std::make_shared<const sim::ptx::Module>(sim::ptx::parse(std::string(data, data + size)));
    for (const sim::ptx::Entry& entry : module->entries)
      sim::decode(module, std::string(entry.name), [](const sim::ptx::Variable&) { return DevicePtr{256}; });
  } catch (const Error&) {
  }
  return 0;
}

std::vector<std::string> fuzz_corpus() {
  const jit::Compiler compiler(jit::Nvrtc::open(), jit::Sources::product(), nullptr);
  const Target target{arch_limits("sm_75"), 40};
  std::vector<std::string> corpus;
  for (const Variant* variant : registry().all()) {
    const std::string id(variant->id());
    if (!variant->exists(target.limits)) continue;
    for (const DType dtype : variant->dtypes()) {
      const Macros macros = variant->macros(dtype, variant->extremes(dtype, target).front());
      for (const bool line_information : {false, true})
        corpus.push_back(compiler.compile_ptx(id, macros, "sm_75", line_information));
    }
  }
  return corpus;
}
