#pragma once

#include <fmt/core.h>

#include <string_view>

namespace softmax_dispatch {

/// Log lines on stderr, off below `warn` unless SOFTMAX_DISPATCH_LOG says otherwise. Only log.cpp knows spdlog.
enum class LogLevel { debug, info, warn, error, off };

void set_log_level(LogLevel level) noexcept;
bool log_enabled(LogLevel level) noexcept;
void log_line(LogLevel level, std::string_view message) noexcept;

template <typename... Args>
void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(level)) log_line(level, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace softmax_dispatch
