#pragma once

#include <fmt/core.h>

#include <softmax_dispatch/status.hpp>
#include <stdexcept>
#include <string>
#include <utility>

namespace softmax_dispatch {

/// The exception that everything inside the library throws. The public functions turn it into a Status with guarded().
class Error : public std::runtime_error {
 public:
  Error(StatusCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  StatusCode code() const noexcept { return code_; }

 private:
  StatusCode code_;
};

/// throw_error(StatusCode::io, "cannot write {}: {}", path, why)
template <typename... Args>
[[noreturn]] void throw_error(StatusCode code, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

/// The Status of the exception in flight. Call inside a catch block only.
Status status_of_current_exception() noexcept;

/// Runs f() (void) and maps whatever it throws: the one place where exceptions end.
template <typename F>
Status guarded(F&& f) noexcept {
  try {
    std::forward<F>(f)();
    return {};
  } catch (...) {
    return status_of_current_exception();
  }
}

/// Throws the Error of a Status that is not ok.
inline void check(const Status& status) {
  if (!status.ok()) throw Error(status.code(), status.message());
}

}  // namespace softmax_dispatch
