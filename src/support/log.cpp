#include "support/log.hpp"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "support/env.hpp"

namespace softmax_dispatch {
namespace {

constexpr std::array<std::pair<std::string_view, LogLevel>, 5> kLevels{{{"debug", LogLevel::debug},
                                                                        {"info", LogLevel::info},
                                                                        {"warn", LogLevel::warn},
                                                                        {"error", LogLevel::error},
                                                                        {"off", LogLevel::off}}};

spdlog::level::level_enum to_spdlog(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warn:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
    case LogLevel::off:
      return spdlog::level::off;
  }
  return spdlog::level::off;
}

void set_level_from_environment(spdlog::logger& logger) {
  logger.set_level(spdlog::level::warn);
  const std::optional<std::string> wanted = env::log_level();
  if (!wanted) return;
  for (const auto& [name, level] : kLevels) {
    if (*wanted == name) {
      logger.set_level(to_spdlog(level));
      return;
    }
  }
  logger.warn("SOFTMAX_DISPATCH_LOG is '{}', which is no level; use off, error, warn, info or debug", *wanted);
}

/// Never destroyed, so that destructors of static objects may still log; not in spdlog's registry, which belongs to the
/// host program.
spdlog::logger& logger() {
  static spdlog::logger& instance = *[] {
    auto made = std::make_unique<spdlog::logger>("softmax_dispatch", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("%H:%M:%S.%e %n [%l] %v");
    set_level_from_environment(*made);
    return made.release();
  }();
  return instance;
}

}  // namespace

// A log line that cannot be written (no memory, for one) must not become the failure of the call that wrote it.

void set_log_level(LogLevel level) noexcept {
  try {
    logger().set_level(to_spdlog(level));
  } catch (...) {
    return;
  }
}

bool log_enabled(LogLevel level) noexcept {
  try {
    return level != LogLevel::off && logger().should_log(to_spdlog(level));
  } catch (...) {
    return false;
  }
}

void log_line(LogLevel level, std::string_view message) noexcept {
  try {
    logger().log(to_spdlog(level), spdlog::string_view_t(message.data(), message.size()));
  } catch (...) {
    return;
  }
}

}  // namespace softmax_dispatch
