#include <algorithm>

#include "device/sim/ptx/parser.hpp"

namespace softmax_dispatch::sim::ptx {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 28;
constexpr std::uint64_t kMostAlign = 4096;
constexpr std::size_t kMostInitialBytes = std::size_t{1} << 22;

/// [4][8], [] or nothing: how many elements; 0 for an array without size.
std::uint64_t dimensions(Reader& reader) {
  std::uint64_t elements = 1;
  while (reader.accept("[")) {
    const std::uint64_t size = reader.peek().is("]") ? 0 : reader.count("the size of an array", kMostBytes);
    reader.expect("]");
    elements *= size;
    if (elements > kMostBytes) reader.fail("a variable of more bytes than any device has");
  }
  return elements;
}

void add_value(Reader& reader, const Type& type, Variable& variable) {
  Operand value = reader.number();
  if (value.kind == Operand::Kind::real && value.width == 64 && type.bits == 32) {
    const auto narrowed = static_cast<float>(__builtin_bit_cast(double, value.bits));
    value.bits = __builtin_bit_cast(std::uint32_t, narrowed);
  }
  if (variable.values.size() >= std::min<std::uint64_t>(variable.bytes, kMostInitialBytes))
    reader.fail("more initial values than the variable has bytes, or than can be kept");
  for (int byte = 0; byte < type.bits / 8; ++byte)
    variable.values.push_back(static_cast<std::uint8_t>(value.bits >> (8 * byte)));
}

/// A number, or numbers in braces; inner braces only group them.
void initial_values(Reader& reader, const Type& type, Variable& variable) {
  std::size_t depth = 0;
  do {
    while (reader.accept("{")) ++depth;
    if (!reader.peek().is("}")) add_value(reader, type, variable);
    while (depth > 0 && reader.accept("}")) --depth;
  } while (depth > 0 && reader.accept(","));
  if (depth > 0) reader.expect("}");
}

/// Attributes and type up to the name: `.align 4 .b8`, `.u64 .ptr .global .align 4`.
Type attributes(Reader& reader, Variable& variable) {
  Type type;
  bool of_target = false;  // what follows .ptr describes what a pointer points to
  while (reader.peek().kind == TokenKind::name && reader.peek().text.front() == '.') {
    const std::string_view text = reader.peek().text.substr(1);
    if (const Type named = parse_type(text); named.bits != 0) type = named;
    const bool known = parse_type(text).bits >= 8 || text == "align" || text == "ptr" ||
                       parse_space(reader.peek().text) != Space::none;
    if (!known) reader.fail("this attribute of a variable is not supported");
    reader.next();
    of_target |= text == "ptr";
    if (text == "align") {
      const auto align = static_cast<std::uint32_t>(reader.count("an alignment", kMostAlign));
      if (align == 0 || (align & (align - 1)) != 0) reader.fail("an alignment that is no power of two, before");
      if (!of_target) variable.align = align;
    }
  }
  if (type.bits == 0) reader.fail("expected the type of a variable");
  return type;
}

Variable one_variable(Reader& reader, const Variable& shared_attributes, const Type& type) {
  Variable variable = shared_attributes;
  variable.name = reader.expect_name("the name of a variable").text;
  variable.bytes = dimensions(reader) * (type.bits / 8u);
  variable.align = std::max<std::uint32_t>(variable.align, type.bits / 8u);
  if (reader.accept("=")) initial_values(reader, type, variable);
  return variable;
}

}  // namespace

Space parse_space(std::string_view directive) noexcept {
  if (directive == ".reg") return Space::reg;
  if (directive == ".param") return Space::param;
  if (directive == ".global") return Space::global;
  if (directive == ".const") return Space::constant;
  if (directive == ".shared") return Space::shared;
  if (directive == ".local") return Space::local;
  return Space::none;
}

void parse_variables(Reader& reader, std::vector<Variable>& out) {
  Variable variable;
  variable.space = parse_space(reader.next().text);
  const Type type = attributes(reader, variable);
  do {
    out.push_back(one_variable(reader, variable, type));
  } while (reader.accept(","));
  reader.expect(";");
}

Variable parse_param(Reader& reader) {
  if (parse_space(reader.peek().text) != Space::param) reader.fail("expected .param");
  reader.next();
  Variable variable;
  variable.space = Space::param;
  const Type type = attributes(reader, variable);
  return one_variable(reader, variable, type);
}

Locations::Place Locations::place(Reader& reader) {
  constexpr std::uint64_t kMost = 0xffffffff;
  const auto file = static_cast<std::uint32_t>(reader.count("a file number", kMost));
  const auto line = static_cast<std::uint32_t>(reader.count("a line number", kMost));
  const auto column = static_cast<std::uint32_t>(reader.count("a column number", kMost));
  return {file, line, column};
}

std::int32_t Locations::add(const Place& place, std::int32_t inlined_at) {
  const auto index = static_cast<std::int32_t>(module_.lines.size());
  module_.lines.push_back({std::get<0>(place), std::get<1>(place), inlined_at});
  latest_[place] = index;
  return index;
}

std::int32_t Locations::parse(Reader& reader) {
  const Place here = place(reader);
  std::int32_t inlined_at = -1;
  while (reader.accept(",")) {
    const Token word = reader.expect_name("function_name or inlined_at");
    if (word.text == "function_name") {
      reader.expect_name("a label");
      if (reader.accept("+")) reader.count("an offset", 0xffffffff);
    } else if (word.text == "inlined_at") {
      const Place caller = place(reader);
      const auto found = latest_.find(caller);
      inlined_at = found == latest_.end() ? add(caller, -1) : found->second;
    } else {
      reader.fail("expected function_name or inlined_at before");
    }
  }
  return add(here, inlined_at);
}

}  // namespace softmax_dispatch::sim::ptx
