#include "dispatch/device_choice.hpp"

#include "device/sim/open.hpp"
#include "support/env.hpp"
#include "support/error.hpp"
#include "support/text.hpp"

namespace softmax_dispatch::runtime {
namespace {

constexpr std::string_view kCuda = "cuda", kSim = "sim";
constexpr const char* kDefaultArch = "sm_75";  // the oldest that is served

DeviceChoice requested(const DispatcherOptions& options) {
  if (!options.device.empty()) return parse_device(options.device, "DispatcherOptions::device");
  if (const auto text = env::device()) return parse_device(*text, "SOFTMAX_DISPATCH_DEVICE");
  return {};
}

}  // namespace

DeviceChoice parse_device(std::string_view text, std::string_view named_by) {
  if (text == kCuda) return {};
  if (text == kSim) return {true, {}};
  if (!text.starts_with("sim:")) {
    throw_error(
        StatusCode::invalid_argument,
        "{} is '{}', but must be cuda (the GPU), sim or sim:ARCH (a simulated GPU, e.g. sim:sm_75): correct it, "
        "or leave it out for the GPU",
        named_by, text);
  }
  DeviceChoice choice{true, std::string(text.substr(kSim.size() + 1))};
  if (!sim::simulated_info(choice.arch)) {
    throw_error(StatusCode::no_device, "{} is '{}', but no GPU of architecture '{}' is simulated: name one of {}",
                named_by, text, choice.arch, join(sim::simulated_archs(), ", "));
  }
  return choice;
}

Backend& backend_for(const DispatcherOptions& options, const DecisionSource& source) {
  DeviceChoice choice = requested(options);
  if (!choice.simulated) return cuda_backend();
  if (choice.arch.empty()) choice.arch = source.table_arch().value_or(kDefaultArch);
  if (!sim::simulated_info(choice.arch)) {
    throw_error(StatusCode::no_device,
                "{}: the table is for {}, of which no GPU is simulated: use a table for one of {}", options.table,
                choice.arch, join(sim::simulated_archs(), ", "));
  }
  source.check_arch(choice.arch);
  return sim_backend(choice.arch);
}

}  // namespace softmax_dispatch::runtime
