#include "device/sim/ptx/module.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace softmax_dispatch::sim::ptx {
namespace {

constexpr int kDeepestInlining = 4;

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

Type parse_type(std::string_view name) noexcept {
  using Kind = Type::Kind;
  struct Named {
    std::string_view name;
    Type type;
  };
  static constexpr std::array<Named, 22> kTypes{{
      {"b8", {Kind::untyped, 8}},
      {"b16", {Kind::untyped, 16}},
      {"b32", {Kind::untyped, 32}},
      {"b64", {Kind::untyped, 64}},
      {"u8", {Kind::unsigned_integer, 8}},
      {"u16", {Kind::unsigned_integer, 16}},
      {"u32", {Kind::unsigned_integer, 32}},
      {"u64", {Kind::unsigned_integer, 64}},
      {"s8", {Kind::signed_integer, 8}},
      {"s16", {Kind::signed_integer, 16}},
      {"s32", {Kind::signed_integer, 32}},
      {"s64", {Kind::signed_integer, 64}},
      {"f16", {Kind::real, 16}},
      {"f32", {Kind::real, 32}},
      {"f64", {Kind::real, 64}},
      {"bf16", {Kind::brain, 16}},
      {"pred", {Kind::predicate, 1}},
      {"f16x2", {Kind::real, 32, true}},
      {"bf16x2", {Kind::brain, 32, true}},
      {"u16x2", {Kind::unsigned_integer, 32, true}},
      {"s16x2", {Kind::signed_integer, 32, true}},
      {"b16x2", {Kind::untyped, 32, true}},
  }};
  const auto found = std::find_if(kTypes.begin(), kTypes.end(), [&](const Named& one) { return one.name == name; });
  return found == kTypes.end() ? Type{} : found->type;
}

std::string Module::describe(std::uint32_t ptx_line, std::int32_t source) const {
  if (source < 0) return fmt::format("PTX line {}", ptx_line);
  std::string place;
  int depth = 0;
  for (std::int32_t at = source; at >= 0 && depth <= kDeepestInlining; ++depth) {
    const SourceLine& line = lines[static_cast<std::size_t>(at)];
    const auto file = std::find_if(files.begin(), files.end(), [&](const auto& one) { return one.first == line.file; });
    const std::string_view name = file == files.end() ? "?" : base_name(file->second);
    place += fmt::format("{}{}:{}", depth == 0 ? "" : ", inlined at ", name, line.line);
    at = line.inlined_at;
  }
  return place;
}

}  // namespace softmax_dispatch::sim::ptx
