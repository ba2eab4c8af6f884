#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "jit/resources.hpp"

namespace softmax_dispatch::jit {

/// What the cache keeps of a compilation: a few lines of text with the resources and the hash, then the image.
struct Entry {
  Resources resources;
  std::string code_hash;  ///< Of the cubin, which need not be the image.
  std::string image;
};

std::string to_text(const Entry& entry);
/// None for text that to_text() did not write.
std::optional<Entry> parse_entry(std::string_view text);

}  // namespace softmax_dispatch::jit
