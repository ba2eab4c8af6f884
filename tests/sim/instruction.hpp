#pragma once

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/ptx_runner.hpp"

namespace softmax_dispatch::sim {

/// The bits of a 16-bit float.
struct Half {
  std::uint16_t bits;
  friend bool operator==(const Half&, const Half&) = default;
};

/// How a C++ type stands in PTX: its register, and the type it is loaded and stored by.
template <typename T>
struct PtxType;
#define SOFTMAX_DISPATCH_PTX_TYPE(T, REGISTER, MEMORY) \
  template <>                                          \
  struct PtxType<T> {                                  \
    static constexpr const char* kRegister = REGISTER; \
    static constexpr const char* kMemory = MEMORY;     \
  }
SOFTMAX_DISPATCH_PTX_TYPE(std::uint16_t, ".b16", ".u16");
SOFTMAX_DISPATCH_PTX_TYPE(std::int16_t, ".b16", ".u16");
SOFTMAX_DISPATCH_PTX_TYPE(Half, ".b16", ".u16");
SOFTMAX_DISPATCH_PTX_TYPE(std::uint32_t, ".b32", ".u32");
SOFTMAX_DISPATCH_PTX_TYPE(std::int32_t, ".b32", ".u32");
SOFTMAX_DISPATCH_PTX_TYPE(std::uint64_t, ".b64", ".u64");
SOFTMAX_DISPATCH_PTX_TYPE(std::int64_t, ".b64", ".u64");
SOFTMAX_DISPATCH_PTX_TYPE(float, ".f32", ".f32");
SOFTMAX_DISPATCH_PTX_TYPE(double, ".f64", ".f64");
#undef SOFTMAX_DISPATCH_PTX_TYPE

template <typename T>
std::string print_bits(const T& value) {
  if constexpr (std::is_same_v<T, float>)
    return fmt::format("{:a} ({:#010x})", value, __builtin_bit_cast(std::uint32_t, value));
  if constexpr (std::is_same_v<T, double>) return fmt::format("{:a}", value);
  if constexpr (std::is_same_v<T, Half>) return fmt::format("half {:#06x}", value.bits);
  if constexpr (std::is_integral_v<T>) return fmt::format("{:#x}", value);
}

/// The same bits; for a NaN the one that arithmetic gives.
template <typename T>
bool same_bits(T got, T expected) {
  if constexpr (std::is_same_v<T, float>) {
    const auto bits = __builtin_bit_cast(std::uint32_t, got);
    return std::isnan(expected) ? bits == 0x7fffffff : bits == __builtin_bit_cast(std::uint32_t, expected);
  } else if constexpr (std::is_same_v<T, double>) {
    const auto bits = __builtin_bit_cast(std::uint64_t, got);
    return std::isnan(expected) ? bits == 0x7fffffffffffffff : bits == __builtin_bit_cast(std::uint64_t, expected);
  } else {
    return got == expected;
  }
}

/// Runs `instruction` once for every tuple of inputs, one thread each. It reads %a, %b, %c (predicates made of them:
/// %pa, %pb, %pc, where the value is not zero) and writes %d, or the predicate %pd.
template <typename D, typename... S>
class InstructionRun {
 public:
  explicit InstructionRun(const std::string& instruction) : instruction_(instruction) {}

  std::vector<D> operator()(const std::vector<std::tuple<S...>>& inputs) {
    constexpr std::uint32_t kBlock = 64;
    PtxRunner runner;
    const std::size_t padded = (inputs.size() + kBlock - 1) / kBlock * kBlock;
    std::vector<std::uint64_t> parameters{runner.upload(std::vector<D>(padded))};
    upload_columns(runner, inputs, padded, parameters, std::index_sequence_for<S...>{});
    runner.run(kernel(), padded / kBlock, kBlock, parameters);
    auto results = runner.template download<D>(parameters[0], padded);
    results.resize(inputs.size());
    return results;
  }

 private:
  template <std::size_t... I>
  static void upload_columns(PtxRunner& runner, const std::vector<std::tuple<S...>>& inputs, std::size_t padded,
                             std::vector<std::uint64_t>& parameters, std::index_sequence<I...>) {
    const auto column = [&](auto index) {
      std::vector<std::tuple_element_t<decltype(index)::value, std::tuple<S...>>> values(padded);
      for (std::size_t i = 0; i < inputs.size(); ++i) values[i] = std::get<decltype(index)::value>(inputs[i]);
      parameters.push_back(runner.upload(values));
    };
    (column(std::integral_constant<std::size_t, I>{}), ...);
  }

  std::string kernel() const {
    std::string declarations, loads;
    char name = 'a';
    const auto source = [&](const char* reg, const char* memory, std::size_t bytes) {
      declarations += fmt::format(".reg {} %{};\n.reg .pred %p{};\n", reg, name, name);
      loads += fmt::format("ld.param.u64 %q, [p{0}]; mad.wide.u32 %q, %t, {1}, %q; ld.global{2} %{0}, [%q];\n", name,
                           bytes, memory);
      if (std::string(memory) == ".u32") loads += fmt::format("setp.ne.u32 %p{0}, %{0}, 0;\n", name);
      ++name;
    };
    (source(PtxType<S>::kRegister, PtxType<S>::kMemory, sizeof(S)), ...);
    std::string parameters = ".param .u64 pd";
    for (char one = 'a'; one < name; ++one) parameters += fmt::format(", .param .u64 p{}", one);
    const bool predicate = instruction_.find("%pd") != std::string::npos;
    return fmt::format(
        ".version 7.5\n.target sm_75\n.address_size 64\n.visible .entry kernel({0})\n{{\n.reg .b64 %q;\n.reg .b32 %t, "
        "%n, %k;\n.reg .pred %pd;\n.reg {1} %d;\n{2}mov.u32 %t, %tid.x;\nmov.u32 %k, %ctaid.x;\nmov.u32 %n, "
        "%ntid.x;\nmad.lo.u32 %t, %k, %n, %t;\n{3}{4}\n{5}ld.param.u64 %q, [pd];\nmad.wide.u32 %q, %t, {6}, "
        "%q;\nst.global{7} [%q], %d;\nret;\n}}\n",
        parameters, PtxType<D>::kRegister, declarations, loads, instruction_,
        predicate ? "selp.u32 %d, 1, 0, %pd;\n" : "", sizeof(D), PtxType<D>::kMemory);
  }

  std::string instruction_;
};

/// Compares the instruction with the host's function of the same inputs, bit by bit.
template <typename D, typename... S, typename F>
void expect_instruction(const std::string& instruction, const std::vector<std::tuple<S...>>& inputs, F expected) {
  const std::vector<D> results = InstructionRun<D, S...>(instruction)(inputs);
  int failures = 0;
  for (std::size_t i = 0; i < inputs.size() && failures < 5; ++i) {
    const D right = std::apply(expected, inputs[i]);
    if (same_bits(results[i], right)) continue;
    ++failures;
    std::string arguments;
    std::apply([&](const auto&... one) { ((arguments += " " + print_bits(one)), ...); }, inputs[i]);
    ADD_FAILURE() << instruction << " of" << arguments << " gave " << print_bits(results[i]) << ", not "
                  << print_bits(right);
  }
}

/// Edge values of a type and some between.
template <typename T>
std::vector<T> edges() {
  if constexpr (std::is_integral_v<T>) {
    using L = std::numeric_limits<T>;
    std::vector<T> values{0,
                          1,
                          2,
                          3,
                          5,
                          31,
                          32,
                          33,
                          63,
                          64,
                          65,
                          100,
                          127,
                          128,
                          255,
                          static_cast<T>(L::max() - 1),
                          L::max(),
                          L::min(),
                          static_cast<T>(L::min() + 1),
                          static_cast<T>(-1),
                          static_cast<T>(-2),
                          static_cast<T>(0x5a5a5a5a5a5a5a5a),
                          static_cast<T>(0x8000000080000000),
                          static_cast<T>(0x0123456789abcdef),
                          static_cast<T>(0xfedcba9876543210)};
    return values;
  } else {
    using L = std::numeric_limits<T>;
    std::vector<T> values{0,
                          L::denorm_min(),
                          L::min() / 2,
                          L::min(),
                          L::min() * 1.5f,
                          static_cast<T>(0.1),
                          static_cast<T>(0.5),
                          static_cast<T>(0.99999994),
                          1,
                          1 + L::epsilon(),
                          1.5,
                          2,
                          3,
                          static_cast<T>(3.14159265358979),
                          1000,
                          16777216,
                          16777218,
                          static_cast<T>(1e10),
                          static_cast<T>(2147483648.0),
                          static_cast<T>(9.3e18),
                          static_cast<T>(1e-10),
                          static_cast<T>(1.7e38),
                          L::max() / 2,
                          L::max(),
                          L::infinity()};
    const std::size_t count = values.size();
    for (std::size_t i = 0; i < count; ++i) values.push_back(-values[i]);
    values.push_back(L::quiet_NaN());
    values.push_back(-L::quiet_NaN());
    return values;
  }
}

template <typename A>
std::vector<std::tuple<A>> singles(const std::vector<A>& a) {
  std::vector<std::tuple<A>> all;
  for (const A& x : a) all.emplace_back(x);
  return all;
}
template <typename A, typename B>
std::vector<std::tuple<A, B>> pairs(const std::vector<A>& a, const std::vector<B>& b) {
  std::vector<std::tuple<A, B>> all;
  for (const A& x : a) {
    for (const B& y : b) all.emplace_back(x, y);
  }
  return all;
}
/// Every third of the values in each place: enough of them, and not too many.
template <typename A, typename B, typename C>
std::vector<std::tuple<A, B, C>> triples(const std::vector<A>& a, const std::vector<B>& b, const std::vector<C>& c) {
  std::vector<std::tuple<A, B, C>> all;
  std::size_t turn = 0;
  for (const A& x : a) {
    for (const B& y : b) {
      for (std::size_t i = turn++ % 3; i < c.size(); i += 3) all.emplace_back(x, y, c[i]);
    }
  }
  return all;
}

}  // namespace softmax_dispatch::sim
