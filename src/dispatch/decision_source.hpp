#pragma once

#include <memory>
#include <optional>
#include <softmax_dispatch/dispatcher.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.hpp"
#include "dispatch/decisions.hpp"
#include "jit/cache.hpp"
#include "support/config.hpp"
#include "table/table.hpp"

namespace softmax_dispatch::runtime {

/// Where decisions come from: a forced configuration, else the table of the options, else the one shipped for the
/// architecture, else the rule, which also serves the types of which the table says nothing. Immutable.
class DecisionSource {
 public:
  /// Reads and checks the table, or takes it from the cache, where every table that was read is kept; without a cache
  /// each is read. Throws Error(io), (bad_table), and (invalid_argument) for a forced configuration that is none.
  explicit DecisionSource(const DispatcherOptions& options, const Registry& variants = registry(),
                          std::shared_ptr<jit::Cache> cache = nullptr);

  /// Where `device` is given, says in the log what a person should know of a table that was not made on it. Throws
  /// Error(bad_table) where the table is for another architecture, (unsupported) where the forced configuration does
  /// not exist on the target.
  Decisions decisions(const Target& target, const DeviceInfo* device = nullptr) const;

  /// The architecture of the options' table; none where they name no table.
  std::optional<std::string> table_arch() const;
  /// Throws Error(bad_table) where the options' table is for another architecture.
  void check_arch(const std::string& arch) const;

 private:
  table::Table read(std::string_view text, const std::string& name) const;
  table::Table table_for(const Target& target) const;

  const Registry* variants_;
  std::shared_ptr<jit::Cache> cache_;
  std::vector<Config> forced_;         ///< Of each type; empty: nothing is forced.
  std::string path_;                   ///< Of table_, for messages.
  std::optional<table::Table> table_;  ///< None: options named no table.
};

}  // namespace softmax_dispatch::runtime
