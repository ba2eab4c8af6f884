#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// A fuzz target: two functions, so that this folder's driver or libFuzzer can drive it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

/// Valid inputs from which the driver makes others.
std::vector<std::string> fuzz_corpus();
