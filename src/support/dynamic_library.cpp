#include "support/dynamic_library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <filesystem>

namespace softmax_dispatch {

DynamicLibrary::DynamicLibrary(const std::string& name) : handle_(::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle_) return;
  const char* reason = ::dlerror();
  error_ = reason ? reason : "unknown reason";
}

std::string DynamicLibrary::path() const {
  ::link_map* map = nullptr;
  if (!handle_ || ::dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0) return {};
  return std::filesystem::absolute(map->l_name).string();
}

void* DynamicLibrary::symbol(const char* name) const noexcept {
  return handle_ ? ::dlsym(handle_, name) : nullptr;
}

}  // namespace softmax_dispatch
