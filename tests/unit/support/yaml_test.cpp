#include "support/yaml.hpp"

#include <gmock/gmock.h>

#include "support/decimal_comma.hpp"
#include "support/expect_error.hpp"

namespace softmax_dispatch {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string parse_error(std::string_view text) {
  return testing::error_of(StatusCode::bad_table, [&] { yaml::parse(text, "t.yaml"); });
}

template <typename F>
std::string access_error(std::string_view text, F&& f) {
  const yaml::Node root = yaml::parse(text, "t.yaml");
  return testing::error_of(StatusCode::bad_table, [&] { f(root); });
}

TEST(Yaml, ReadsScalarsListsAndMapsInFileOrder) {
  const testing::DecimalComma comma;
  const yaml::Node root =
      yaml::parse("z: {n: 3.5, i: 1048576, b: true}\na:\n  - \"1\"\n  - two words\nl: [1, 2]\n", "t.yaml");
  EXPECT_EQ(root.entries()[0].first, "z");
  EXPECT_EQ(root.at("z").at("n").number(), 3.5);
  EXPECT_EQ(root.at("z").at("i").integer(), 1048576);
  EXPECT_TRUE(root.at("z").at("b").boolean());
  EXPECT_EQ(root.at("a").items()[0].text(), "1");
  EXPECT_EQ(root.at("a").items()[1].text(), "two words");
  EXPECT_THAT(root.at("l").integers(), ElementsAre(1, 2));
  EXPECT_EQ(yaml::parse("---\na: 1\n...\n# the end\n", "t.yaml").at("a").integer(), 1);
  EXPECT_EQ(root.find("missing"), nullptr);
  EXPECT_FALSE(root.has("missing"));
  EXPECT_EQ(root.at("a").items()[1].where(), "t.yaml:4: a[1]");
}

TEST(Yaml, NamesLineAndPathOfEveryFault) {
  const std::string text = "a:\n  - {b: 1}\n  - b: x\n    c: [1, 2.5]\n";
  EXPECT_THAT(access_error(text, [](auto& root) { root.at("a").items()[1].at("b").integer(); }),
              AllOf(StartsWith("t.yaml:3: a[1].b: "), HasSubstr("must be an integer"), HasSubstr("'x'")));
  EXPECT_THAT(access_error(text, [](auto& root) { root.at("a").items()[1].at("c").integers(); }),
              StartsWith("t.yaml:4: a[1].c[1]: "));
  EXPECT_EQ(access_error(text, [](auto& root) { root.at("d"); }), "t.yaml:1: key 'd' is missing");
  EXPECT_EQ(access_error(text, [](auto& root) { root.at("a").items()[0].at("d"); }),
            "t.yaml:2: a[0]: key 'd' is missing");
  EXPECT_THAT(access_error(text, [](auto& root) { root.at("a").text(); }), HasSubstr("single value, but is a list"));
  EXPECT_THAT(access_error(text, [](auto& root) { root.items(); }), HasSubstr("must be a list, but is a map"));
  EXPECT_THAT(access_error("a:\n", [](auto& root) { root.at("a").items(); }), HasSubstr("but is nothing"));
  EXPECT_THAT(access_error("a: yes\n", [](auto& root) { root.at("a").boolean(); }),
              HasSubstr("true or false, but is 'yes'"));
}

TEST(Yaml, NamesADecimalCommaAsSuch) {
  EXPECT_EQ(access_error("a: 3,1\n", [](auto& root) { root.at("a").number(); }),
            "t.yaml:1: a: '3,1' has a decimal comma; write it with a decimal point: 3.1");
  EXPECT_EQ(access_error("a: -3,1e5\n", [](auto& root) { root.at("a").number(); }),
            "t.yaml:1: a: '-3,1e5' has a decimal comma; write it with a decimal point: -3.1e5");
  EXPECT_THAT(access_error("a: 3,1\n", [](auto& root) { root.at("a").integer(); }), HasSubstr("decimal comma"));
  EXPECT_EQ(access_error("t:\n  - {m: 3,1, r: x}\n",
                         [](auto& root) {
                           root.at("t").items()[0].only({"m", "r"});
                         }),
            "t.yaml:2: t[0].m: '3,1' has a decimal comma; write it with a decimal point: 3.1");
  EXPECT_THAT(access_error("a: 1.234,5\n", [](auto& root) { root.at("a").number(); }), HasSubstr("must be a number"));
}

TEST(Yaml, NumbersAreNotText) {
  EXPECT_THAT(access_error("a: \"3\"\n", [](auto& root) { root.at("a").integer(); }),
              HasSubstr("in quotes; remove them"));
  EXPECT_THAT(access_error("a: '3.5'\n", [](auto& root) { root.at("a").number(); }),
              HasSubstr("in quotes; remove them"));
  EXPECT_THAT(access_error("a: .inf\n", [](auto& root) { root.at("a").number(); }), HasSubstr("must be a number"));
  EXPECT_THAT(access_error("a: 9223372036854775808\n", [](auto& root) { root.at("a").integer(); }),
              HasSubstr("64 bits"));
}

TEST(Yaml, NamesTheNearestKnownKey) {
  EXPECT_EQ(access_error("seed: 1\nthreshold: 2\n",
                         [](auto& root) {
                           root.only({"seed", "thresholds", "tables"});
                         }),
            "t.yaml:2: threshold: key 'threshold' is unknown; did you mean 'thresholds'?");
  EXPECT_NO_THROW(yaml::parse("a: 1\n", "t.yaml").only({"a", "b"}));
}

TEST(Yaml, RefusesWhatItWouldMisread) {
  EXPECT_EQ(parse_error("a: 1\nb: 2\na: 3\n"), "t.yaml:3: key 'a' is given twice; remove one");
  EXPECT_THAT(parse_error("t: {a: 1, a: 1}\n"), HasSubstr("'a' is given twice"));
  EXPECT_THAT(parse_error("a: &x 1\nb: 2\n"), HasSubstr("anchors"));
  EXPECT_THAT(parse_error("a: &x [1]\nb: *x\n"), HasSubstr("anchors"));
  EXPECT_THAT(parse_error("a: !!str 1\n"), HasSubstr("tags"));
  EXPECT_THAT(parse_error("a: !!seq [1]\n"), HasSubstr("tags"));
  EXPECT_THAT(parse_error("!!str a: 1\n"), HasSubstr("tags"));
  EXPECT_THAT(parse_error("a: 1\n---\nb: 1\n"), HasSubstr("one document"));
  EXPECT_THAT(parse_error("[1]: 2\n"), HasSubstr("a key must be a word"));
  EXPECT_THAT(parse_error("~: 2\n"), HasSubstr("a key is empty"));
}

TEST(Yaml, RefusesTruncatedAndDamagedText) {
  EXPECT_THAT(parse_error(""), HasSubstr("empty"));
  EXPECT_THAT(parse_error(" \n\n"), HasSubstr("empty"));
  EXPECT_THAT(parse_error("# a comment\n"), HasSubstr("nothing but comments"));
  EXPECT_THAT(parse_error("a: 1\nb: 2"), AllOf(StartsWith("t.yaml:2: "), HasSubstr("truncated")));
  EXPECT_THAT(parse_error("a: [1, 2\n"), HasSubstr("is not YAML, or is truncated"));
  EXPECT_THAT(parse_error("a: {b: 1\n"), HasSubstr("is not YAML, or is truncated"));
  EXPECT_THAT(parse_error("a: \"b\n"), HasSubstr("is not YAML, or is truncated"));
  EXPECT_THAT(parse_error("a: 1\n\tb: 2\n"), StartsWith("t.yaml:2: is not YAML"));
  EXPECT_THAT(parse_error("a: 1\nb: \x04\n"), AllOf(StartsWith("t.yaml:2: "), HasSubstr("control character 0x04")));
  EXPECT_THAT(parse_error(std::string_view("a: 1\0\n", 6)), HasSubstr("control character"));
}

TEST(Yaml, RefusesBottomlessNesting) {
  EXPECT_THAT(parse_error(std::string(100000, '[') + "\n"), StartsWith("t.yaml:1: "));
  std::string deep;
  for (int i = 0; i < 20000; ++i) deep += "- ";
  EXPECT_THAT(parse_error(deep + "1\n"), StartsWith("t.yaml:1: "));
}

TEST(YamlQuote, ReadsBackAsTheSameText) {
  EXPECT_EQ(yaml::quote("NVIDIA H200"), "NVIDIA H200");
  EXPECT_EQ(yaml::quote("v7 THREADS=256"), "v7 THREADS=256");
  EXPECT_EQ(yaml::quote("13.0"), "\"13.0\"");
  for (const char* text : {"",
                           "13.0",
                           "true",
                           "No",
                           "null",
                           "~",
                           "a: b",
                           "a #b",
                           "a,b",
                           "[a]",
                           "--flag",
                           "- a",
                           " a",
                           "a ",
                           "\"a\"",
                           "a\\b",
                           "a\nb",
                           "\ta",
                           "NVIDIA A100 (80GB)",
                           "caf\xc3\xa9",
                           "'a'",
                           "*a",
                           "&a",
                           "%a",
                           "@a"}) {
    const yaml::Node root =
        yaml::parse("t: {a: " + yaml::quote(text) + ", b: 1}\nc: " + yaml::quote(text) + "\n", "t.yaml");
    EXPECT_EQ(root.at("t").at("a").text(), text);
    EXPECT_EQ(root.at("c").text(), text);
  }
}

}  // namespace
}  // namespace softmax_dispatch
