#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace softmax_dispatch {

/// The whole file. Throws Error(io) with the system's reason; nullopt from the second form where it does not exist.
std::string read_file(const std::filesystem::path& path);
std::optional<std::string> read_file_if_exists(const std::filesystem::path& path);

/// Replaces the file by `text` or leaves it as it was: written beside it, synced, then renamed. Keeps the permissions
/// of a file that exists, and follows a symbolic link to its target. Throws Error(io).
void write_file_atomically(const std::filesystem::path& path, std::string_view text);

/// Throws Error(io) where write_file_atomically(path, ...) would fail for want of a folder or of permission; leaves no
/// trace.
void check_writable(const std::filesystem::path& path);

/// An exclusive advisory lock on `path` (created if needed), held until destruction. Waits at most `timeout_s`;
/// locked() is false if it did not get it (a file system without locks included): callers go on without.
class FileLock {
 public:
  FileLock(const std::filesystem::path& path, double timeout_s);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  bool locked() const noexcept { return locked_; }

 private:
  int fd_ = -1;
  bool locked_ = false;
};

/// A fresh private folder under the system's temporary folder, removed with all it holds on destruction.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace softmax_dispatch
