#include "dispatch/outcomes.hpp"

#include <string_view>

#include "support/hash.hpp"

namespace softmax_dispatch::runtime {
namespace {

constexpr std::string_view kPassed = "passed";
constexpr std::string_view kFailed = "failed: ";

std::string key_of(const std::string& code_hash, const Config& config, const DeviceInfo& device) {
  return Hasher()
      .add("verification")
      .add(std::to_string(verify::kSuite))
      .add(code_hash)
      .add(to_string(config))
      .add(device.name)
      .add(device.simulated ? "simulated" : "hardware")
      .add(std::to_string(device.driver_version))
      .hex();
}

}  // namespace

std::optional<Outcomes::Verdict> Outcomes::find(const std::string& code_hash, const Config& config,
                                                const DeviceInfo& device) const {
  if (!cache_) return std::nullopt;
  const std::optional<std::string> text = cache_->get(key_of(code_hash, config, device));
  if (!text) return std::nullopt;
  if (*text == kPassed) return Verdict{true, {}};
  if (text->starts_with(kFailed)) return Verdict{false, text->substr(kFailed.size())};
  return std::nullopt;
}

void Outcomes::put(const std::string& code_hash, const Config& config, const DeviceInfo& device,
                   const Verdict& verdict) {
  if (!cache_) return;
  cache_->put(key_of(code_hash, config, device),
              verdict.passed ? std::string(kPassed) : std::string(kFailed) + verdict.reason);
}

}  // namespace softmax_dispatch::runtime
