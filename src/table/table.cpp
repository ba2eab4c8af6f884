#include "table/table.hpp"

#include <algorithm>

#include "support/text.hpp"

namespace softmax_dispatch::table {

const char* to_string(Alignment alignment) noexcept {
  switch (alignment) {
    case Alignment::any:
      return "any";
    case Alignment::aligned:
      return "aligned";
    case Alignment::unaligned:
      return "unaligned";
  }
  return "unknown";
}

const Kernel* Table::find(std::string_view kernel_name) const noexcept {
  const auto found =
      std::find_if(kernels.begin(), kernels.end(), [&](const Kernel& kernel) { return kernel.name == kernel_name; });
  return found == kernels.end() ? nullptr : &*found;
}

std::string kernel_name(const Config& config) {
  std::string name = config.variant;
  if (config.dtype != DType::f32) name += std::string("_") + to_string(config.dtype);
  for (const auto& [constant, value] : config.constants) {
    name += '_';
    for (const std::string_view word : split(constant, '_')) {
      if (!word.empty()) name += static_cast<char>(word.front() - 'A' + 'a');
    }
    name += std::to_string(value);
  }
  return name;
}

}  // namespace softmax_dispatch::table
