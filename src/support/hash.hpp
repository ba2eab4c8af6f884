#pragma once

#include <string>
#include <string_view>

namespace softmax_dispatch {

/// XXH3-128 of the bytes, as 32 lower-case hexadecimal digits.
std::string hash_hex(std::string_view bytes);

/// Collects several fields into one hash; each is length-prefixed, so that ("ab", "c") and ("a", "bc") differ.
class Hasher {
 public:
  Hasher& add(std::string_view field);
  std::string hex() const { return hash_hex(data_); }

 private:
  std::string data_;
};

}  // namespace softmax_dispatch
