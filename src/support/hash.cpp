#include "support/hash.hpp"

#include <fmt/core.h>

#include <cstdint>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace softmax_dispatch {

std::string hash_hex(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

Hasher& Hasher::add(std::string_view field) {
  data_ += std::to_string(field.size());
  data_ += ':';
  data_ += field;
  return *this;
}

}  // namespace softmax_dispatch
