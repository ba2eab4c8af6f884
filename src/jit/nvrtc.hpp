#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace softmax_dispatch::jit {

/// What came out of NVRTC.
struct NvrtcOutput {
  std::string image;  ///< Cubin for "sm_NN", PTX for "compute_NN".
  std::string ptx;    ///< What the cubin was made of; for "compute_NN" empty, since it is the image.
  std::string log;    ///< Compiler and ptxas messages.
};

/// A named header handed to NVRTC: no file is read from disk at run time.
struct Header {
  std::string_view name;
  std::string_view text;
};

/// libnvrtc, opened at run time. Compiling is thread-safe.
class Nvrtc {
 public:
  /// Opens the library at `path`; where empty, SOFTMAX_DISPATCH_NVRTC, else libnvrtc.so.13, .so.12 in that order, each
  /// by the dynamic linker's search and in /usr/local/cuda, skipping major versions above `max_major` (the driver's; 0:
  /// any). Each library is opened once in a process and stays open. Throws Error(toolchain), listing what was tried and
  /// what to install.
  static std::shared_ptr<const Nvrtc> open(const std::string& path = {}, int max_major = 0);

  virtual ~Nvrtc() = default;
  virtual int major() const noexcept = 0;
  virtual int minor() const noexcept = 0;
  /// Release and build, e.g. "13.0.88": the build decides the code, not the release alone.
  virtual const std::string& build() const noexcept = 0;
  virtual const std::string& path() const noexcept = 0;
  /// {75, 80, ...}
  virtual const std::vector<int>& supported_archs() const noexcept = 0;

  /// Compiles for "sm_NN" to a cubin or for "compute_NN" to PTX. Throws Error(toolchain) with NVRTC's log; for an
  /// architecture that this NVRTC does not know, with those that it does.
  virtual NvrtcOutput compile(const std::string& name, std::string_view source, std::span<const Header> headers,
                              const std::string& arch, const std::vector<std::string>& options) const = 0;
};

}  // namespace softmax_dispatch::jit
