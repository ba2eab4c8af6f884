#include "table/flaw.hpp"

#include <fmt/core.h>
#include <softmax_dispatch/version.h>

#include <array>
#include <set>
#include <utility>

#include "support/error.hpp"

namespace softmax_dispatch::table {
namespace {

std::string bound(std::int64_t value) {
  return value == kOpen ? "open" : std::to_string(value);
}

/// Goes through a table and throws the first Flaw.
class Checker {
 public:
  Checker(const Table& table, bool (*known_variant)(std::string_view)) : table_(table), known_variant_(known_variant) {}

  void check() const {
    std::set<std::string_view> names;
    for (std::size_t i = 0; i < table_.kernels.size(); ++i) {
      const std::string path = fmt::format("kernels[{}]", i);
      check_kernel(table_.kernels[i], path);
      if (!names.insert(table_.kernels[i].name).second) {
        throw Flaw{path + ".name", fmt::format("'{}' names two kernels; rename one", table_.kernels[i].name)};
      }
    }
    for (std::size_t i = 0; i < table_.pins.size(); ++i) check_pin(table_.pins[i], fmt::format("pins[{}]", i));
    std::set<std::pair<DType, std::string_view>> seen;
    for (std::size_t i = 0; i < table_.tables.size(); ++i) {
      const OpTable& one = table_.tables[i];
      const std::string path = fmt::format("tables[{}]", i);
      if (one.op != "softmax") {
        throw Flaw{path + ".op", fmt::format("'{}' is unknown; version {} of the library knows softmax", one.op,
                                             SOFTMAX_DISPATCH_VERSION)};
      }
      if (!seen.emplace(one.dtype, one.op).second) {
        throw Flaw{path, fmt::format("is the second table for {} {}; remove one", to_string(one.dtype), one.op)};
      }
      check_bands(one, path);
    }
  }

 private:
  void check_kernel(const Kernel& kernel, const std::string& path) const {
    if (kernel.name.empty()) throw Flaw{path + ".name", "must not be empty"};
    if (!known_variant_(kernel.config.variant)) {
      throw Flaw{path + ".variant",
                 fmt::format("variant '{}' does not exist in version {} of the library; use the version that made the "
                             "table, or make it anew with softmax-tune",
                             kernel.config.variant, SOFTMAX_DISPATCH_VERSION)};
    }
    if (kernel.verification && !(kernel.verification->worst_error >= 0 && kernel.verification->worst_error <= 1)) {
      throw Flaw{path + ".verification.worst_error",
                 fmt::format("must be from 0 to 1, the largest error over its tolerance, but is {}; above 1 a kernel "
                             "has failed and has no record",
                             kernel.verification->worst_error)};
    }
  }

  static void check_range(const char* what, std::int64_t from, std::int64_t to, const std::string& path) {
    if (from < 1 || to < from) {
      throw Flaw{path, fmt::format("[{}, {}] is no range of {}; write [least, most] with 1 <= least <= most, or "
                                   "[least, open]",
                                   from, bound(to), what)};
    }
  }

  /// That `use` names a kernel of the type which is not known to be wrong for rows of N_to elements.
  void check_use(const std::string& use, DType dtype, std::int64_t N_to, const std::string& path,
                 const char* N_key) const {
    const Kernel* kernel = table_.find(use);
    if (!kernel) {
      throw Flaw{path + ".use", fmt::format("'{}' is no name of the list of kernels; name one of them", use)};
    }
    if (kernel->config.dtype != dtype) {
      throw Flaw{path + ".use", fmt::format("kernel '{}' computes {}, not {}", use, to_string(kernel->config.dtype),
                                            to_string(dtype))};
    }
    if (kernel->verification && N_to > kernel->verification->N_to) {
      throw Flaw{path + N_key, fmt::format("ends at {}, but kernel '{}' is verified for rows up to {}; end it "
                                           "there or name another kernel",
                                           bound(N_to), use, bound(kernel->verification->N_to))};
    }
  }

  void check_pin(const Pin& pin, const std::string& path) const {
    check_range("M", pin.M_from, pin.M_to, path + ".M");
    check_range("N", pin.N_from, pin.N_to, path + ".N");
    check_use(pin.use, pin.dtype, pin.N_to, path, ".N");
  }

  void check_bands(const OpTable& table, const std::string& path) const {
    if (table.bands.empty()) throw Flaw{path + ".bands", "must hold a band; write one for M: [1, open]"};
    std::int64_t before = 0;  // upper end of the band before
    for (std::size_t i = 0; i < table.bands.size(); ++i) {
      const Band& band = table.bands[i];
      const std::string at = fmt::format("{}.bands[{}]", path, i);
      check_range("M", band.M_from, band.M_to, at + ".M");
      if (before == kOpen || band.M_from != before + 1) {
        throw Flaw{at + ".M", fmt::format("starts at {}, but the band before ends at {}; bands follow each other "
                                          "without gaps from M = 1",
                                          band.M_from, bound(before))};
      }
      before = band.M_to;
      check_thresholds(band, table.dtype, at);
    }
    if (before != kOpen) {
      throw Flaw{fmt::format("{}.bands[{}].M", path, table.bands.size() - 1),
                 fmt::format("ends at {}, but the last band must end open", before)};
    }
  }

  void check_thresholds(const Band& band, DType dtype, const std::string& path) const {
    std::array<const Threshold*, 3> last{};  // by alignment class
    for (std::size_t i = 0; i < band.thresholds.size(); ++i) {
      const Threshold& threshold = band.thresholds[i];
      const std::string at = fmt::format("{}.thresholds[{}]", path, i);
      const Threshold*& before = last.at(static_cast<std::size_t>(threshold.alignment));
      if (threshold.N_to < 1) throw Flaw{at + ".N_to", fmt::format("must be at least 1, but is {}", threshold.N_to)};
      if (before && threshold.N_to <= before->N_to) {
        throw Flaw{at + ".N_to",
                   fmt::format("is {}, but the threshold before it for '{}' rows is {}; they must ascend",
                               bound(threshold.N_to), to_string(threshold.alignment), bound(before->N_to))};
      }
      before = &threshold;
      check_use(threshold.use, dtype, threshold.N_to, at, ".N_to");
      if (threshold.crossover_N) {
        check_range("N", threshold.crossover_N->first, threshold.crossover_N->second, at + ".crossover_N");
      }
    }
    const auto& [any, aligned, unaligned] = last;
    const std::string at = path + ".thresholds";
    if (!aligned != !unaligned || !any == !aligned) {
      throw Flaw{at, "must be all for 'any' rows, or some for 'aligned' and some for 'unaligned' rows"};
    }
    for (const Threshold* one : last) {
      if (one && one->N_to != kOpen) {
        throw Flaw{at, fmt::format("end at {} for '{}' rows; the last one must be open", one->N_to,
                                   to_string(one->alignment))};
      }
    }
  }

  const Table& table_;
  bool (*known_variant_)(std::string_view);
};

}  // namespace

std::optional<Flaw> find_flaw(const Table& table, bool (*known_variant)(std::string_view id)) {
  try {
    Checker(table, known_variant).check();
  } catch (const Flaw& flaw) {
    return flaw;
  }
  return std::nullopt;
}

void validate(const Table& table, bool (*known_variant)(std::string_view id)) {
  const std::optional<Flaw> flaw = find_flaw(table, known_variant);
  if (flaw) throw_error(StatusCode::bad_table, "the table's {}: {}", flaw->path, flaw->message);
}

}  // namespace softmax_dispatch::table
