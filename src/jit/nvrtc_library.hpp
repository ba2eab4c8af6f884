#pragma once

#include <nvrtc.h>

#include <string>
#include <vector>

#include "jit/nvrtc.hpp"

/// NVRTC's functions as F(name without "nvrtc"); their types are those of the toolkit's header.
#define SOFTMAX_DISPATCH_NVRTC_FUNCTIONS(F) \
  F(Version)                                \
  F(GetErrorString)                         \
  F(GetNumSupportedArchs)                   \
  F(GetSupportedArchs)                      \
  F(CreateProgram)                          \
  F(DestroyProgram)                         \
  F(CompileProgram)                         \
  F(GetProgramLogSize)                      \
  F(GetProgramLog)                          \
  F(GetPTXSize)                             \
  F(GetPTX)                                 \
  F(GetCUBINSize)                           \
  F(GetCUBIN)

namespace softmax_dispatch::jit {

/// One libnvrtc that was found.
class NvrtcLibrary final : public Nvrtc {
 public:
  /// Opens the library of that name or path, and compiles an empty kernel to learn its build. Throws Error(toolchain).
  explicit NvrtcLibrary(const std::string& name);

  int major() const noexcept override { return major_; }
  int minor() const noexcept override { return minor_; }
  const std::string& build() const noexcept override { return build_; }
  const std::string& path() const noexcept override { return path_; }
  const std::vector<int>& supported_archs() const noexcept override { return archs_; }
  NvrtcOutput compile(const std::string& name, std::string_view source, std::span<const Header> headers,
                      const std::string& arch, const std::vector<std::string>& options) const override;

 private:
  class Program;

  void resolve_functions(const std::string& file);
  void open_builtins() const;
  void read_archs();
  void check_arch(const std::string& arch) const;
  /// Throws "<path> cannot <what> of <of>: NVRTC's name of the error (number)".
  void check(nvrtcResult result, const char* what, const std::string& of) const;

#define SOFTMAX_DISPATCH_MEMBER(name) decltype(&::nvrtc##name) name##_ = nullptr;
  SOFTMAX_DISPATCH_NVRTC_FUNCTIONS(SOFTMAX_DISPATCH_MEMBER)
#undef SOFTMAX_DISPATCH_MEMBER
  int major_ = 0, minor_ = 0;
  std::string path_, build_;
  std::vector<int> archs_;
};

}  // namespace softmax_dispatch::jit
