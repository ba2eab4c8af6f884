#pragma once

#include <clocale>
#include <locale>
#include <string>

namespace softmax_dispatch::testing {

/// While alive, numbers of the process have a decimal comma and grouped digits: by a facet for C++ streams, which every
/// machine can make, and by setlocale where a German or French locale is installed.
class DecimalComma {
 public:
  DecimalComma() : previous_(std::locale::global(std::locale(std::locale::classic(), new Comma))) {
    for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8"}) {
      if (std::setlocale(LC_NUMERIC, name)) break;
    }
  }
  ~DecimalComma() {
    std::setlocale(LC_NUMERIC, "C");
    std::locale::global(previous_);
  }
  DecimalComma(const DecimalComma&) = delete;
  DecimalComma& operator=(const DecimalComma&) = delete;

 private:
  struct Comma : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };

  std::locale previous_;
};

}  // namespace softmax_dispatch::testing
