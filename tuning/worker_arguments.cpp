#include "tuning/worker_arguments.hpp"

#include <fmt/core.h>

#include <map>

#include "support/error.hpp"
#include "support/text.hpp"

namespace softmax_dispatch::tuning {
namespace {

int to_int(const std::string& name, const std::string& text) {
  const std::optional<std::int64_t> value = parse_int(text);
  if (!value || *value < -1 || *value > INT32_MAX)
    throw_error(StatusCode::invalid_argument, "worker: {}={} is no number in range", name, text);
  return static_cast<int>(*value);
}

}  // namespace

std::vector<std::string> to_arguments(const WorkerSettings& settings, pid_t owner) {
  return {"arch=" + settings.arch,
          fmt::format("device={}", settings.device),
          fmt::format("simulated={}", settings.simulated ? 1 : 0),
          "cache=" + settings.cache.string(),
          "nvrtc=" + settings.nvrtc,
          fmt::format("owner={}", owner)};
}

WorkerArguments parse_worker_arguments(const std::vector<std::string>& arguments) {
  std::map<std::string, std::string> values;
  for (const std::string& argument : arguments) {
    const std::size_t equals = argument.find('=');
    if (equals == std::string::npos)
      throw_error(StatusCode::invalid_argument, "worker: '{}' is not of the form name=value", argument);
    values[argument.substr(0, equals)] = argument.substr(equals + 1);
  }
  const auto get = [&](const std::string& name) -> const std::string& {
    const auto found = values.find(name);
    if (found == values.end())
      throw_error(StatusCode::invalid_argument, "worker: {}= is missing: softmax-tune starts it itself", name);
    return found->second;
  };
  WorkerArguments result;
  result.settings.arch = get("arch");
  result.settings.device = to_int("device", get("device"));
  result.settings.simulated = to_int("simulated", get("simulated")) == 1;
  result.settings.cache = get("cache");
  result.settings.nvrtc = get("nvrtc");
  result.owner = to_int("owner", get("owner"));
  return result;
}

}  // namespace softmax_dispatch::tuning
