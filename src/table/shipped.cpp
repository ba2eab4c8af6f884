#include "support/embedded.hpp"
#include "table/table.hpp"

namespace softmax_dispatch::table {

std::optional<std::string_view> shipped(std::string_view arch) noexcept {
  for (const EmbeddedFile& file : embedded_tables()) {
    if (file.name.substr(0, arch.size()) == arch && file.name.substr(arch.size()) == ".yaml") return file.text;
  }
  return std::nullopt;
}

}  // namespace softmax_dispatch::table
