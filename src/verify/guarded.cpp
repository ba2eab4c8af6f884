#include "verify/guarded.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace softmax_dispatch::verify {
namespace {

// More than a block of 1024 threads covers with one vector each.
constexpr std::size_t kGuardWords = 4096;
constexpr std::uint32_t kPoison = 0xffffffffu;

std::uint32_t bits(float word) {
  return std::bit_cast<std::uint32_t>(word);
}

float guard_word(std::size_t position) {
  return std::bit_cast<float>(0x7fc00000u | static_cast<std::uint32_t>(position & 0xfffffu));
}

void write_guard(std::vector<float>& words, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) words[i] = guard_word(i);
}

}  // namespace

std::string to_string(const Placement& placement) {
  if (placement.in_place && placement.x_offset == 0) return "in place";
  if (placement.in_place) return fmt::format("in place + {} bytes", 4 * placement.x_offset);
  if (placement.x_offset == 0 && placement.y_offset == 0) return "aligned";
  return fmt::format("x + {} bytes, y + {} bytes", 4 * placement.x_offset, 4 * placement.y_offset);
}

void GuardedBuffers::prepare(std::span<const float> x, const Placement& placement) {
  elements_ = x.size();
  x_begin_ = kGuardWords + static_cast<std::size_t>(placement.x_offset);
  const std::size_t x_end = x_begin_ + elements_;
  std::size_t end = x_end;
  y_begin_ = x_begin_;
  if (!placement.in_place) {
    y_begin_ = (x_end + kGuardWords + 3) / 4 * 4 + static_cast<std::size_t>(placement.y_offset);
    end = y_begin_ + elements_;
  }
  sent_.resize(end + kGuardWords);
  write_guard(sent_, 0, x_begin_);
  std::memcpy(sent_.data() + x_begin_, x.data(), elements_ * sizeof(float));
  if (!placement.in_place) {
    write_guard(sent_, x_end, y_begin_);
    std::fill(sent_.begin() + static_cast<std::ptrdiff_t>(y_begin_), sent_.begin() + static_cast<std::ptrdiff_t>(end),
              std::bit_cast<float>(kPoison));
  }
  write_guard(sent_, end, sent_.size());
  const std::size_t bytes = sent_.size() * sizeof(float);
  if (buffer_.bytes() < bytes) buffer_ = Buffer(device_, bytes);
  device_.upload(buffer_.get(), sent_.data(), bytes);
}

void GuardedBuffers::fetch() {
  received_.resize(sent_.size());
  device_.download(received_.data(), buffer_.get(), sent_.size() * sizeof(float));
}

std::optional<std::string> GuardedBuffers::damage() const {
  const auto differing = [&](std::size_t begin, std::size_t end) -> std::optional<std::size_t> {
    if (std::memcmp(sent_.data() + begin, received_.data() + begin, (end - begin) * sizeof(float)) == 0)
      return std::nullopt;
    while (bits(sent_[begin]) == bits(received_[begin])) ++begin;
    return begin;
  };
  auto word = differing(0, y_begin_);
  if (!word) word = differing(y_begin_ + elements_, sent_.size());
  if (!word) return std::nullopt;
  return describe_damage(*word);
}

std::string GuardedBuffers::describe_damage(std::size_t word) const {
  const auto bytes = [](std::size_t words) { return words * sizeof(float); };
  const std::size_t x_end = x_begin_ + elements_;
  const std::size_t y_end = y_begin_ + elements_;
  const char* first = y_begin_ == x_begin_ ? "the matrix" : "the input";
  if (word >= y_end) return fmt::format("wrote {} bytes past the end of the output", bytes(word - y_end));
  if (word < x_begin_) return fmt::format("wrote {} bytes before the start of {}", bytes(x_begin_ - word), first);
  if (word < x_end) return fmt::format("changed its input at element {}", word - x_begin_);
  if (word - x_end < y_begin_ - word)
    return fmt::format("wrote {} bytes past the end of the input", bytes(word - x_end));
  return fmt::format("wrote {} bytes before the start of the output", bytes(y_begin_ - word));
}

std::span<const float> GuardedBuffers::output() const {
  return std::span(received_).subspan(y_begin_, elements_);
}

bool GuardedBuffers::unwritten(float element) noexcept {
  return bits(element) == kPoison;
}

}  // namespace softmax_dispatch::verify
