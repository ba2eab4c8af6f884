#include <charconv>
#include <limits>

#include "device/sim/ptx/parser.hpp"
#include "support/text.hpp"

namespace softmax_dispatch::sim::ptx {
namespace {

bool read_digits(std::string_view text, int base, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

/// 0f and 0d are the bits of a float or a double.
bool read_real_bits(std::string_view text, Operand& operand) {
  const bool is_float = text.size() == 10 && (text[1] == 'f' || text[1] == 'F');
  const bool is_double = text.size() == 18 && (text[1] == 'd' || text[1] == 'D');
  if (text[0] != '0' || (!is_float && !is_double)) return false;
  operand.kind = Operand::Kind::real;
  operand.width = is_float ? 32 : 64;
  return read_digits(text.substr(2), 16, operand.bits);
}

bool read_integer(std::string_view text, Operand& operand) {
  operand.kind = Operand::Kind::integer;
  if (text.back() == 'U') text.remove_suffix(1);
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
    return read_digits(text.substr(2), 16, operand.bits);
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'b' || text[1] == 'B'))
    return read_digits(text.substr(2), 2, operand.bits);
  const int base = text.size() > 1 && text[0] == '0' ? 8 : 10;
  return read_digits(text, base, operand.bits);
}

bool read_decimal_real(std::string_view text, Operand& operand) {
  const auto value = parse_double(text);
  if (!value) return false;
  operand.kind = Operand::Kind::real;
  operand.width = 64;
  operand.bits = __builtin_bit_cast(std::uint64_t, *value);
  return true;
}

}  // namespace

void Reader::fail(const std::string& what) const {
  constexpr std::size_t kLongest = 60;
  throw_error(StatusCode::unsupported, "PTX line {}: {}; found '{}'", peek().line, what,
              peek().kind == TokenKind::end ? "the end" : peek().text.substr(0, kLongest));
}

bool Reader::accept(std::string_view text) {
  if (!peek().is(text)) return false;
  next();
  return true;
}

void Reader::expect(std::string_view text) {
  if (!accept(text)) fail(fmt::format("expected '{}'", text));
}

Token Reader::expect_name(const char* what) {
  if (peek().kind != TokenKind::name) fail(fmt::format("expected {}", what));
  return next();
}

Operand Reader::number() {
  const bool negative = accept("-");
  if (!negative) accept("+");
  if (peek().kind != TokenKind::number) fail("expected a number");
  Operand operand;
  const std::string_view text = peek().text;
  if (!read_real_bits(text, operand) && !read_integer(text, operand) && !read_decimal_real(text, operand))
    fail("this is not a number that fits 64 bits");
  next();
  if (negative && operand.kind == Operand::Kind::integer) operand.bits = 0 - operand.bits;
  if (negative && operand.kind == Operand::Kind::real) operand.bits ^= std::uint64_t{1} << (operand.width - 1);
  return operand;
}

std::uint64_t Reader::count(const char* what, std::uint64_t most) {
  if (peek().kind != TokenKind::number) fail(fmt::format("expected {}", what));
  const Operand operand = number();
  if (operand.kind != Operand::Kind::integer || operand.bits > most)
    fail(fmt::format("{} must be an integer of at most {}; before", what, most));
  return operand.bits;
}

void Reader::skip_braces() {
  expect("{");
  for (std::size_t depth = 1; depth > 0;) {
    if (peek().kind == TokenKind::end) fail("a brace is not closed");
    const Token token = next();
    if (token.is("{")) ++depth;
    if (token.is("}")) --depth;
  }
}

}  // namespace softmax_dispatch::sim::ptx
