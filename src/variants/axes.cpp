#include "variants/axes.hpp"

#include <algorithm>

#include "support/error.hpp"
#include "support/text.hpp"

namespace softmax_dispatch {
namespace {

std::string range_text(const Axis& axis) {
  const std::string rule = axis.power_of_two ? "a power of two"
                           : axis.step > 1   ? fmt::format("a multiple of {}", axis.step)
                                             : "a number";
  return axis.most == kUnbounded ? fmt::format("{} from {} up", rule, axis.least)
                                 : fmt::format("{} from {} to {}", rule, axis.least, axis.most);
}

}  // namespace

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return a / b + (a % b != 0);
}

std::int64_t vector_elements(DType dtype) {
  constexpr std::int64_t kVectorBytes = 16;
  return kVectorBytes / static_cast<std::int64_t>(size_of(dtype));
}

std::int64_t value_of(const Constants& constants, std::string_view name) {
  const auto found = constants.find(name);
  if (found == constants.end())
    throw_error(StatusCode::internal, "the axis {} is not set in '{}'", name, to_string(constants));
  return found->second;
}

Support check_axes(const Variant& variant, DType dtype, const Constants& constants, const Target& target) {
  if (!variant.computes(dtype)) {
    std::vector<std::string> names;
    for (const DType known : variant.dtypes()) names.emplace_back(to_string(known));
    return Support::no(fmt::format("{} computes {}, not {}", variant.id(), join(names, ", "), to_string(dtype)));
  }
  const std::vector<Axis>& axes = variant.axes();
  for (const auto& [name, value] : constants) {
    const auto axis =
        std::find_if(axes.begin(), axes.end(), [&, n = std::string_view(name)](const Axis& a) { return a.name == n; });
    if (axis == axes.end()) return Support::no(fmt::format("{} has no axis {}", variant.id(), name));
    if (!axis->holds(value)) return Support::no(fmt::format("{}={} is not {}", name, value, range_text(*axis)));
  }
  for (const Axis& axis : axes) {
    if (!constants.contains(axis.name))
      return Support::no(fmt::format("{} needs {}, which is not set", variant.id(), axis.name));
  }
  const std::int64_t threads = value_of(constants, "THREADS");
  if (threads > target.limits.max_threads_per_block) {
    return Support::no(fmt::format("THREADS={} is above the {} threads a block may have on {}", threads,
                                   target.limits.max_threads_per_block, target.limits.arch));
  }
  return Support::yes();
}

std::vector<Constants> combinations(const Variant& variant, const Ladders& ladders, const Target& target) {
  std::vector<Constants> configs{{}};
  for (const Axis& axis : variant.axes()) {
    const auto ladder = ladders.find(axis.name);
    if (ladder == ladders.end()) {
      throw_error(StatusCode::invalid_argument, "the sweep has no values for the axis {} of {}: add them under `axes`",
                  axis.name, variant.id());
    }
    std::vector<Constants> longer;
    for (const Constants& config : configs) {
      for (const std::int64_t value : ladder->second) {
        longer.push_back(config);
        longer.back()[axis.name] = axis.name == "GRID" ? value * std::max(1, target.sm_count) : value;
      }
    }
    configs = std::move(longer);
  }
  return configs;
}

std::vector<std::int64_t> as_boundaries(std::vector<std::int64_t> lengths, std::int64_t most) {
  std::erase_if(lengths, [&](std::int64_t N) { return N < 1 || N > most; });
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  return lengths;
}

}  // namespace softmax_dispatch
