#pragma once

#include "variants/variant.hpp"

namespace softmax_dispatch {

/// A few values for every axis that a variant of the product has: two warps, a number of warps that is no power of two,
/// and usual blocks.
inline Ladders small_ladders() {
  return {{"THREADS", {64, 96, 128, 256}},
          {"ITEMS", {3, 16}},
          {"VEC_ITEMS", {2, 4}},
          {"GRID", {2}},
          {"LANES", {4, 32}},
          {"ROWS", {2}},
          {"STREAM", {1}},
          {"TILE_ROWS", {16}},
          {"PARTS", {4, 16}},
          {"SHARED_ITEMS", {0, 2}},
          {"STAGES", {6}},
          {"AHEAD", {3}}};
}

/// The same with other values for some of the axes.
inline Ladders small_ladders(const Ladders& others) {
  Ladders ladders = small_ladders();
  for (const auto& [axis, values] : others) ladders.insert_or_assign(axis, values);
  return ladders;
}

}  // namespace softmax_dispatch
