#pragma once

#include <string>
#include <utility>

namespace softmax_dispatch {

/// Yes, or no with the reason in words.
struct Support {
  bool ok = true;
  std::string reason;

  static Support yes() { return {}; }
  static Support no(std::string reason) { return {false, std::move(reason)}; }
  explicit operator bool() const noexcept { return ok; }
};

}  // namespace softmax_dispatch
