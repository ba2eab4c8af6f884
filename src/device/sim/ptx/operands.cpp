#include <algorithm>

#include "device/sim/ptx/parser.hpp"

namespace softmax_dispatch::sim::ptx {
namespace {

constexpr std::size_t kLongestVector = 8;

}  // namespace

// Nesting is bounded by the grammar: pairs hold simple operands, vectors and addresses too.
Operand BodyParser::operand() {
  if (reader_.peek().is("[")) return address();
  if (reader_.peek().is("{")) return vector();
  Operand first = simple();
  if (!reader_.accept("|")) return first;
  Operand pair;
  pair.kind = Operand::Kind::pair;
  pair.items.push_back(std::move(first));
  pair.items.push_back(simple());
  return pair;
}

Operand BodyParser::vector() {
  Operand made;
  made.kind = Operand::Kind::vector;
  reader_.expect("{");
  do {
    if (made.items.size() >= kLongestVector) reader_.fail("a vector of too many elements");
    made.items.push_back(simple());
  } while (reader_.accept(","));
  reader_.expect("}");
  return made;
}

Operand BodyParser::address() {
  Operand made;
  made.kind = Operand::Kind::address;
  reader_.expect("[");
  made.items.push_back(simple());
  made.offset = displacement();
  reader_.expect("]");
  return made;
}

std::int64_t BodyParser::displacement() {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  if (!reader_.peek().is("+") && !reader_.peek().is("-")) return 0;
  const bool plus = reader_.accept("+");  // as in [%rd1+-4]
  const Operand number = reader_.number();
  const auto value = static_cast<std::int64_t>(number.bits);
  if (number.kind != Operand::Kind::integer || value > kMost || value < -kMost)
    reader_.fail(plus ? "an offset that is no integer of 40 bits before" : "this is no offset");
  return value;
}

Operand BodyParser::simple() {
  if (reader_.peek().kind == TokenKind::number || reader_.peek().is("-")) return reader_.number();
  const bool negated = reader_.accept("!");
  Operand made = named(reader_.expect_name("an operand"));
  if (negated && made.kind != Operand::Kind::reg) reader_.fail("'!' before something that is no register");
  made.negated = negated;
  return made;
}

Operand BodyParser::named(const Token& name) {
  Operand made;
  made.text = name.text;
  if (name.text == "_") {
    made.kind = Operand::Kind::sink;
    return made;
  }
  if (const std::int32_t index = find_register(name.text); index >= 0) {
    made.kind = Operand::Kind::reg;
    made.index = static_cast<std::uint32_t>(index);
    return made;
  }
  if (name.text == "WARP_SZ") {
    made.kind = Operand::Kind::integer;
    made.bits = 32;
    return made;
  }
  if (find_variable(name.text, made)) return made;
  made.kind = name.text.front() == '%' ? Operand::Kind::special : Operand::Kind::label;
  return made;
}

bool BodyParser::find_variable(std::string_view name, Operand& operand) const {
  const auto look = [&](const std::vector<Variable>& variables, Operand::Kind kind) {
    const auto found = std::find_if(variables.begin(), variables.end(), [&](const auto& v) { return v.name == name; });
    if (found == variables.end()) return false;
    operand.kind = kind;
    operand.index = static_cast<std::uint32_t>(found - variables.begin());
    return true;
  };
  return look(entry_.variables, Operand::Kind::entry_variable) || look(entry_.params, Operand::Kind::param) ||
         look(module_.variables, Operand::Kind::module_variable);
}

}  // namespace softmax_dispatch::sim::ptx
