#pragma once

#include <memory>
#include <optional>
#include <string>

#include "device/device.hpp"
#include "jit/cache.hpp"
#include "support/config.hpp"
#include "verify/verify.hpp"

namespace softmax_dispatch::runtime {

/// Outcomes of first-use verifications, kept in the cubin cache so that the next process need not repeat them. An
/// outcome is about one compiled code with one set of launch parameters, on one model of GPU under one driver, by one
/// version of the suite. Thread-safe.
class Outcomes {
 public:
  /// `cache` may be null: nothing is remembered then.
  explicit Outcomes(std::shared_ptr<jit::Cache> cache) : cache_(std::move(cache)) {}

  struct Verdict {
    bool passed = false;
    std::string reason;  ///< Of a failure.
  };
  std::optional<Verdict> find(const std::string& code_hash, const Config& config, const DeviceInfo& device) const;
  void put(const std::string& code_hash, const Config& config, const DeviceInfo& device, const Verdict& verdict);

 private:
  std::shared_ptr<jit::Cache> cache_;
};

}  // namespace softmax_dispatch::runtime
