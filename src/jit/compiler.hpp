#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jit/cache.hpp"
#include "jit/nvrtc.hpp"
#include "jit/resources.hpp"
#include "jit/sources.hpp"
#include "support/config.hpp"

namespace softmax_dispatch::jit {

/// What a device takes: hardware a cubin, the simulated device the PTX of the same compilation.
enum class Output { cubin, ptx };

/// A kernel compiled for one architecture with all its macros.
struct CompiledKernel {
  std::string entry;        ///< The extern "C" name: the variant's id.
  std::string image;        ///< Cubin or PTX.
  std::string code_hash;    ///< Of the cubin, also where the image is PTX. A verification record belongs to this hash.
  std::string source_hash;  ///< Of source and headers.
  Resources resources;
  std::optional<double> compile_s = {};  ///< What NVRTC took; nothing where the kernel came from the cache.
};

/// Turns (id, macros, architecture) into a cubin: from the cache, else with NVRTC. Thread-safe; the
/// same kernel asked for by several threads may be compiled twice.
class Compiler {
 public:
  /// `cache` may be null. `sources` must outlive the compiler.
  Compiler(std::shared_ptr<const Nvrtc> nvrtc, const Sources& sources, std::shared_ptr<Cache> cache,
           Output output = Output::cubin);

  /// Throws Error(toolchain).
  CompiledKernel compile(const std::string& id, const Macros& macros, const std::string& arch) const;

  /// PTX for the same kernel, never cached ("sm_75" is taken as compute_75). Line information lets a simulated device
  /// name the line of a fault; it puts the working directory into the output.
  std::string compile_ptx(const std::string& id, const Macros& macros, const std::string& arch,
                          bool line_information = false) const;

  const Nvrtc& nvrtc() const noexcept { return *nvrtc_; }
  const Sources& sources() const noexcept { return sources_; }
  /// Options given to every compilation, as they are recorded in a table.
  static const std::vector<std::string>& flags();

 private:
  std::shared_ptr<const Nvrtc> nvrtc_;
  const Sources& sources_;
  std::shared_ptr<Cache> cache_;
  Output output_;
};

}  // namespace softmax_dispatch::jit
