#include "tuning/bench_kernels.hpp"

namespace softmax_dispatch::tuning {

std::optional<Config> reduce_once_of(const Registry& registry, const Config& config) {
  const std::optional<Constants> macros = registry.at(config.variant).reduce_once(config.constants);
  if (!macros) return std::nullopt;
  return Config{kReduceOnceKernel, *macros, config.dtype};
}

}  // namespace softmax_dispatch::tuning
