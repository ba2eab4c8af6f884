#pragma once

#include <memory>
#include <string>

#include "device/cuda/cuda.hpp"
#include "jit/compiler.hpp"
#include "support/config.hpp"
#include "variants/registry.hpp"

namespace softmax_dispatch {

/// Device 0 of this machine with NVRTC: compiles and loads configurations of the product.
class Gpu {
 public:
  explicit Gpu(const jit::Sources& sources = jit::Sources::product())
      : device_(cuda::open(0)),
        compiler_(jit::Nvrtc::open({}, device_->info().driver_version / 1000), sources, nullptr) {}

  Device& device() { return *device_; }
  Target target() const { return {device_->info().limits, device_->info().sm_count}; }

  std::shared_ptr<const LoadedKernel> load(const Variant& variant, const Constants& constants,
                                           DType dtype = DType::f32) {
    return load(std::string(variant.id()), variant.macros(dtype, constants));
  }
  std::shared_ptr<const LoadedKernel> load(const std::string& id, const Macros& macros) {
    return device_->load(compiler_.compile(id, macros, device_->info().arch).image, id, {});
  }

 private:
  std::unique_ptr<Device> device_;
  jit::Compiler compiler_;
};

}  // namespace softmax_dispatch
