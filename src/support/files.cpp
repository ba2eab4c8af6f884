#include "support/files.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <system_error>
#include <thread>
#include <utility>

#include "support/error.hpp"

namespace softmax_dispatch {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const char* what, const fs::path& path, int error) {
  throw_error(StatusCode::io, "cannot {} '{}': {}", what, path.string(), std::generic_category().message(error));
}

class Descriptor {
 public:
  explicit Descriptor(int fd) noexcept : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  int get() const noexcept { return fd_; }
  /// Closes now, and says whether the data was taken: some network file systems report a full disk only here.
  bool close() noexcept { return ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

std::string read_all(int fd, const fs::path& path) {
  std::string text;
  std::array<char, 65536> block;
  for (;;) {
    const ssize_t count = ::read(fd, block.data(), block.size());
    if (count == 0) return text;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("read", path, errno);
    text.append(block.data(), static_cast<std::size_t>(count));
  }
}

/// The file that `path` names in the end, which need not exist.
fs::path follow_links(fs::path path) {
  constexpr int kMostLinks = 40;  // the limit of the kernel
  for (int links = 0; links < kMostLinks; ++links) {
    std::error_code no_link;
    const fs::path target = fs::read_symlink(path, no_link);
    if (no_link) return path;
    path = path.parent_path() / target;
  }
  fail("follow the links of", path, ELOOP);
}

/// A new file beside its final place, gone on destruction unless it was moved there.
class Replacement {
 public:
  explicit Replacement(const fs::path& path) : target_(follow_links(path)) {
    struct stat existing {};
    const bool exists = ::stat(target_.c_str(), &existing) == 0;
    if (exists && !S_ISREG(existing.st_mode)) {
      throw_error(StatusCode::io, "cannot write '{}': it exists and is not a regular file; name another file",
                  target_.string());
    }
    static std::atomic<unsigned> counter{0};
    int fd = -1;
    do {
      temporary_ = target_.parent_path() / fmt::format(".softmax_dispatch.{}.{}.tmp", ::getpid(), ++counter);
      fd = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (fd < 0 && (errno == EEXIST || errno == EINTR));
    if (fd < 0) fail("write", target_, errno);
    file_.emplace(fd);
    if (exists && ::fchmod(fd, existing.st_mode & 07777) != 0) abandon(errno);
  }
  ~Replacement() {
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
  }
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;

  void write(std::string_view text) {
    while (!text.empty()) {
      const ssize_t count = ::write(file_->get(), text.data(), text.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fail("write", target_, errno);
      text.remove_prefix(static_cast<std::size_t>(count));
    }
  }

  void move_into_place() {
    if (::fsync(file_->get()) != 0 || !file_->close()) fail("write", target_, errno);
    if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("replace", target_, errno);
    temporary_.clear();
    // The rename itself survives a power failure only once the folder is on disk; some file systems cannot sync one.
    const fs::path folder = target_.has_parent_path() ? target_.parent_path() : fs::path(".");
    const Descriptor handle(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (handle.get() >= 0) ::fsync(handle.get());
  }

 private:
  [[noreturn]] void abandon(int error) {
    ::unlink(temporary_.c_str());
    fail("write", target_, error);
  }

  fs::path target_, temporary_;
  std::optional<Descriptor> file_;
};

}  // namespace

std::optional<std::string> read_file_if_exists(const fs::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0 && errno == ENOENT) return std::nullopt;
  if (file.get() < 0) fail("read", path, errno);
  return read_all(file.get(), path);
}

std::string read_file(const fs::path& path) {
  std::optional<std::string> text = read_file_if_exists(path);
  if (!text) fail("read", path, ENOENT);
  return std::move(*text);
}

void write_file_atomically(const fs::path& path, std::string_view text) {
  Replacement replacement(path);
  replacement.write(text);
  replacement.move_into_place();
}

void check_writable(const fs::path& path) {
  const Replacement replacement(path);
}

FileLock::FileLock(const fs::path& path, double timeout_s) {
  fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd_ < 0) return;
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::duration<double>(timeout_s);
  for (;;) {
    locked_ = ::flock(fd_, LOCK_EX | LOCK_NB) == 0;
    if (locked_ || (errno != EWOULDBLOCK && errno != EINTR) || Clock::now() >= deadline) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

FileLock::~FileLock() {
  if (fd_ >= 0) ::close(fd_);
}

TemporaryDirectory::TemporaryDirectory() {
  std::string name = (fs::temp_directory_path() / "softmax_dispatch.XXXXXX").string();
  if (!::mkdtemp(name.data())) fail("create the folder", name, errno);
  path_ = name;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace softmax_dispatch
