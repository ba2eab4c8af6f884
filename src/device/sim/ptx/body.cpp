#include <charconv>

#include "device/sim/ptx/parser.hpp"

namespace softmax_dispatch::sim::ptx {
namespace {

constexpr std::size_t kDeepestScope = 64;
constexpr std::size_t kMostInstructions = std::size_t{1} << 20;
constexpr std::size_t kMostRegisters = std::size_t{1} << 20;
constexpr std::size_t kMostOperands = 16;

/// Whether registers of the type can exist; there is no register of 8 bits or of packed halves.
bool is_register_type(const Type& type) {
  return type.bits == 1 || ((type.bits == 8 || type.bits == 16 || type.bits == 32 || type.bits == 64) && !type.packed);
}

}  // namespace

BodyParser::BodyParser(Reader& reader, Module& module, Entry& entry, Locations& locations)
    : reader_(reader), module_(module), entry_(entry), locations_(locations) {}

void BodyParser::parse() {
  reader_.expect("{");
  open_scope();
  while (!scopes_.empty()) statement();
  if (!pending_.empty()) {
    const Instruction& instruction = entry_.code[pending_.front().instruction];
    throw_error(StatusCode::unsupported, "PTX line {}: '{}' is no register, variable or label of kernel {}",
                instruction.line, instruction.operands[pending_.front().operand].text, entry_.name);
  }
}

void BodyParser::open_scope() {
  if (scopes_.size() >= kDeepestScope) reader_.fail("scopes are nested too deeply");
  scopes_.emplace_back();
  scopes_.back().pending_before = pending_.size();
}

void BodyParser::close_scope() {
  const Scope& scope = scopes_.back();
  std::size_t kept = scope.pending_before;
  for (std::size_t i = scope.pending_before; i < pending_.size(); ++i) {
    Operand& operand = entry_.code[pending_[i].instruction].operands[pending_[i].operand];
    const auto label = scope.labels.find(operand.text);
    if (label == scope.labels.end()) {
      pending_[kept++] = pending_[i];
    } else {
      operand.index = label->second;
    }
  }
  pending_.resize(kept);
  scopes_.pop_back();
}

void BodyParser::statement() {
  const Token token = reader_.peek();
  if (token.kind == TokenKind::end) reader_.fail(fmt::format("the code of kernel {} does not end", entry_.name));
  if (reader_.accept("{")) {
    open_scope();
  } else if (reader_.accept("}")) {
    close_scope();
  } else if (reader_.accept(";")) {
    return;
  } else if (token.kind == TokenKind::name && reader_.after().is(":")) {
    const std::string_view label = reader_.next().text;
    reader_.next();
    if (!scopes_.back().labels.emplace(label, entry_.code.size()).second) reader_.fail("a label stands twice before");
  } else if (token.kind == TokenKind::name && token.text.front() == '.') {
    directive();
  } else {
    instruction();
  }
}

void BodyParser::directive() {
  const std::string_view text = reader_.peek().text;
  switch (parse_space(text)) {
    case Space::reg:
      return declare_registers();
    case Space::shared:
    case Space::local:
      return parse_variables(reader_, entry_.variables);
    default:
      break;
  }
  if (text == ".loc") {
    reader_.next();
    source_ = locations_.parse(reader_);
  } else if (text == ".pragma") {
    reader_.next();
    if (reader_.next().kind != TokenKind::text) reader_.fail("expected a text before");
    reader_.expect(";");
  } else {
    reader_.fail("this directive is not supported inside a kernel");
  }
}

void BodyParser::declare_registers() {
  reader_.next();
  const Type type = parse_type(reader_.expect_name("a type").text.substr(1));
  if (!is_register_type(type)) reader_.fail("no register has the type before");
  do {
    const std::string_view name = reader_.expect_name("the name of a register").text;
    if (reader_.accept("<")) {
      scopes_.back().ranges.push_back({name, reader_.count("a number of registers", 0xffffffff), type});
      reader_.expect(">");
    } else {
      add_register(scopes_.back(), name, type);
    }
  } while (reader_.accept(","));
  reader_.expect(";");
}

std::uint32_t BodyParser::add_register(Scope& scope, std::string_view name, Type type) {
  if (entry_.registers.size() >= kMostRegisters) reader_.fail("too many registers");
  const auto index = static_cast<std::uint32_t>(entry_.registers.size());
  if (!scope.registers.emplace(name, index).second) reader_.fail("a register is declared twice before");
  entry_.registers.push_back({name, type});
  return index;
}

std::int32_t BodyParser::find_register(std::string_view name) {
  std::size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
  const std::string_view prefix = name.substr(0, digits);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data() + digits, name.data() + name.size(), number);
  const bool numbered = error == std::errc() && (name.size() - digits == 1 || name[digits] != '0');
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    const auto found = scope->registers.find(name);
    if (found != scope->registers.end()) return static_cast<std::int32_t>(found->second);
    if (!numbered) continue;
    for (const Range& range : scope->ranges) {
      if (range.prefix == prefix && number < range.count)
        return static_cast<std::int32_t>(add_register(*scope, name, range.type));
    }
  }
  return -1;
}

void BodyParser::instruction() {
  if (entry_.code.size() >= kMostInstructions) reader_.fail("too many instructions");
  Instruction made;
  made.line = static_cast<std::uint32_t>(reader_.peek().line);
  made.source = source_;
  if (reader_.accept("@")) {
    made.guard_negated = reader_.accept("!");
    made.guard = find_register(reader_.expect_name("the predicate of a guard").text);
    if (made.guard < 0 || entry_.registers[static_cast<std::size_t>(made.guard)].type.bits != 1)
      reader_.fail("a guard that is no predicate before");
  }
  made.opcode = reader_.expect_name("an instruction").text;
  if (made.opcode.starts_with("call")) {
    throw_error(StatusCode::unsupported, "the simulator does not support calls: '{}' at {} of kernel {}", made.opcode,
                module_.describe(made.line, source_), entry_.name);
  }
  const auto index = static_cast<std::uint32_t>(entry_.code.size());
  while (!reader_.peek().is(";")) {
    if (!made.operands.empty()) reader_.expect(",");
    if (made.operands.size() >= kMostOperands) reader_.fail("too many operands");
    made.operands.push_back(operand());
    if (made.operands.back().kind == Operand::Kind::label)
      pending_.push_back({index, static_cast<std::uint32_t>(made.operands.size() - 1)});
  }
  reader_.next();
  entry_.code.push_back(std::move(made));
}

}  // namespace softmax_dispatch::sim::ptx
