#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <softmax_dispatch/problem.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "jit/resources.hpp"
#include "support/config.hpp"
#include "table/table.hpp"
#include "tuning/protocol.hpp"
#include "verify/verify.hpp"

/// The journal: one JSON object a line, each with a checksum of its own text, appended as a tune goes on. The table is
/// fitted from it (fit.hpp) and from nothing else but the pins and the table it replaces.
namespace softmax_dispatch::tuning {

/// First line: what was tuned, where, with what.
struct RunEvent {
  table::DeviceRecord device;
  table::ToolchainRecord toolchain;
  table::SweepRecord sweep;
  std::string library_version;
};
struct CompileEvent {
  Config config;
  std::string source_hash, code_hash;
  jit::Resources resources;
  std::optional<std::string> error;
};
struct VerifyEvent {
  Config config;
  std::string code_hash;
  verify::Outcome outcome;
};
struct MeasureEvent {
  Config config;
  Problem problem;
  Timing timing;
  bool final = false;  ///< Of a finalist, in interleaved replays.
};
struct QuarantineEvent {
  Config config;
  std::string stage, reason;
};
/// Last line of a run that came to its end.
struct EndEvent {
  double duration_s = 0;
  bool partial = false;
};

/// The events of one file, in order within each kind.
struct Journal {
  std::optional<RunEvent> run;
  std::vector<CompileEvent> compiles;
  std::vector<VerifyEvent> verifications;
  std::vector<MeasureEvent> measurements;
  std::vector<QuarantineEvent> quarantines;
  std::optional<EndEvent> end;
  std::size_t damaged_lines = 0;  ///< Lines that were cut short or whose checksum is wrong: left out.
};
/// Throws Error(io), or Error(bad_table) where the first line is no run.
Journal read_journal(const std::filesystem::path& path);

/// Appends events; each is flushed before append() returns, so that a killed tune loses none.
class JournalWriter {
 public:
  explicit JournalWriter(const std::filesystem::path& path);  ///< Starts the file anew. Throws Error(io).
  ~JournalWriter();
  void append(const RunEvent& event);
  void append(const CompileEvent& event);
  void append(const VerifyEvent& event);
  void append(const MeasureEvent& event);
  void append(const QuarantineEvent& event);
  void append(const EndEvent& event);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace softmax_dispatch::tuning
