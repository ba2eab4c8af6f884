#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace softmax_dispatch::jit {

/// Files on disk by key, each with a checksum: a damaged or half-written entry counts as absent. Safe for many
/// processes: entries are written aside and renamed. Entries are never changed, so no lock is needed to read one.
class Cache {
 public:
  /// The folder is created at the first put(). A folder that cannot be written is said once in the log; the cache then
  /// only reads.
  explicit Cache(std::filesystem::path directory);

  /// At env::cache_directory(); null where that is off or unknown.
  static std::shared_ptr<Cache> user_default();

  std::optional<std::string> get(const std::string& key) const;
  void put(const std::string& key, const std::string& value) noexcept;

  const std::filesystem::path& directory() const noexcept { return directory_; }
  /// Number and total size of the entries, for `doctor`.
  struct Usage {
    std::size_t entries = 0;
    std::uintmax_t bytes = 0;
  };
  Usage usage() const;

 private:
  std::filesystem::path directory_;
  std::atomic<bool> writable_{true};
};

}  // namespace softmax_dispatch::jit
