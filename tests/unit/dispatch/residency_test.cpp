#include "dispatch/residency.hpp"

#include <gtest/gtest.h>

namespace softmax_dispatch::runtime {
namespace {

using Answer = Residency::Answer;

Geometry cooperative(std::int64_t grid, std::int64_t shared_bytes = 0, int block = 128) {
  return {.grid = grid, .block = block, .shared_bytes = shared_bytes, .cooperative = true};
}

TEST(Residency, AsksNothingOfBlocksThatDoNotWait) {
  EXPECT_EQ(Residency().ask({.grid = 1 << 30, .block = 128}), Answer::fits);
  EXPECT_EQ(Residency().ask({.grid = 8, .block = 128, .cluster = 2}), Answer::unknown);
  EXPECT_EQ(Residency().ask(cooperative(2)), Answer::unknown);
}

TEST(Residency, KnowsWhatWasNoted) {
  Residency residency;
  residency.note(cooperative(1, 1000), 80);
  EXPECT_EQ(residency.ask(cooperative(80, 1000)), Answer::fits);
  EXPECT_EQ(residency.ask(cooperative(81, 1000)), Answer::does_not_fit);
  EXPECT_EQ(residency.ask(cooperative(2, 1000, 256)), Answer::unknown) << "another block";
  Geometry cluster{.grid = 64, .block = 128, .cluster = 16};
  EXPECT_EQ(residency.ask(cluster), Answer::unknown);
  residency.note(cluster, 0);
  EXPECT_EQ(residency.ask(cluster), Answer::does_not_fit);
}

TEST(Residency, MoreSharedMemoryNeverHoldsMoreBlocks) {
  Residency residency;
  residency.note(cooperative(1, 1000), 80);
  EXPECT_EQ(residency.ask(cooperative(80, 500)), Answer::fits);
  EXPECT_EQ(residency.ask(cooperative(81, 500)), Answer::unknown);
  EXPECT_EQ(residency.ask(cooperative(80, 2000)), Answer::unknown);
  EXPECT_EQ(residency.ask(cooperative(81, 2000)), Answer::does_not_fit);
}

TEST(Residency, WhatItHasNoPlaceForDoesNotFit) {
  Residency residency;
  for (int block = 32; block <= 1024; block += 32) residency.note(cooperative(1, 0, block), 40);
  EXPECT_EQ(residency.ask(cooperative(2, 0, 32)), Answer::fits);
  EXPECT_EQ(residency.ask(cooperative(2, 0, 1024)), Answer::does_not_fit);
}

}  // namespace
}  // namespace softmax_dispatch::runtime
