#include "device/sim/ptx/lexer.hpp"

#include "support/error.hpp"

namespace softmax_dispatch::sim::ptx {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool starts_name(char c) {
  return is_letter(c) || c == '_' || c == '$' || c == '%' || c == '.';
}
bool continues_name(char c) {
  return starts_name(c) || is_digit(c);
}

}  // namespace

Lexer::Lexer(std::string_view source) : source_(source) {
  current_ = scan();
  following_ = scan();
}

Token Lexer::next() {
  const Token token = current_;
  current_ = following_;
  if (following_.kind != TokenKind::end) following_ = scan();
  return token;
}

Token Lexer::make(TokenKind kind, std::size_t begin) const {
  return {kind, source_.substr(begin, position_ - begin), line_};
}

void Lexer::skip_blank() {
  while (position_ < source_.size()) {
    const char c = source_[position_];
    if (c == '\n') ++line_;
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\0') {
      ++position_;
    } else if (source_.substr(position_, 2) == "//") {
      while (position_ < source_.size() && source_[position_] != '\n') ++position_;
    } else if (source_.substr(position_, 2) == "/*") {
      const std::size_t close = source_.find("*/", position_ + 2);
      const std::size_t end = close == std::string_view::npos ? source_.size() : close + 2;
      for (; position_ < end; ++position_) line_ += source_[position_] == '\n';
    } else {
      return;
    }
  }
}

Token Lexer::scan() {
  skip_blank();
  const std::size_t begin = position_;
  if (begin == source_.size()) return make(TokenKind::end, begin);
  const char first = source_[position_++];
  const auto at = [&](std::size_t i) { return i < source_.size() ? source_[i] : '\0'; };
  if (starts_name(first)) {
    for (;;) {
      if (continues_name(at(position_))) {
        ++position_;
      } else if (at(position_) == ':' && at(position_ + 1) == ':' &&
                 (is_letter(at(position_ + 2)) || is_digit(at(position_ + 2)))) {
        position_ += 3;  // as in L1::no_allocate and L2::128B
      } else {
        return make(TokenKind::name, begin);
      }
    }
  }
  if (is_digit(first)) {
    while (continues_name(at(position_)) ||
           ((at(position_) == '-' || at(position_) == '+') && (at(position_ - 1) == 'e' || at(position_ - 1) == 'E') &&
            at(begin + 1) != 'x' && at(begin + 1) != 'f' && at(begin + 1) != 'd')) {
      ++position_;
    }
    return make(TokenKind::number, begin);
  }
  if (first == '"') {
    while (at(position_) != '"' && at(position_) != '\n' && at(position_) != '\0') {
      position_ += at(position_) == '\\' && position_ + 1 < source_.size() ? 2u : 1u;
    }
    if (at(position_) != '"') throw_error(StatusCode::unsupported, "PTX line {}: a text does not end", line_);
    Token token = make(TokenKind::text, begin + 1);
    ++position_;
    return token;
  }
  constexpr std::string_view kSymbols = ",;:{}[]()<>+-*@!|=~&/";
  if (kSymbols.find(first) == std::string_view::npos) {
    throw_error(StatusCode::unsupported, "PTX line {}: the character {:#04x} is not part of PTX", line_,
                static_cast<unsigned>(static_cast<unsigned char>(first)));
  }
  return make(TokenKind::symbol, begin);
}

}  // namespace softmax_dispatch::sim::ptx
