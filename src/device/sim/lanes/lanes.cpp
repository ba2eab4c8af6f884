#include "device/sim/lanes/lanes.hpp"

#include "device/sim/lanes/instruction_sets.hpp"

namespace softmax_dispatch::sim::lanes {
namespace {

Table make_portable() {
  Table table;
  add_conversions(table);
  portable::add_integer(table);
  portable::add_bits(table);
  portable::add_real(table);
  portable::add_integer_conversions(table);
  portable::add_halves(table);
  portable::set_helpers(table);
  return table;
}

#if SOFTMAX_DISPATCH_SIM_AVX2
Table make_avx2() {
  Table table;
  add_conversions(table);
  avx2::add_integer(table);
  avx2::add_bits(table);
  avx2::add_real(table);
  avx2::add_integer_conversions(table);
  avx2::add_halves(table);
  avx2::set_helpers(table);
  return table;
}
#endif

}  // namespace

const Row* Table::find(std::string_view name) const noexcept {
  const auto found = rows_.find(name);
  return found == rows_.end() ? nullptr : &found->second;
}

void Table::put(const std::string& name, const Row& row) {
  rows_[name] = row;
}

const Table& portable_table() {
  static const Table made = make_portable();
  return made;
}

const Table& table() {
#if SOFTMAX_DISPATCH_SIM_AVX2
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    static const Table made = make_avx2();
    return made;
  }
#endif
  return portable_table();
}

}  // namespace softmax_dispatch::sim::lanes
