#include "verify/guarded.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

namespace softmax_dispatch::verify {
namespace {

// More than a block of 1024 threads covers with one vector each.
constexpr std::size_t kGuardBytes = std::size_t{1} << 14;
constexpr std::size_t kVectorBytes = 16;
constexpr std::byte kPoison{0xff};

/// A quiet NaN whose other bits follow from its place.
template <typename Word>
Word guard_word(Word nan, Word payload, std::size_t at) {
  return static_cast<Word>(nan | (static_cast<Word>(at / sizeof(Word)) & payload));
}

template <typename Word>
void fill_guard(std::span<std::byte> bytes, std::size_t begin, std::size_t end, Word nan, Word payload) {
  for (std::size_t at = begin; at < end; at += sizeof(Word)) {
    const Word word = guard_word(nan, payload, at);
    std::memcpy(bytes.data() + at, &word, sizeof word);
  }
}

void write_guard(DType dtype, std::span<std::byte> bytes, std::size_t begin, std::size_t end) {
  switch (dtype) {
    case DType::f32:
      return fill_guard<std::uint32_t>(bytes, begin, end, 0x7fc00000u, 0xfffffu);
    case DType::f16:
      return fill_guard<std::uint16_t>(bytes, begin, end, 0x7e00u, 0xffu);
    case DType::bf16:
      return fill_guard<std::uint16_t>(bytes, begin, end, 0x7fc0u, 0x1fu);
  }
}

template <typename Word>
std::optional<std::int64_t> first_poison(std::span<const std::byte> elements) noexcept {
  for (std::size_t at = 0; at < elements.size(); at += sizeof(Word)) {
    Word word = 0;
    std::memcpy(&word, elements.data() + at, sizeof word);
    if (word == static_cast<Word>(~Word{0})) return static_cast<std::int64_t>(at / sizeof(Word));
  }
  return std::nullopt;
}

}  // namespace

std::string to_string(const Placement& placement, DType dtype) {
  const auto bytes = [dtype](int elements) { return static_cast<std::size_t>(elements) * size_of(dtype); };
  if (placement.in_place && placement.x_offset == 0) return "in place";
  if (placement.in_place) return fmt::format("in place + {} bytes", bytes(placement.x_offset));
  if (placement.x_offset == 0 && placement.y_offset == 0) return "aligned";
  return fmt::format("x + {} bytes, y + {} bytes", bytes(placement.x_offset), bytes(placement.y_offset));
}

void GuardedBuffers::prepare(std::span<const std::byte> x, const Placement& placement) {
  const auto bytes_of = [&](int elements) { return static_cast<std::size_t>(elements) * size_of(dtype_); };
  bytes_ = x.size();
  x_begin_ = kGuardBytes + bytes_of(placement.x_offset);
  const std::size_t x_end = x_begin_ + bytes_;
  std::size_t end = x_end;
  y_begin_ = x_begin_;
  if (!placement.in_place) {
    y_begin_ = (x_end + kGuardBytes + kVectorBytes - 1) / kVectorBytes * kVectorBytes + bytes_of(placement.y_offset);
    end = y_begin_ + bytes_;
  }
  sent_.resize(end + kGuardBytes);
  write_guard(dtype_, sent_, 0, x_begin_);
  std::memcpy(sent_.data() + x_begin_, x.data(), bytes_);
  if (!placement.in_place) {
    write_guard(dtype_, sent_, x_end, y_begin_);
    std::fill(sent_.begin() + static_cast<std::ptrdiff_t>(y_begin_), sent_.begin() + static_cast<std::ptrdiff_t>(end),
              kPoison);
  }
  write_guard(dtype_, sent_, end, sent_.size());
  if (buffer_.bytes() < sent_.size()) buffer_ = Buffer(device_, sent_.size());
  device_.upload(buffer_.get(), sent_.data(), sent_.size());
}

void GuardedBuffers::fetch() {
  received_.resize(sent_.size());
  device_.download(received_.data(), buffer_.get(), sent_.size());
}

std::optional<std::string> GuardedBuffers::damage() const {
  const auto differing = [&](std::size_t begin, std::size_t end) -> std::optional<std::size_t> {
    if (std::memcmp(sent_.data() + begin, received_.data() + begin, end - begin) == 0) return std::nullopt;
    while (sent_[begin] == received_[begin]) ++begin;
    return begin - begin % size_of(dtype_);
  };
  auto at = differing(0, y_begin_);
  if (!at) at = differing(y_begin_ + bytes_, sent_.size());
  if (!at) return std::nullopt;
  return describe_damage(*at);
}

std::string GuardedBuffers::describe_damage(std::size_t at) const {
  const std::size_t x_end = x_begin_ + bytes_;
  const std::size_t y_end = y_begin_ + bytes_;
  const char* first = y_begin_ == x_begin_ ? "the matrix" : "the input";
  if (at >= y_end) return fmt::format("wrote {} bytes past the end of the output", at - y_end);
  if (at < x_begin_) return fmt::format("wrote {} bytes before the start of {}", x_begin_ - at, first);
  if (at < x_end) return fmt::format("changed its input at element {}", (at - x_begin_) / size_of(dtype_));
  if (at - x_end < y_begin_ - at) return fmt::format("wrote {} bytes past the end of the input", at - x_end);
  return fmt::format("wrote {} bytes before the start of the output", y_begin_ - at);
}

std::span<const std::byte> GuardedBuffers::output() const {
  return std::span(received_).subspan(y_begin_, bytes_);
}

std::optional<std::int64_t> first_unwritten(std::span<const std::byte> elements, DType dtype) noexcept {
  return dtype == DType::f32 ? first_poison<std::uint32_t>(elements) : first_poison<std::uint16_t>(elements);
}

}  // namespace softmax_dispatch::verify
