#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <softmax_dispatch/problem.hpp>
#include <string>
#include <variant>
#include <vector>

#include "support/config.hpp"
#include "tuning/protocol.hpp"
#include "tuning/sweep.hpp"

/// The command line as plain structs, one per command. Every value in them has been checked as far as that is possible
/// without reading a file or asking a device.
namespace softmax_dispatch::cli {

/// --device: a GPU of the architecture, the K-th GPU, or the simulated device.
struct DeviceChoice {
  enum class Kind { automatic, cuda, sim };
  Kind kind = Kind::automatic;
  int ordinal = 0;  ///< Of Kind::cuda.
};

struct TuneOptions {
  std::string arch;
  std::filesystem::path out;
  DeviceChoice device;
  tuning::Sweep sweep;  ///< Of --effort, cut to --M and --N.
  std::vector<DType> dtypes{DType::f32};
  std::uint64_t seed = 42;
  std::optional<double> budget_s;
  tuning::Protocol protocol = tuning::Protocol::graph;
  bool quiet = false;
};

struct ListOptions {
  std::string arch;     ///< Set with `resources` only.
  std::string variant;  ///< "": all of them.
  bool resources = false;
  bool json = false;
  bool quiet = false;
};

struct ShowOptions {
  std::filesystem::path table;
  bool json = false;
};

struct ExplainOptions {
  std::filesystem::path table;
  Problem problem;
  bool json = false;
};

struct BenchOptions {
  std::optional<std::filesystem::path> table;
  std::vector<Problem> problems;
  DeviceChoice device;
  std::uint64_t seed = 42;
  tuning::Protocol protocol = tuning::Protocol::graph;
  bool all_variants = false;
  bool reduce_once = false;
  bool json = false;
  bool quiet = false;
};

struct VerifyOptions {
  std::filesystem::path table;
  DeviceChoice device;
  bool json = false;
  bool quiet = false;
};

struct ProfileOptions {
  std::string arch;
  std::string variant;
  Problem problem;
  Constants constants;  ///< As set; the others follow from the problem.
  DeviceChoice device;
  bool json = false;
};

struct DoctorOptions {
  bool json = false;
};

/// The hidden command that the tuner starts for everything that may crash or hang.
struct WorkerOptions {
  std::vector<std::string> arguments;
};

/// Text asked for by --help or --version, for stdout.
struct PrintText {
  std::string text;
};

using Command = std::variant<PrintText, TuneOptions, ListOptions, ShowOptions, ExplainOptions, BenchOptions,
                             VerifyOptions, ProfileOptions, DoctorOptions, WorkerOptions>;

/// Throws Error(invalid_argument) for anything that is no valid command line.
Command parse(int argc, const char* const* argv);

}  // namespace softmax_dispatch::cli
