#pragma once

#include <memory>
#include <string>
#include <vector>

#include "jit/cache.hpp"
#include "jit/nvrtc.hpp"
#include "jit/resources.hpp"
#include "jit/sources.hpp"
#include "support/config.hpp"

namespace softmax_dispatch::jit {

/// A kernel compiled for one architecture with all its constants.
struct CompiledKernel {
  std::string entry;        ///< The extern "C" name: the variant's id.
  std::string image;        ///< Cubin.
  std::string code_hash;    ///< Of the image. A verification record belongs to this hash.
  std::string source_hash;  ///< Of source and headers.
  Resources resources;
};

/// Turns (id, compile-time constants, architecture) into a cubin: from the cache, else with NVRTC. Thread-safe; the
/// same kernel asked for by several threads may be compiled twice.
class Compiler {
 public:
  /// `cache` may be null. `sources` must outlive the compiler.
  Compiler(std::shared_ptr<const Nvrtc> nvrtc, const Sources& sources, std::shared_ptr<Cache> cache);

  /// `constants` are the compile-time constants alone: each becomes a macro. Throws Error(toolchain).
  CompiledKernel compile(const std::string& id, const Constants& constants, const std::string& arch) const;

  /// PTX for the same kernel, never cached ("sm_75" is taken as compute_75).
  std::string compile_ptx(const std::string& id, const Constants& constants, const std::string& arch) const;

  const Nvrtc& nvrtc() const noexcept { return *nvrtc_; }
  const Sources& sources() const noexcept { return sources_; }
  /// Options given to every compilation, as they are recorded in a table.
  static const std::vector<std::string>& flags();

 private:
  std::shared_ptr<const Nvrtc> nvrtc_;
  const Sources& sources_;
  std::shared_ptr<Cache> cache_;
};

}  // namespace softmax_dispatch::jit
