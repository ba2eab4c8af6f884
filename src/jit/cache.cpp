#include "jit/cache.hpp"

#include <system_error>

#include "support/env.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/hash.hpp"
#include "support/log.hpp"

namespace softmax_dispatch::jit {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSuffix = ".kernel";

fs::path path_of(const fs::path& directory, const std::string& key) {
  return directory / (key + kSuffix);
}

/// Private: what lies in it is loaded as code.
void create_private(const fs::path& directory) {
  if (directory.has_parent_path()) fs::create_directories(directory.parent_path());
  if (fs::create_directory(directory)) fs::permissions(directory, fs::perms::owner_all);
}

}  // namespace

Cache::Cache(fs::path directory) : directory_(std::move(directory)) {}

std::shared_ptr<Cache> Cache::user_default() {
  const auto directory = env::cache_directory();
  return directory ? std::make_shared<Cache>(*directory) : nullptr;
}

std::optional<std::string> Cache::get(const std::string& key) const {
  const fs::path path = path_of(directory_, key);
  try {
    std::optional<std::string> file = read_file_if_exists(path);
    if (!file) return std::nullopt;
    // A file is the value's hash, a line end, and the value.
    const auto end = file->find('\n');
    if (end != std::string::npos) {
      std::string value = file->substr(end + 1);
      if (hash_hex(value) == file->substr(0, end)) return value;
    }
    log(LogLevel::info, "the cache entry '{}' is damaged and counts as absent", path.string());
  } catch (const Error& error) {
    log(LogLevel::info, "{}", error.what());
  }
  return std::nullopt;
}

void Cache::put(const std::string& key, const std::string& value) noexcept {
  if (!writable_.load(std::memory_order_relaxed)) return;
  try {
    create_private(directory_);
    write_file_atomically(path_of(directory_, key), hash_hex(value) + '\n' + value);
  } catch (const std::exception& error) {
    if (!writable_.exchange(false)) return;
    log(LogLevel::warn,
        "compiled kernels cannot be kept in '{}' and will be compiled anew by every process: {}. Set "
        "SOFTMAX_DISPATCH_CACHE to another folder, or to off",
        directory_.string(), error.what());
  }
}

Cache::Usage Cache::usage() const {
  Usage usage;
  std::error_code error;
  for (fs::directory_iterator entry(directory_, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() != kSuffix) continue;
    std::error_code gone;
    const auto bytes = entry->file_size(gone);
    if (gone) continue;
    ++usage.entries;
    usage.bytes += bytes;
  }
  return usage;
}

}  // namespace softmax_dispatch::jit
