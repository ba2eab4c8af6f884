#include "unit/tree/source_tree.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace softmax_dispatch::tree {
namespace {

using ::testing::ElementsAre;

TEST(SourceTree, StripTakesOutCommentsAndLiterals) {
  EXPECT_EQ(strip("a // b\nc", true), "a \nc");
  EXPECT_EQ(strip("a /* b\n b */ c", true), "a \n c");
  EXPECT_EQ(strip(R"(f("x // y", 'z');)", false), R"(f("", '');)");
  EXPECT_EQ(strip(R"(f("x // y");)", true), R"(f("x // y");)");
  EXPECT_EQ(strip(R"(f("a\"b", c);)", false), R"(f("", c);)");
  EXPECT_EQ(strip("n = 1'000; // k", false), "n = 1'000; ");
  EXPECT_EQ(strip("t = R\"x(a \" // )x\"; u", true), "t = R\"x(a \" // )x\"; u");
}

TEST(SourceTree, IncludesAreFoundWhereverTheyStand) {
  EXPECT_THAT(includes("#include <a>\n  #  include \"b/c.hpp\"\n// #include <d>\n"), ElementsAre("<a>", "\"b/c.hpp\""));
}

TEST(SourceTree, MatchingLinesAreNumberedFromOne) {
  EXPECT_THAT(matching_lines("v4\nv4_opt\nx v4;\n", R"(\bv4\b)"), ElementsAre(1, 3));
}

TEST(SourceTree, RunGivesOutputAndExitCode) {
  const CommandResult result = run("echo out; echo err >&2; exit 3");
  EXPECT_EQ(result.output, "out\nerr\n");
  EXPECT_EQ(result.exit_code, 3);
}

}  // namespace
}  // namespace softmax_dispatch::tree
