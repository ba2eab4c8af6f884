#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "jit/nvrtc.hpp"

namespace softmax_dispatch::jit {

/// Kernel sources by id, with the common headers they include. The product's come from kernels_src/ at build time;
/// tests add their own.
class Sources {
 public:
  static const Sources& product();

  void add(std::string id, std::string text);
  bool has(std::string_view id) const;
  std::vector<std::string> ids() const;
  /// Throws Error(internal) for an unknown id.
  const std::string& text(std::string_view id) const;
  /// Hash of the source and of every common header: changes whenever the compiled code may.
  std::string hash(std::string_view id) const;
  std::vector<Header> headers() const;

 private:
  std::map<std::string, std::string, std::less<>> kernels_;
  std::map<std::string, std::string, std::less<>> headers_;
};

}  // namespace softmax_dispatch::jit
