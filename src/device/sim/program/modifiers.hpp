#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "device/sim/ptx/module.hpp"

namespace softmax_dispatch::sim {

/// An opcode taken apart at its dots: "ld.global.f32" is the base "ld" and the modifiers "global" and "f32". Decoders
/// take what they know; what is left is not supported.
class Modifiers {
 public:
  explicit Modifiers(std::string_view opcode) {
    for (std::size_t begin = 0; begin <= opcode.size();) {
      const std::size_t end = std::min(opcode.find('.', begin), opcode.size());
      parts_.push_back(opcode.substr(begin, end - begin));
      begin = end + 1;
    }
    base_ = parts_.front();
    parts_.erase(parts_.begin());
  }

  std::string_view base() const noexcept { return base_; }
  bool has(std::string_view name) const noexcept {
    return std::find(parts_.begin(), parts_.end(), name) != parts_.end();
  }
  /// Whether the modifier is there; it counts as understood.
  bool take(std::string_view name) {
    const auto found = std::find(parts_.begin(), parts_.end(), name);
    if (found == parts_.end()) return false;
    parts_.erase(found);
    return true;
  }
  /// The one of the names that is there, or "".
  std::string_view take_one_of(std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) {
      if (take(name)) return name;
    }
    return {};
  }
  /// Takes every modifier for which the predicate is true.
  template <typename Predicate>
  void take_all(Predicate predicate) {
    std::erase_if(parts_, predicate);
  }
  /// The last type, or one of no bits.
  ptx::Type take_type() {
    for (auto part = parts_.rbegin(); part != parts_.rend(); ++part) {
      const ptx::Type type = ptx::parse_type(*part);
      if (type.bits == 0) continue;
      parts_.erase(std::next(part).base());
      return type;
    }
    return {};
  }
  /// How many elements v<n> says; 1 where there is none.
  int take_vector() {
    int count = 1;
    take_all([&](std::string_view part) {
      if (part.size() != 2 || part[0] != 'v' || part[1] < '2' || part[1] > '8') return false;
      count = part[1] - '0';
      return true;
    });
    return count;
  }
  const std::vector<std::string_view>& rest() const noexcept { return parts_; }

 private:
  std::string_view base_;
  std::vector<std::string_view> parts_;
};

/// ".u32" for a type; what rows are named by.
std::string suffix(const ptx::Type& type);

}  // namespace softmax_dispatch::sim
