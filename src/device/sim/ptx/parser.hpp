#pragma once

#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "device/sim/ptx/lexer.hpp"
#include "device/sim/ptx/module.hpp"
#include "support/error.hpp"

namespace softmax_dispatch::sim::ptx {

/// What all parts of the parser share: the tokens, and errors that name their line.
class Reader {
 public:
  explicit Reader(std::string_view text) : lexer_(text) {}

  const Token& peek() const noexcept { return lexer_.peek(); }
  const Token& after() const noexcept { return lexer_.after(); }
  Token next() { return lexer_.next(); }
  bool accept(std::string_view text);
  void expect(std::string_view text);
  Token expect_name(const char* what);

  /// A number with an optional sign, as an integer or real operand.
  Operand number();
  /// A non-negative integer of at most `most`.
  std::uint64_t count(const char* what, std::uint64_t most);
  /// Everything up to the brace that closes the one that comes next.
  void skip_braces();

  /// Throws Error(unsupported): "PTX line 12: <what>; found 'x'".
  [[noreturn]] void fail(const std::string& what) const;

 private:
  Lexer lexer_;
};

/// Variables: `.shared .align 4 .b8 name[64] = {...};`, with the state space still to come. Adds them to `out`.
void parse_variables(Reader& reader, std::vector<Variable>& out);
/// One `.param` of an entry's list, from its state space on.
Variable parse_param(Reader& reader);
/// The state space that a directive names, none for another directive.
Space parse_space(std::string_view directive) noexcept;

/// `.loc` directives, and which line each inlined one was called from.
class Locations {
 public:
  explicit Locations(Module& module) : module_(module) {}
  /// What follows `.loc`; the index of the line in Module::lines.
  std::int32_t parse(Reader& reader);

 private:
  using Place = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  // file, line, column
  static Place place(Reader& reader);
  std::int32_t add(const Place& place, std::int32_t inlined_at);

  Module& module_;
  std::map<Place, std::int32_t> latest_;
};

/// The code of one entry, from its opening brace on.
class BodyParser {
 public:
  BodyParser(Reader& reader, Module& module, Entry& entry, Locations& locations);
  void parse();

 private:
  struct Range {
    std::string_view prefix;
    std::uint64_t count;
    Type type;
  };
  /// Names between two braces.
  struct Scope {
    std::unordered_map<std::string_view, std::uint32_t> registers;
    std::vector<Range> ranges;
    std::unordered_map<std::string_view, std::uint32_t> labels;
    std::size_t pending_before = 0;
  };
  struct Pending {
    std::uint32_t instruction, operand;
  };

  void open_scope();
  void close_scope();
  void statement();
  void directive();
  void declare_registers();
  void instruction();
  Operand operand();
  Operand simple();
  Operand address();
  Operand vector();
  Operand named(const Token& name);
  std::int64_t displacement();

  std::uint32_t add_register(Scope& scope, std::string_view name, Type type);
  /// The register of that name, or -1.
  std::int32_t find_register(std::string_view name);
  bool find_variable(std::string_view name, Operand& operand) const;

  Reader& reader_;
  Module& module_;
  Entry& entry_;
  Locations& locations_;
  std::vector<Scope> scopes_;
  std::vector<Pending> pending_;
  std::int32_t source_ = -1;
};

}  // namespace softmax_dispatch::sim::ptx
