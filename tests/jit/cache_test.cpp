#include "jit/cache.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "jit/entry.hpp"
#include "support/files.hpp"

namespace softmax_dispatch::jit {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Optional;

class CacheTest : public ::testing::Test {
 protected:
  fs::path folder() const { return temporary_.path() / "nested" / "cache"; }
  fs::path only_file() const {
    const fs::directory_iterator entry(folder());
    EXPECT_EQ(std::distance(fs::begin(entry), fs::end(entry)), 1);
    return fs::directory_iterator(folder())->path();
  }

  TemporaryDirectory temporary_;
};

/// Of all byte values, zero and line ends included.
std::string binary(std::size_t size, unsigned seed) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>((i * 31 + seed) % 256);
  return bytes;
}

TEST_F(CacheTest, GivesBackWhatWasPut) {
  const std::string value = binary(5000, 1);
  Cache(folder()).put("key", value);
  EXPECT_THAT(Cache(folder()).get("key"), Optional(value));
  EXPECT_FALSE(Cache(folder()).get("other"));
  Cache(folder()).put("empty", "");
  EXPECT_THAT(Cache(folder()).get("empty"), Optional(std::string()));
}

TEST_F(CacheTest, IsAbsentBeforeTheFirstPut) {
  const Cache cache(folder());
  EXPECT_FALSE(cache.get("key"));
  EXPECT_EQ(cache.usage().entries, 0U);
  EXPECT_FALSE(fs::exists(folder()));
}

TEST_F(CacheTest, IsPrivateToItsOwner) {
  Cache(folder()).put("key", "value");
  EXPECT_EQ(fs::status(folder()).permissions(), fs::perms::owner_all);
}

TEST_F(CacheTest, CountsItsEntries) {
  Cache cache(folder());
  cache.put("a", binary(100, 0));
  cache.put("b", binary(1000, 0));
  write_file_atomically(folder() / "note.txt", "of somebody else");
  EXPECT_EQ(cache.usage().entries, 2U);
  EXPECT_GE(cache.usage().bytes, 1100U);
  EXPECT_LT(cache.usage().bytes, 1300U);
}

TEST_F(CacheTest, TakesADamagedEntryForAbsentAndReplacesIt) {
  const std::string value = binary(3000, 7);
  Cache cache(folder());
  cache.put("key", value);
  const fs::path path = only_file();
  const std::string whole = read_file(path);
  std::vector<std::string> damaged{"", "\n", "x", whole + "x", whole.substr(1)};
  for (const std::size_t size : {std::size_t{10}, std::size_t{33}, whole.size() / 2, whole.size() - 1}) {
    damaged.push_back(whole.substr(0, size));
  }
  for (const std::size_t at : {std::size_t{0}, std::size_t{32}, std::size_t{33}, whole.size() - 1}) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ 1);
    damaged.push_back(flipped);
  }
  for (const std::string& text : damaged) {
    write_file_atomically(path, text);
    EXPECT_FALSE(cache.get("key")) << text.size() << " of " << whole.size() << " bytes";
    cache.put("key", value);
    EXPECT_THAT(cache.get("key"), Optional(value));
  }
}

TEST_F(CacheTest, SaysOnceThatItCannotWrite) {
  const fs::path file = temporary_.path() / "file";
  write_file_atomically(file, "not a folder");
  Cache cache(file / "cache");
  ::testing::internal::CaptureStderr();
  cache.put("a", "1");
  const std::string first = ::testing::internal::GetCapturedStderr();
  ::testing::internal::CaptureStderr();
  cache.put("b", "2");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_THAT(first, HasSubstr((file / "cache").string()));
  EXPECT_THAT(first, HasSubstr("SOFTMAX_DISPATCH_CACHE"));
  EXPECT_FALSE(cache.get("a"));
  EXPECT_EQ(cache.usage().entries, 0U);
}

TEST_F(CacheTest, StillReadsWhatItCannotWrite) {
  Cache cache(folder());
  cache.put("key", "value");
  // A folder in the place of an entry cannot be replaced by a file, whoever runs the test.
  fs::create_directory(fs::path(only_file()).replace_filename("blocked.kernel"));
  ::testing::internal::CaptureStderr();
  cache.put("blocked", "1");
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("cannot be kept"));
  EXPECT_FALSE(cache.get("blocked"));
  EXPECT_THAT(cache.get("key"), Optional(std::string("value")));
}

std::string key_of(int i) {
  return "key" + std::to_string(i);
}
std::string value_of(int i) {
  return binary(20000, static_cast<unsigned>(i));
}

/// Puts and gets a few shared keys; false where it saw a value that is not whole.
bool hammer(Cache& cache) {
  constexpr int kKeys = 4, kRounds = 25;
  for (int round = 0; round < kRounds; ++round) {
    const int i = round % kKeys;
    cache.put(key_of(i), value_of(i));
    const auto value = cache.get(key_of(i));
    if (!value || *value != value_of(i)) return false;
  }
  return true;
}

TEST_F(CacheTest, ServesSeveralThreads) {
  Cache cache(folder());
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { right += hammer(cache) ? 1 : 0; });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 4);
  EXPECT_EQ(cache.usage().entries, 4U);
}

TEST_F(CacheTest, ServesSeveralProcesses) {
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Cache cache(folder());
      ::_exit(hammer(cache) ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  const auto left = std::distance(fs::directory_iterator(folder()), fs::directory_iterator());
  EXPECT_EQ(left, 4) << "files were left behind";
}

TEST(CacheEntry, ReadsBack) {
  const Entry entry{{64, 480, 12, 8, 400}, "00ff", binary(1000, 3)};
  const auto read = parse_entry(to_text(entry));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->resources, entry.resources);
  EXPECT_EQ(read->code_hash, entry.code_hash);
  EXPECT_EQ(read->image, entry.image);
}

TEST(CacheEntry, RefusesOtherText) {
  const std::string text = to_text({{64, 480, 12, 8, 400}, "00ff", "image"});
  EXPECT_FALSE(parse_entry(""));
  EXPECT_FALSE(parse_entry("image"));
  EXPECT_FALSE(parse_entry(text.substr(1)));
  EXPECT_FALSE(parse_entry(text.substr(0, text.find("stack_bytes"))));
  EXPECT_FALSE(parse_entry(text.substr(0, text.find("code_hash"))));
  EXPECT_FALSE(parse_entry(to_text({{64, 480, 12, 8, 400}, "", "image"})));
  std::string worded = text;
  worded.replace(worded.find("480"), 3, "4x0");
  EXPECT_FALSE(parse_entry(worded));
}

}  // namespace
}  // namespace softmax_dispatch::jit
