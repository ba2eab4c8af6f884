#include "device/sim/ptx/parser.hpp"

namespace softmax_dispatch::sim::ptx {
namespace {

constexpr std::size_t kLongestText = std::size_t{1} << 26;
constexpr std::size_t kMostEntries = 4096;
constexpr std::size_t kMostParams = 256;
constexpr std::size_t kMostVariables = 4096;

class ModuleParser {
 public:
  explicit ModuleParser(Module& module) : module_(module), reader_(*module.text), locations_(module) {}

  void parse() {
    while (reader_.peek().kind != TokenKind::end) directive();
    if (module_.target.empty()) reader_.fail("a PTX text names its .target");
  }

 private:
  void directive() {
    const Token token = reader_.peek();
    if (token.kind != TokenKind::name || token.text.front() != '.') reader_.fail("expected a directive");
    if (parse_space(token.text) == Space::global || parse_space(token.text) == Space::constant ||
        parse_space(token.text) == Space::shared) {
      if (module_.variables.size() >= kMostVariables) reader_.fail("too many variables");
      return parse_variables(reader_, module_.variables);
    }
    reader_.next();
    if (token.text == ".version") {
      if (reader_.next().kind != TokenKind::number) reader_.fail("expected a version before");
    } else if (token.text == ".target") {
      module_.target = reader_.expect_name("a target").text;
      while (reader_.accept(",")) reader_.expect_name("a target's option");
    } else if (token.text == ".address_size") {
      if (reader_.count("64", 64) != 64) reader_.fail("only 64-bit addresses are supported; before");
    } else if (token.text == ".visible" || token.text == ".extern" || token.text == ".weak") {
      return;  // linkage of what follows
    } else if (token.text == ".entry") {
      entry(static_cast<std::uint32_t>(token.line));
    } else if (token.text == ".func") {
      skip_function();
    } else if (token.text == ".file") {
      file();
    } else if (token.text == ".section") {
      reader_.expect_name("the name of a section");
      reader_.skip_braces();
    } else {
      throw_error(StatusCode::unsupported, "PTX line {}: the directive '{}' is not supported", token.line, token.text);
    }
  }

  /// A function stands in the text even where every call of it is inlined; the simulator runs none.
  void skip_function() {
    while (!reader_.peek().is("{") && !reader_.peek().is(";")) {
      if (reader_.peek().kind == TokenKind::end) reader_.fail("a function does not end");
      reader_.next();
    }
    if (reader_.peek().is("{")) {
      reader_.skip_braces();
    } else {
      reader_.next();
    }
  }

  void file() {
    const auto number = static_cast<std::uint32_t>(reader_.count("a file number", 0xffffffff));
    const Token name = reader_.next();
    if (name.kind != TokenKind::text) reader_.fail("expected the name of a file before");
    module_.files.emplace_back(number, name.text);
    while (reader_.accept(",")) reader_.count("a time or size", ~std::uint64_t{0});
  }

  void entry(std::uint32_t line) {
    if (module_.entries.size() >= kMostEntries) reader_.fail("too many kernels");
    Entry& made = module_.entries.emplace_back();
    made.line = line;
    made.name = reader_.expect_name("the name of a kernel").text;
    if (reader_.accept("(") && !reader_.accept(")")) {
      do {
        if (made.params.size() >= kMostParams) reader_.fail("too many parameters");
        made.params.push_back(parse_param(reader_));
      } while (reader_.accept(","));
      reader_.expect(")");
    }
    while (!reader_.peek().is("{")) performance_directive(made);
    BodyParser(reader_, module_, made, locations_).parse();
  }

  void performance_directive(Entry& made) {
    const Token token = reader_.expect_name("a directive of the kernel or its code");
    if (token.text == ".pragma") {
      reader_.next();
      reader_.expect(";");
      return;
    }
    const bool threads = token.text == ".maxntid" || token.text == ".reqntid";
    if (!threads && token.text != ".minnctapersm" && token.text != ".maxnreg") {
      throw_error(StatusCode::unsupported, "PTX line {}: the directive '{}' of a kernel is not supported", token.line,
                  token.text);
    }
    constexpr std::uint64_t kMost = 0xffff;
    std::uint64_t product = 1;
    do {
      product *= reader_.count("a limit", kMost);
      if (product > kMost) reader_.fail("a limit that no device reaches before");
    } while (reader_.accept(","));
    if (threads) made.max_threads = static_cast<std::uint32_t>(product);
  }

  Module& module_;
  Reader reader_;
  Locations locations_;
};

}  // namespace

Module parse(std::string text) {
  if (text.size() > kLongestText)
    throw_error(StatusCode::unsupported, "a PTX text of {} bytes; at most {} can be read", text.size(), kLongestText);
  Module module;
  module.text = std::make_unique<const std::string>(std::move(text));
  ModuleParser(module).parse();
  return module;
}

}  // namespace softmax_dispatch::sim::ptx
