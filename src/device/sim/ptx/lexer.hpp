#pragma once

#include <cstddef>
#include <string_view>

namespace softmax_dispatch::sim::ptx {

enum class TokenKind {
  name,    ///< "ld.global.f32", "%tid.x", ".reg", "$L__BB0_2": whatever starts with a letter or one of . % $ _
  number,  ///< As written: "12", "0x1F", "0f3F000000", "1.5e-3"
  text,    ///< "..." without its quotes
  symbol,  ///< One character
  end
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;
  int line = 1;

  bool is(std::string_view other) const noexcept { return kind != TokenKind::text && text == other; }
};

/// Splits PTX text into tokens, one ahead of its reader. Comments are skipped. Throws Error(unsupported) for characters
/// that no token starts with. Keeps views of the text.
class Lexer {
 public:
  explicit Lexer(std::string_view source);

  const Token& peek() const noexcept { return current_; }
  const Token& after() const noexcept { return following_; }  ///< The token after peek().
  Token next();

 private:
  Token scan();
  void skip_blank();
  Token make(TokenKind kind, std::size_t begin) const;

  std::string_view source_;
  std::size_t position_ = 0;
  int line_ = 1;
  Token current_, following_;
};

}  // namespace softmax_dispatch::sim::ptx
