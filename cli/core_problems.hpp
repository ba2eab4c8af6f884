#pragma once

#include <array>
#include <cstdint>
#include <utility>

namespace softmax_dispatch::cli {

/// `bench --problem core`: (M, N) of the shapes that figures are quoted for. The published T4 shapes, a sweep of N at
/// equal bytes, rows of a vocabulary with few rows (decoding), small matrices, and lengths that are no multiple of
/// four.
inline constexpr std::array<std::pair<std::int64_t, std::int64_t>, 38> kCoreProblems{{
    {1024, 257},   {1025, 257},   {1024, 4096},  {128, 4096},   {128, 16384},                  //
    {4194304, 8},  {1048576, 32}, {262144, 128}, {131072, 256}, {65536, 512},  {32768, 1024},  //
    {16384, 2048}, {8192, 4096},  {4096, 8192},  {2048, 16384}, {1024, 32768}, {512, 65536},   //
    {256, 131072}, {128, 262144},                                                              //
    {1, 32000},    {1, 128256},   {4, 128256},   {16, 128256},  {64, 128256},  {256, 50257},   //
    {1, 1048576},  {8, 1048576},                                                               //
    {1, 128},      {16, 1024},    {64, 512},     {256, 1024},   {2048, 128},                   //
    {32768, 77},   {32768, 1023}, {8192, 4097},  {4096, 12345}, {151296, 197}, {294912, 384},  //
}};

}  // namespace softmax_dispatch::cli
