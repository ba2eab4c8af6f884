#include "jit/ptx.hpp"

#include <algorithm>
#include <regex>
#include <sstream>

namespace softmax_dispatch::ptx {
namespace {

std::vector<std::string> registers(const std::string& operand) {
  static const std::regex pattern(R"(%[a-z]+[0-9]+)");
  std::vector<std::string> names;
  for (std::sregex_iterator it(operand.begin(), operand.end(), pattern), end; it != end; ++it)
    names.push_back(it->str());
  return names;
}

// Splits at commas outside braces and brackets.
std::vector<std::string> operands(const std::string& text) {
  std::vector<std::string> result(1);
  int depth = 0;
  for (const char c : text) {
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (c == ',' && depth == 0) {
      result.emplace_back();
    } else {
      result.back() += c;
    }
  }
  return result;
}

Instruction parse_line(const std::smatch& match) {
  Instruction instruction;
  instruction.guard = match[1].str();
  instruction.opcode = match[2].str();
  std::vector<std::string> parts = operands(match[3].str());
  std::size_t first_read = 0;
  if (!instruction.is("st.") && !instruction.is("bra") && !instruction.is("bar") && !instruction.is("ret")) {
    instruction.writes = registers(parts[0]);
    first_read = 1;
  }
  for (std::size_t i = first_read; i < parts.size(); ++i) {
    for (std::string& name : registers(parts[i])) instruction.reads.push_back(std::move(name));
  }
  return instruction;
}

bool touches(const std::vector<std::string>& names, const std::set<std::string>& wanted) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return wanted.count(name) > 0; });
}

}  // namespace

std::vector<Instruction> parse(const std::string& text) {
  static const std::regex pattern(R"(^\s*(?:@!?(%p[0-9]+)\s+)?([a-z][a-z0-9_.:]*)\s*([^;]*);)");
  std::vector<Instruction> code;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_search(line, match, pattern)) code.push_back(parse_line(match));
  }
  return code;
}

std::vector<std::size_t> find(const std::vector<Instruction>& code, const char* prefix) {
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (code[i].is(prefix)) result.push_back(i);
  }
  return result;
}

std::set<std::string> depends_on_data(const std::vector<Instruction>& code) {
  std::set<std::string> tainted;
  for (bool changed = true; changed;) {
    changed = false;
    for (const Instruction& instruction : code) {
      if (!instruction.is("ld.global") && !touches(instruction.reads, tainted) && tainted.count(instruction.guard) == 0)
        continue;
      for (const std::string& name : instruction.writes) changed |= tainted.insert(name).second;
    }
  }
  return tainted;
}

std::size_t data_dependent_branches(const std::vector<Instruction>& code) {
  const std::set<std::string> tainted = depends_on_data(code);
  return static_cast<std::size_t>(std::count_if(code.begin(), code.end(), [&](const Instruction& instruction) {
    return instruction.is("bra") && tainted.count(instruction.guard) > 0;
  }));
}

std::size_t first_use(const std::vector<Instruction>& code, std::size_t load) {
  std::set<std::string> copies(code[load].writes.begin(), code[load].writes.end());
  for (std::size_t i = load + 1; i < code.size(); ++i) {
    if (touches(code[i].reads, copies)) {
      if (!code[i].is("mov.")) return i;
      copies.insert(code[i].writes.begin(), code[i].writes.end());
    } else {
      for (const std::string& name : code[i].writes) copies.erase(name);
    }
  }
  return code.size();
}

}  // namespace softmax_dispatch::ptx
