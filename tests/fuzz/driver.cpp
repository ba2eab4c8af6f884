// Drives a fuzz target without libFuzzer: mutates the corpus until the time is up. With the sanitizers built in (preset
// asan) every finding ends the program; the input that it died of is then in the file that it names.
//   fuzz_ptx [--seconds S] [--seed K] [--one FILE]
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstring>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string_view>

#include "fuzz/target.hpp"

namespace {

constexpr unsigned kInputSeconds = 20;       ///< An input that takes longer is a finding.
constexpr std::size_t kMostBytes = 1 << 18;  ///< Of an input.

class Mutator {
 public:
  Mutator(std::vector<std::string> corpus, std::uint64_t seed) : corpus_(std::move(corpus)), random_(seed) {}

  std::string next() {
    std::string text = one_of(corpus_);
    for (std::size_t rounds = 1 + below(6); rounds > 0; --rounds) mutate(text);
    if (text.size() > kMostBytes) text.resize(kMostBytes);
    return text;
  }

 private:
  std::size_t below(std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(random_() % n); }
  const std::string& one_of(const std::vector<std::string>& items) { return items[below(items.size())]; }

  void mutate(std::string& text) {
    static const std::vector<std::string> tokens{"0",
                                                 "-1",
                                                 "1",
                                                 "4294967296",
                                                 "9223372036854775807",
                                                 "18446744073709551616",
                                                 "0x",
                                                 "0f7F800000",
                                                 "1e999",
                                                 "1,5",
                                                 ".",
                                                 "%r1",
                                                 "%rd0",
                                                 "{",
                                                 "}",
                                                 "[",
                                                 "]",
                                                 "[[",
                                                 ",",
                                                 ";",
                                                 ":",
                                                 "@",
                                                 "@!",
                                                 "|",
                                                 "+",
                                                 "<1000000>",
                                                 "\"",
                                                 "'",
                                                 "#",
                                                 "//",
                                                 "/*",
                                                 "*/",
                                                 "&a",
                                                 "*a",
                                                 "!!int",
                                                 "---\n",
                                                 "...\n",
                                                 "- ",
                                                 "? ",
                                                 "\n",
                                                 "\t",
                                                 std::string(1, '\0'),
                                                 "\xff",
                                                 "ret;",
                                                 ".global"};
    const std::size_t at = below(text.size() + 1);
    switch (below(9)) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(random_());
        return;
      case 1:
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        return;
      case 2:
        text.erase(at, 1 + below(below(8) == 0 ? text.size() : 16));
        return;
      case 3:
        text.insert(at, one_of(tokens));
        return;
      case 4: {  // a piece again, elsewhere
        const std::string piece = text.substr(at, 1 + below(200));
        text.insert(below(text.size() + 1), piece);
        return;
      }
      case 5: {  // a piece of another input
        const std::string& other = one_of(corpus_);
        text.insert(at, other, below(other.size()), 1 + below(400));
        return;
      }
      case 6:
        replace_word(text, at);
        return;
      case 7:
        swap_lines(text, at);
        return;
      default:
        text.resize(at);
    }
  }

  static bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '%';
  }

  /// The word at a position becomes another word of the corpus: most often still something that parses.
  void replace_word(std::string& text, std::size_t at) {
    const auto word = [](const std::string& of, std::size_t near) {
      std::size_t begin = near, end = near;
      while (begin > 0 && is_word(of[begin - 1])) --begin;
      while (end < of.size() && is_word(of[end])) ++end;
      return std::pair(begin, end - begin);
    };
    const std::string& other = one_of(corpus_);
    const auto [from, length] = word(text, at);
    const auto [other_from, other_length] = word(other, below(other.size()));
    text.replace(from, length, other, other_from, other_length);
  }

  void swap_lines(std::string& text, std::size_t at) {
    const std::size_t begin = text.rfind('\n', at) == std::string::npos ? 0 : text.rfind('\n', at) + 1;
    const std::size_t end = text.find('\n', at);
    if (end == std::string::npos || begin > end) return;
    const std::string line = text.substr(begin, end + 1 - begin);
    text.erase(begin, line.size());
    const std::size_t to = text.find('\n', below(text.size() + 1));
    text.insert(to == std::string::npos ? text.size() : to + 1, line);
  }

  std::vector<std::string> corpus_;
  std::mt19937_64 random_;
};

void run(const std::string& text) {
  ::alarm(kInputSeconds);
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  ::alarm(0);
}

std::uint64_t number(const char* text) {
  std::uint64_t value = 0;
  const char* const end = text + std::strlen(text);
  if (std::from_chars(text, end, value).ptr != end) {
    std::cerr << '\'' << text << "' is not a whole number\n";
    std::exit(2);
  }
  return value;
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t seconds = 10, seed = 1;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view option = argv[i];
    if (i + 1 >= argc || (option != "--seconds" && option != "--seed" && option != "--one")) {
      std::cerr << "usage: " << argv[0] << " [--seconds S] [--seed K] [--one FILE]\n";
      return 2;
    }
    if (option == "--one") {
      std::ifstream file(argv[i + 1], std::ios::binary);
      run({std::istreambuf_iterator<char>(file), {}});
      return 0;
    }
    (option == "--seconds" ? seconds : seed) = number(argv[i + 1]);
  }
  const std::string last = std::string(argv[0]) + ".last";
  std::cout << "the input under way is in " << last << std::endl;
  const std::vector<std::string> corpus = fuzz_corpus();
  for (const std::string& text : corpus) run(text);
  Mutator mutator(corpus, seed);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  std::uint64_t runs = 0;
  for (; std::chrono::steady_clock::now() < end; ++runs) {
    const std::string text = mutator.next();
    std::ofstream(last, std::ios::binary | std::ios::trunc)
        .write(text.data(), static_cast<std::streamsize>(text.size()));
    run(text);
  }
  std::cout << runs << " inputs from " << corpus.size() << " in " << seconds << " s with seed " << seed
            << ": no finding\n";
  return 0;
}
