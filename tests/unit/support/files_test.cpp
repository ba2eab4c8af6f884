#include "support/files.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "support/expect_error.hpp"

namespace softmax_dispatch {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Files : public ::testing::Test {
 protected:
  fs::path at(const char* name) const { return folder_.path() / name; }

  std::set<std::string> names() const {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder_.path())) found.insert(entry.path().filename().string());
    return found;
  }

  static std::string write_error(const fs::path& path) {
    const std::string message = testing::error_of(StatusCode::io, [&] { write_file_atomically(path, "new"); });
    EXPECT_EQ(testing::error_of(StatusCode::io, [&] { check_writable(path); }), message);
    return message;
  }

  TemporaryDirectory folder_;
};

TEST_F(Files, WritesANewFileAndReplacesAnOldOne) {
  write_file_atomically(at("t"), std::string_view("one\0two", 7));
  EXPECT_EQ(read_file(at("t")), std::string_view("one\0two", 7));
  ASSERT_EQ(::chmod(at("t").c_str(), 0640), 0);
  write_file_atomically(at("t"), "three");
  EXPECT_EQ(read_file(at("t")), "three");
  EXPECT_EQ(static_cast<unsigned>(fs::status(at("t")).permissions()), 0640u);
  EXPECT_THAT(names(), ElementsAre("t"));
}

TEST_F(Files, WritesIntoTheCurrentFolder) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_.path());
  write_file_atomically("t", "here");
  fs::current_path(before);
  EXPECT_EQ(read_file(at("t")), "here");
}

TEST_F(Files, KeepsASymbolicLinkAndReplacesItsTarget) {
  fs::create_directory(at("d"));
  write_file_atomically(at("d/target"), "old");
  fs::create_symlink("d/target", at("link"));
  fs::create_symlink("link", at("link2"));
  write_file_atomically(at("link2"), "new");
  EXPECT_TRUE(fs::is_symlink(at("link")));
  EXPECT_TRUE(fs::is_symlink(at("link2")));
  EXPECT_EQ(read_file(at("d/target")), "new");
  fs::create_symlink("d/not_yet", at("dangling"));
  write_file_atomically(at("dangling"), "made");
  EXPECT_EQ(read_file(at("d/not_yet")), "made");
  EXPECT_TRUE(fs::is_symlink(at("dangling")));
}

TEST_F(Files, SaysWhyItCannotWriteAndLeavesNoTrace) {
  write_file_atomically(at("file"), "old");
  fs::create_directory(at("folder"));
  fs::create_symlink("loop", at("loop"));
  ASSERT_EQ(::mkfifo(at("fifo").c_str(), 0600), 0);
  const auto before = names();
  EXPECT_THAT(write_error(at("file/t")), HasSubstr("file/t': Not a directory"));
  EXPECT_THAT(write_error(at("missing/t")), HasSubstr("missing/t': No such file or directory"));
  EXPECT_THAT(write_error(at("folder")), HasSubstr("not a regular file"));
  EXPECT_THAT(write_error(at("fifo")), HasSubstr("not a regular file"));
  EXPECT_THAT(write_error(at("loop")), HasSubstr("Too many levels of symbolic links"));
  EXPECT_EQ(names(), before);
  EXPECT_TRUE(fs::is_empty(at("folder")));
  EXPECT_EQ(read_file(at("file")), "old");
}

TEST_F(Files, CheckWritableLeavesNoTrace) {
  check_writable(at("t"));
  EXPECT_TRUE(names().empty());
  write_file_atomically(at("t"), "old");
  check_writable(at("t"));
  EXPECT_EQ(read_file(at("t")), "old");
  EXPECT_THAT(names(), ElementsAre("t"));
}

/// While alive, a file of this process cannot grow beyond `bytes`: a full disk, as far as write() is concerned.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &previous_);
    const rlimit limit{bytes, previous_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &previous_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  void (*handler_)(int);
  rlimit previous_{};
};

TEST_F(Files, AWriteThatFailsHalfwayLeavesTheOldFile) {
  write_file_atomically(at("t"), "old");
  std::string message;
  {
    const FileSizeLimit limit(100000);
    message = testing::error_of(StatusCode::io, [&] { write_file_atomically(at("t"), std::string(1 << 20, 'x')); });
  }
  EXPECT_THAT(message, HasSubstr("File too large"));
  EXPECT_EQ(read_file(at("t")), "old");
  EXPECT_THAT(names(), ElementsAre("t"));
}

TEST_F(Files, ConcurrentWritersLeaveOneWholeText) {
  std::vector<std::thread> writers;
  for (char c = 'a'; c < 'e'; ++c) {
    writers.emplace_back([&, c] {
      for (int i = 0; i < 20; ++i) write_file_atomically(at("t"), std::string(100000, c));
    });
  }
  for (std::thread& writer : writers) writer.join();
  const std::string text = read_file(at("t"));
  EXPECT_EQ(text, std::string(100000, text.at(0)));
  EXPECT_THAT(names(), ElementsAre("t"));
}

TEST_F(Files, ReadingSaysWhatIsWrong) {
  EXPECT_EQ(read_file_if_exists(at("missing")), std::nullopt);
  EXPECT_THAT(testing::error_of(StatusCode::io, [&] { read_file(at("missing")); }),
              HasSubstr("missing': No such file or directory"));
  EXPECT_THAT(testing::error_of(StatusCode::io, [&] { read_file(folder_.path()); }), HasSubstr("Is a directory"));
  write_file_atomically(at("file"), "");
  EXPECT_EQ(read_file(at("file")), "");
  EXPECT_THAT(testing::error_of(StatusCode::io, [&] { read_file_if_exists(at("file/t")); }),
              HasSubstr("Not a directory"));
}

TEST_F(Files, OnlyOneHoldsALock) {
  std::optional<FileLock> first(std::in_place, at("lock"), 0.0);
  EXPECT_TRUE(first->locked());
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(FileLock(at("lock"), 0.05).locked());
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(50));
  std::thread releaser([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    first.reset();
  });
  EXPECT_TRUE(FileLock(at("lock"), 10.0).locked());
  releaser.join();
  EXPECT_FALSE(FileLock(at("missing/lock"), 0.0).locked());
}

TEST(TemporaryDirectory, IsFreshPrivateAndRemovedWithAllItHolds) {
  fs::path path;
  {
    const TemporaryDirectory one, two;
    path = one.path();
    EXPECT_NE(one.path(), two.path());
    EXPECT_EQ(static_cast<unsigned>(fs::status(path).permissions()), 0700u);
    fs::create_directories(path / "a" / "b");
    write_file_atomically(path / "a" / "b" / "c", "x");
  }
  EXPECT_FALSE(fs::exists(path));
}

}  // namespace
}  // namespace softmax_dispatch
