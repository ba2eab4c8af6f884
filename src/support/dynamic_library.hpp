#pragma once

#include <string>

namespace softmax_dispatch {

/// A shared library opened at run time, for the life of the process: neither the CUDA driver nor NVRTC may be unloaded.
/// Its symbols stay private to it.
class DynamicLibrary {
 public:
  /// A name is searched for as the dynamic linker does; a path is opened as it is. ok() says whether it was found.
  explicit DynamicLibrary(const std::string& name);

  bool ok() const noexcept { return handle_ != nullptr; }
  /// Why it could not be opened, in the dynamic linker's words.
  const std::string& error() const noexcept { return error_; }
  /// The file that was opened, as an absolute path.
  std::string path() const;

  /// The function of that name; null where there is none. `Function` is a pointer type.
  template <typename Function>
  Function function(const char* name) const noexcept {
    return reinterpret_cast<Function>(symbol(name));
  }

 private:
  void* symbol(const char* name) const noexcept;

  void* handle_ = nullptr;
  std::string error_;
};

}  // namespace softmax_dispatch
