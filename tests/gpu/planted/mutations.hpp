#pragma once

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "jit/sources.hpp"
#include "support/config.hpp"

/// The traps of the kernels' contract, each taken out of the product's kernels by editing their text: verification must
/// see that something is missing. Where an edit needs a circumstance to show (a slow warp), the same circumstance with
/// the handling left in must pass.
namespace softmax_dispatch::planted {

struct Edit {
  std::string_view from;  ///< Must occur in the kernel's text with its headers; every occurrence is replaced.
  std::string_view to;
};

enum class Effect {
  fails,            ///< Does not verify, or loses the device, for a reason that matches `words`.
  fails_simulated,  ///< The same on the simulated device; on a GPU blocks wait for ever, or are right by luck.
  passes,           ///< Verifies.
  local_memory,     ///< Compiles, with its private array in local memory.
};

struct Mutation {
  std::string name;  ///< "v5_empty_state_at_minus_inf"
  Config config;     ///< Of a variant of the product.
  std::vector<Edit> edits;
  Effect effect = Effect::fails;
  std::string_view words;  ///< Regular expression (POSIX extended).
};

/// For GoogleTest.
inline void PrintTo(const Mutation& mutation, std::ostream* out) {
  *out << mutation.name;
}

const std::vector<Mutation>& mutations();

/// Throws Error(invalid_argument) for an unknown name.
const Mutation& mutation(std::string_view name);

/// The product's sources with the mutation in place of its variant's source. Throws Error(internal) where an edit's
/// text does not occur: the kernel changed and the mutation must follow.
jit::Sources mutated(const Mutation& mutation);

}  // namespace softmax_dispatch::planted
