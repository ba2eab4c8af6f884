#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "jit/sources.hpp"
#include "unit/tree/source_tree.hpp"
#include "variants/registry.hpp"

namespace softmax_dispatch::tree {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAreArray;

std::vector<std::string> registry_ids() {
  std::vector<std::string> ids;
  for (const Variant* variant : registry().all()) ids.emplace_back(variant->id());
  return ids;
}

/// Names without their endings of the .cu files that lie directly in kernels_src/.
std::vector<std::string> kernel_files() {
  std::vector<std::string> stems;
  for (const File& file : files({"kernels_src"}, {".cu"})) {
    const std::string name = file.path.substr(std::string("kernels_src/").size());
    if (name.find('/') == std::string::npos) stems.push_back(name.substr(0, name.size() - 3));
  }
  return stems;
}

/// An id without a digit is an ordinary word.
bool is_word(const std::string& id) {
  return id.find_first_of("0123456789") == std::string::npos;
}

/// Numbers of the lines that name the variant to the program: a literal that is the id or a configuration of it, or the
/// id as a word of the code. Words in messages and comments don't count; an ordinary word counts in the registry's
/// macro alone, and not as a key.
std::vector<int> naming_lines(const std::string& text, const std::string& id) {
  if (text.find(id) == std::string::npos) return {};
  const bool has_digit = !is_word(id);
  std::vector<int> lines = matching_lines(strip(text, true), "(^|[^\\[])\"" + id + "(\"| [A-Z_]+=)");
  const std::string word = has_digit ? "\\b" + id + "\\b" : "SOFTMAX_DISPATCH_VARIANT\\(" + id + "\\)";
  const std::vector<int> words = matching_lines(strip(text, false), word);
  lines.insert(lines.end(), words.begin(), words.end());
  return lines;
}

TEST(ThreePlaces, EveryVariantHasItsKernelFileAndViceVersa) {
  const std::vector<std::string> ids = registry_ids();
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), ids.size()) << "an id stands twice in the registry";
  EXPECT_THAT(kernel_files(), UnorderedElementsAreArray(ids));
  EXPECT_THAT(jit::Sources::product().ids(), IsSupersetOf(ids));
}

TEST(ThreePlaces, EveryVariantHasItsDescriptorFile) {
  for (const std::string& id : registry_ids()) {
    EXPECT_EQ(files({"src/variants/" + id + ".cpp"}, {".cpp"}).size(), 1U)
        << "src/variants/" << id << ".cpp is missing";
  }
}

TEST(ThreePlaces, NamesAreFoundInCodeAndNotInProse) {
  EXPECT_THAT(naming_lines("f(\"v7\");\ng(\"v7 THREADS=32\");\nh(v7);", "v7"), ElementsAre(1, 2, 3));
  EXPECT_THAT(naming_lines("// v7\nf(\"as in v7\");\nv7_other();", "v7"), IsEmpty());
  EXPECT_THAT(naming_lines("json[\"block\"] = f(\"tile\");", "block"), IsEmpty());
  EXPECT_THAT(naming_lines("bool unbounded;\nf(\"unbounded\");\nSOFTMAX_DISPATCH_VARIANT(unbounded)", "unbounded"),
              ElementsAre(2, 3));
}

TEST(ThreePlaces, OneLineOfTheRegistryNamesAVariantAndNoOtherCode) {
  const std::vector<File> product = files({"src", "tuning", "cli"}, {".cpp", ".hpp", ".h", ".in", ".inc", ".def"});
  for (const std::string& id : registry_ids()) {
    std::vector<std::string> places;
    for (const File& file : product) {
      if (file.path == "src/variants/" + id + ".cpp") continue;
      for (const int line : naming_lines(file.text, id)) places.push_back(file.path + ":" + std::to_string(line));
    }
    EXPECT_THAT(places, ElementsAre(StartsWith("src/variants/registry."))) << id;
  }
}

/// Shipped tables name variants because they are data.
TEST(ThreePlaces, NoBuildFileOrSweepNamesAVariant) {
  const std::vector<File> all =
      files({"src", "tuning", "cli", "cmake", "configs/sweeps", "configs/devices", "CMakeLists.txt"},
            {".cmake", ".txt", ".yaml"});
  for (const std::string& id : registry_ids()) {
    const std::string name = is_word(id) ? "\"" + id + "\"|\\b" + id + " [A-Z_]+=" : "\\b" + id + "\\b";
    for (const File& file : all)
      EXPECT_THAT(matching_lines(file.text, name), IsEmpty()) << file.path << " names " << id;
  }
}

}  // namespace
}  // namespace softmax_dispatch::tree
