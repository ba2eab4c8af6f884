#pragma once

#include "jit/sources.hpp"
#include "variants/registry.hpp"

/// Kernels with a planted fault, beside the product's. None may ever become eligible.
namespace softmax_dispatch::planted {

/// The product's variants and the planted ones, whose ids start "planted_".
const Registry& registry();

/// The product's sources and those of the planted kernels.
const jit::Sources& sources();

}  // namespace softmax_dispatch::planted
