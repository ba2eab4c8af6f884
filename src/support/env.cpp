#include "support/env.hpp"

#include <cstdlib>

namespace softmax_dispatch::env {
namespace {

std::optional<std::string> get(const char* name) {
  const char* value = std::getenv(name);
  if (!value || !*value) return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::string> table() {
  return get("SOFTMAX_DISPATCH_TABLE");
}
std::optional<std::string> device() {
  return get("SOFTMAX_DISPATCH_DEVICE");
}
std::optional<std::string> nvrtc() {
  return get("SOFTMAX_DISPATCH_NVRTC");
}
std::optional<std::string> log_level() {
  return get("SOFTMAX_DISPATCH_LOG");
}

std::optional<std::string> cache_directory() {
  if (auto folder = get("SOFTMAX_DISPATCH_CACHE")) return *folder == "off" ? std::nullopt : folder;
  if (const auto base = get("XDG_CACHE_HOME")) return *base + "/softmax_dispatch";
  if (const auto home = get("HOME")) return *home + "/.cache/softmax_dispatch";
  return std::nullopt;
}

}  // namespace softmax_dispatch::env
