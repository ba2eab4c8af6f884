#include <algorithm>

#include "table/table.hpp"

namespace softmax_dispatch::table {
namespace {

bool holds(const Pin& pin, const Problem& problem) noexcept {
  return pin.dtype == problem.dtype && problem.M >= pin.M_from && problem.M <= pin.M_to && problem.N >= pin.N_from &&
         problem.N <= pin.N_to;
}

const Kernel* find(const Table& table, const std::string& use, Position position) noexcept {
  const std::size_t index = position.index;
  if (index < table.kernels.size() && table.kernels[index].name == use) return &table.kernels[index];
  return table.find(use);
}

}  // namespace

Choice lookup(const Table& table, const Problem& problem, Alignment alignment) noexcept {
  for (const Pin& pin : table.pins) {
    if (holds(pin, problem)) return {find(table, pin.use, pin.kernel), &pin, nullptr, nullptr};
  }
  const auto op = std::find_if(table.tables.begin(), table.tables.end(),
                               [&](const OpTable& one) { return one.dtype == problem.dtype; });
  if (op == table.tables.end()) return {};
  const auto band =
      std::partition_point(op->bands.begin(), op->bands.end(), [&](const Band& one) { return one.M_to < problem.M; });
  if (band == op->bands.end()) return {};
  // Linear: a band has a dozen thresholds at most, and those of two classes need not be sorted among each other.
  const Alignment rows = alignment == Alignment::any ? Alignment::aligned : alignment;
  const auto serves = [&](const Threshold& one) {
    return one.N_to >= problem.N && (one.alignment == Alignment::any || one.alignment == rows);
  };
  const auto threshold = std::find_if(band->thresholds.begin(), band->thresholds.end(), serves);
  if (threshold == band->thresholds.end()) return {};
  return {find(table, threshold->use, threshold->kernel), nullptr, &*band, &*threshold};
}

}  // namespace softmax_dispatch::table
