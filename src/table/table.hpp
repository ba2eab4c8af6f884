#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <softmax_dispatch/problem.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "support/config.hpp"

/// The decision table as plain structs. docs/table.md describes the file.
namespace softmax_dispatch::table {

inline constexpr int kSchema = 1;
/// Stands for "no upper bound" in `M: [lo, open]` and `N_to: open`.
inline constexpr std::int64_t kOpen = INT64_MAX;

/// How the rows of x and y lie in memory. A float4 kernel falls back to scalars on rows that are not aligned, so the
/// two classes have thresholds of their own. `any` in a table stands for both.
enum class Alignment {
  any,
  aligned,    ///< Every row of x and of y starts at a multiple of 16 bytes.
  unaligned,  ///< Some row does not.
};
const char* to_string(Alignment alignment) noexcept;

/// The class of a call.
inline Alignment alignment_of(const void* x, const void* y, std::int64_t N, std::size_t element_bytes) noexcept {
  const auto bits = reinterpret_cast<std::uintptr_t>(x) | reinterpret_cast<std::uintptr_t>(y) |
                    (static_cast<std::uint64_t>(N) * element_bytes);
  return bits % 16 == 0 ? Alignment::aligned : Alignment::unaligned;
}

/// That of a problem whose matrices are aligned.
inline Alignment alignment_of(const Problem& problem) noexcept {
  return alignment_of(nullptr, nullptr, problem.N, size_of(problem.dtype));
}

struct DeviceRecord {
  std::string name, arch;
  int sm_count = 0;
  std::int64_t l2_bytes = 0;
  int memory_bus_bits = 0;
  bool simulated = false;  ///< `kind: measured` or `kind: simulated`.

  friend bool operator==(const DeviceRecord&, const DeviceRecord&) = default;
};

struct ToolchainRecord {
  std::string nvrtc;  ///< Release and build: "13.0.88".
  std::vector<std::string> flags;
  std::string driver;  ///< CUDA version of the driver: "13.0".

  friend bool operator==(const ToolchainRecord&, const ToolchainRecord&) = default;
};

struct SweepRecord {
  std::string effort;    ///< quick, standard, full.
  std::string protocol;  ///< graph or published.
  std::string buffers;   ///< cold or warm.
  std::int64_t seed = 0;
  std::vector<std::int64_t> M, N;
  std::int64_t configs = 0;       ///< Configurations that were candidates.
  std::int64_t measurements = 0;  ///< (configuration, shape) pairs timed.
  double duration_s = 0;
  bool partial = false;  ///< The budget ended, or a person interrupted, before the sweep was complete.

  friend bool operator==(const SweepRecord&, const SweepRecord&) = default;
};

struct ResourceRecord {
  int registers = 0, stack_bytes = 0, spill_store_bytes = 0, spill_load_bytes = 0, shared_bytes = 0;

  friend bool operator==(const ResourceRecord&, const ResourceRecord&) = default;
};

/// What was shown of the compiled code whose hash is `code_hash`; worth nothing for any other code.
struct VerificationRecord {
  std::string device;  ///< Name of the device it ran on.
  bool simulated = false;
  int suite = 0;           ///< Version of the verification suite.
  std::int64_t cases = 0;  ///< Launches checked.
  std::int64_t N_to = 0;   ///< Rows up to this length are covered (kOpen: any).
  double worst_error = 0;  ///< Largest error over its tolerance: below 1 passes.

  friend bool operator==(const VerificationRecord&, const VerificationRecord&) = default;
};

struct Kernel {
  std::string name;  ///< What thresholds call it, e.g. "v7_t256_vi4".
  Config config;     ///< Every axis, launch parameters included.
  std::string source_hash, code_hash;
  ResourceRecord resources;
  std::optional<VerificationRecord> verification;  ///< None: never dispatched before it is verified on the device.

  friend bool operator==(const Kernel&, const Kernel&) = default;
};

/// Where in the list of kernels the one named by `use` stands, as far as read() knows: it spares lookup() the search by
/// name. Derived, so that it never makes two tables differ; any value is allowed.
struct Position {
  std::size_t index = 0;

  friend bool operator==(const Position&, const Position&) noexcept { return true; }
};

struct Threshold {
  std::int64_t N_to = kOpen;  ///< Serves rows up to this length, inclusive.
  Alignment alignment = Alignment::any;
  std::string use;  ///< Name of a kernel.
  /// The two measured lengths between which the winner changed; none on the last threshold of a class.
  std::optional<std::pair<std::int64_t, std::int64_t>> crossover_N;
  std::optional<double> margin_pct;      ///< How much slower the runner-up is over this range, geometric mean.
  std::optional<std::string> runner_up;  ///< Its configuration, e.g. "v3 ITEMS=4 THREADS=256".
  Position kernel = {};                  ///< Of `use`.

  friend bool operator==(const Threshold&, const Threshold&) = default;
};

struct Band {
  std::int64_t M_from = 1, M_to = kOpen;  ///< Inclusive.
  std::vector<Threshold>
      thresholds;  ///< Ascending in N_to within each alignment class; the last of each class is open.

  friend bool operator==(const Band&, const Band&) = default;
};

/// A person's choice: comes before the thresholds and survives a retune.
struct Pin {
  DType dtype = DType::f32;
  std::int64_t M_from = 1, M_to = kOpen, N_from = 1, N_to = kOpen;  ///< Inclusive.
  std::string use;                                                  ///< Name of a kernel.
  Position kernel = {};                                             ///< Of `use`.

  friend bool operator==(const Pin&, const Pin&) = default;
};

struct OpTable {
  DType dtype = DType::f32;
  std::string op = "softmax";
  std::vector<Band> bands;  ///< Ascending and without gaps from M = 1; the last is open.
  /// As Table's, for this type alone; none in a table of one type.
  std::optional<double> regret_geomean = {}, regret_worst = {};

  friend bool operator==(const OpTable&, const OpTable&) = default;
};

struct Table {
  std::string library_version;
  DeviceRecord device;
  ToolchainRecord toolchain;
  SweepRecord sweep;
  std::optional<double> regret_geomean, regret_worst;  ///< Over the swept shapes of every type.
  std::vector<Kernel> kernels;
  std::vector<Pin> pins;
  std::vector<OpTable> tables;

  const Kernel* find(std::string_view kernel_name) const noexcept;

  friend bool operator==(const Table&, const Table&) = default;
};

/// "v7_t256_vi4", "unbounded_f16_t256": the variant, the type where it is not f32, then the initials of each constant
/// with its value.
std::string kernel_name(const Config& config);

/// Reads a table. `name` stands in the messages. Throws Error(bad_table) for text that is not such a table: truncated,
/// an unknown or duplicate key, a newer schema, a number with a decimal comma, or anything that validate() refuses.
Table read(std::string_view text, std::string_view name, bool (*known_variant)(std::string_view id));

/// Throws Error(bad_table) for a table in which some shape has no kernel or more than one: bands or thresholds that are
/// not ascending or not open at the end, a name that no kernel has, a threshold beyond the rows for which its kernel is
/// verified. `known_variant` says which variant ids exist.
void validate(const Table& table, bool (*known_variant)(std::string_view id));

/// The file's text: keys in one fixed order, the same bytes for the same table. read() of it gives the table again, if
/// validate() accepts it. Throws Error(internal) for a number that is not finite.
std::string write(const Table& table);

/// The kernel for the problem, of a table that was read or passes validate(): that of the first pin that holds it, else
/// of the threshold. Alignment any counts as aligned. Null only where the table has no entry for the dtype.
struct Choice {
  const Kernel* kernel = nullptr;
  const Pin* pin = nullptr;              ///< Set where a pin decided.
  const Band* band = nullptr;            ///< Set where a threshold decided.
  const Threshold* threshold = nullptr;  ///< Set where a threshold decided.
};
Choice lookup(const Table& table, const Problem& problem, Alignment alignment) noexcept;

/// The table shipped with the library for the architecture; none where there is none.
std::optional<std::string_view> shipped(std::string_view arch) noexcept;

}  // namespace softmax_dispatch::table
