#include "support/hash.hpp"

#include <gtest/gtest.h>

namespace softmax_dispatch {
namespace {

TEST(HashHex, IsXxh3Of128Bits) {
  // The value that the specification of XXH3 gives for no input and seed 0.
  EXPECT_EQ(hash_hex(""), "99aa06d3014798d86001c324468d497f");
  EXPECT_NE(hash_hex("a"), hash_hex("b"));
}

TEST(Hasher, KeepsFieldsApart) {
  EXPECT_EQ(Hasher().add("ab").add("c").hex(), Hasher().add("ab").add("c").hex());
  EXPECT_NE(Hasher().add("ab").add("c").hex(), Hasher().add("a").add("bc").hex());
  EXPECT_NE(Hasher().add("ab").hex(), Hasher().add("ab").add("").hex());
  EXPECT_NE(Hasher().add("a1:b").hex(), Hasher().add("a").add("b").hex());
}

}  // namespace
}  // namespace softmax_dispatch
