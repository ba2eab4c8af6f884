#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "unit/tree/source_tree.hpp"

namespace softmax_dispatch::tree {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::vector<std::string> kProduct = {"src", "tuning", "cli"};
const std::vector<std::string> kCode = {".cpp", ".hpp", ".h", ".inc", ".h.in"};

/// The layers each layer may include from; everything may include the public headers. The order is that of the arrows:
/// cli -> tuning -> dispatch -> {table, verify} -> {jit, variants, device} -> support, and table -> support alone.
const std::map<std::string, std::set<std::string>> kArrows = {
    {"support", {}},
    {"device", {"support"}},
    {"variants", {"support"}},
    {"jit", {"support"}},
    {"table", {"support"}},
    {"verify", {"jit", "variants", "device", "support"}},
    {"dispatch", {"table", "verify", "jit", "variants", "device", "support"}},
    {"tuning", {"dispatch", "table", "verify", "jit", "variants", "device", "support"}},
    {"cli", {"tuning", "dispatch", "table", "verify", "jit", "variants", "device", "support"}},
};

/// "table" for "src/table/read.cpp", "cli" for "cli/main.cpp".
std::string layer_of(const std::string& path) {
  const std::string inner = path.starts_with("src/") ? path.substr(4) : path;
  return inner.substr(0, inner.find('/'));
}

bool is_public(const std::string& path) {
  return path.starts_with("src/include/");
}

/// Paths of the product's files of which `included` is true for some included name.
template <typename Predicate>
std::vector<std::string> files_including(Predicate included) {
  std::vector<std::string> paths;
  for (const File& file : files(kProduct, kCode)) {
    const std::vector<std::string> names = includes(file.text);
    if (std::any_of(names.begin(), names.end(), included)) paths.push_back(file.path);
  }
  return paths;
}

auto starting(const std::string& prefix) {
  return [prefix](const std::string& name) { return name.starts_with(prefix); };
}

TEST(Layering, IncludesFollowTheArrows) {
  int checked = 0;
  for (const File& file : files(kProduct, kCode)) {
    if (is_public(file.path)) continue;
    const std::string layer = layer_of(file.path);
    ASSERT_TRUE(kArrows.contains(layer)) << file.path << " lies in a folder that is no layer";
    for (const std::string& name : includes(file.text)) {
      if (name.front() != '"') continue;
      const std::string target = name.substr(1, name.find('/') - 1);
      const bool allowed = target == layer || kArrows.at(layer).contains(target);
      EXPECT_TRUE(allowed) << file.path << " includes " << name << ": " << layer << " may not know " << target
                           << " (a quoted name starts with a layer)";
      ++checked;
    }
  }
  EXPECT_GT(checked, 0);
}

TEST(Layering, InstalledHeadersKnowTheStandardLibraryAlone) {
  const std::regex allowed(R"(<(softmax_dispatch/[a-z_]+\.(hpp|h)|[a-z_]+|stdint\.h|stddef\.h)>)");
  for (const File& file : files({"src/include"}, kCode)) {
    for (const std::string& name : includes(file.text)) {
      EXPECT_TRUE(std::regex_match(name, allowed)) << file.path << " includes " << name;
    }
  }
}

TEST(Layering, HeaderHeavyLibrariesHaveOneUserEach) {
  EXPECT_THAT(files_including(starting("<spdlog/")), ElementsAre("src/support/log.cpp"));
  EXPECT_THAT(files_including(starting("<yaml-cpp/")), ElementsAre("src/support/yaml.cpp"));
  EXPECT_THAT(files_including(starting("<xxhash")), ElementsAre("src/support/hash.cpp"));
  const std::vector<std::string> cli11 = files_including(starting("<CLI/"));
  EXPECT_EQ(cli11.size(), 1U) << ::testing::PrintToString(cli11);
}

TEST(Layering, HeadersTakeTheForwardDeclarationsOfJson) {
  for (const std::string& path : files_including([](const auto& name) { return name == "<nlohmann/json.hpp>"; })) {
    EXPECT_TRUE(path.ends_with(".cpp")) << path << " includes <nlohmann/json.hpp>: take json_fwd.hpp in a header";
  }
}

TEST(Layering, CudaHeadersStayInTheCudaDeviceAndTheJit) {
  const std::regex cuda(R"(["<](cuda|nvrtc|cublas|driver_types|vector_types)[A-Za-z_]*\.h[">])");
  const auto paths = files_including([&](const auto& name) { return std::regex_match(name, cuda); });
  for (const std::string& path : paths) {
    EXPECT_TRUE(path.starts_with("src/device/cuda/") || path.starts_with("src/jit/"))
        << path << " includes a CUDA header";
  }
  EXPECT_FALSE(paths.empty());
}

TEST(Layering, TheEnvironmentIsReadInOnePlace) {
  std::vector<std::string> readers;
  for (const File& file : files(kProduct, kCode)) {
    if (!matching_lines(strip(file.text, false), R"(\b(secure_)?getenv\b)").empty()) readers.push_back(file.path);
  }
  EXPECT_THAT(readers, ElementsAre("src/support/env.cpp"));
}

TEST(Layering, TheLibraryNeitherPrintsNorEndsTheProcess) {
  const std::string forbidden =
      R"(<iostream>|\bstd::(cout|cerr|clog|wcout|wcerr)\b|\b(v?f?printf|puts|fputs|putchar|perror|fmt::print)\s*\()"
      R"(|\b(abort|exit|_exit|_Exit|quick_exit|terminate|assert)\s*\()";
  for (const File& file : files({"src"}, kCode)) {
    EXPECT_THAT(matching_lines(strip(file.text, false), forbidden), IsEmpty())
        << file.path << ": these lines print, abort or exit; throw an Error, or log()";
  }
}

}  // namespace
}  // namespace softmax_dispatch::tree
