// The table reader takes any text: what is no table is refused with an Error. A table that it takes reads back as it
// was written, and answers every problem.
#include <cstdlib>
#include <iostream>

#include "fuzz/target.hpp"
#include "support/embedded.hpp"
#include "support/error.hpp"
#include "table/table.hpp"
#include "variants/registry.hpp"

using namespace softmax_dispatch;

namespace {

bool is_known_variant(std::string_view id) {
  return registry().find(id) != nullptr;
}

void check(bool condition, const char* what) {
  if (condition) return;
  std::cerr << "a table was taken, but " << what << '\n';
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  table::Table table;
  try {
    table = table::read(std::string(data, data + size), "fuzz.yaml", is_known_variant);
  } catch (const Error&) {
    return 0;
  }
  const std::string text = table::write(table);
  table::Table again;
  try {
    again = table::read(text, "written.yaml", is_known_variant);
  } catch (const Error& error) {
    std::cerr << error.what() << '\n';
    check(false, "what was written of it is refused");
  }
  check(again == table, "it is another one when it is written and read");
  for (const table::OpTable& op : table.tables) {
    for (const std::int64_t M : {std::int64_t{1}, std::int64_t{77}, table::kOpen}) {
      for (const std::int64_t N : {std::int64_t{1}, std::int64_t{1023}, std::int64_t{1} << 40}) {
        for (const table::Alignment alignment : {table::Alignment::aligned, table::Alignment::unaligned})
          check(table::lookup(table, Problem{op.dtype, M, N}, alignment).kernel != nullptr, "a problem has no kernel");
      }
    }
  }
  return 0;
}

std::vector<std::string> fuzz_corpus() {
  std::vector<std::string> corpus;
  for (const EmbeddedFile& file : embedded_tables()) corpus.emplace_back(file.text);
  return corpus;
}
