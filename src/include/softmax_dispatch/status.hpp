#pragma once

#include <softmax_dispatch/export.h>

#include <memory>
#include <string>
#include <string_view>

namespace softmax_dispatch {

/// What kind of thing went wrong. The message of a Status says what exactly, the value seen, the rule, and the next
/// step.
enum class StatusCode : int {
  ok = 0,
  invalid_argument = 1,  ///< A null or misaligned pointer, a negative size, a text that does not parse.
  unsupported = 2,       ///< A type, shape or architecture that this version has no kernel for.
  no_device = 3,         ///< No driver, no GPU, or no GPU of the architecture asked for.
  toolchain = 4,         ///< NVRTC is missing, too old or too new for the driver, or refused a kernel.
  bad_table = 5,         ///< A decision table that cannot be read, or does not fit this library or device.
  io = 6,                ///< A file or folder that cannot be read or written.
  not_warmed = 7,        ///< The stream is being captured and no kernel for this shape is loaded: call prewarm() first.
  device = 8,            ///< The driver's error with its number and name, or the fault that a simulated GPU found.
  verification_failed = 9,  ///< A kernel failed verification on this device, and no other can serve the shape.
  internal = 10,            ///< A defect of this library; please report it with the message.
};

/// The code's name as it is written above, e.g. "invalid_argument".
SOFTMAX_DISPATCH_API const char* to_string(StatusCode code) noexcept;

/// The outcome of a call: a code, and for every code but ok a message. Copying is cheap and never throws; a Status that
/// is ok owns nothing.
class [[nodiscard]] Status {
 public:
  Status() noexcept = default;
  Status(StatusCode code, std::string_view message) noexcept
      : code_(code), message_(code == StatusCode::ok ? nullptr : copy(message)) {}

  bool ok() const noexcept { return code_ == StatusCode::ok; }
  explicit operator bool() const noexcept { return ok(); }
  StatusCode code() const noexcept { return code_; }
  /// Null-terminated; empty for ok; valid as long as this Status or a copy of it lives.
  const char* message() const noexcept { return message_ ? message_->c_str() : ""; }

 private:
  static std::shared_ptr<const std::string> copy(std::string_view message) noexcept {
    try {
      return std::make_shared<const std::string>(message);
    } catch (...) {
      return nullptr;  // out of memory: the code alone survives
    }
  }

  StatusCode code_ = StatusCode::ok;
  std::shared_ptr<const std::string> message_;
};

}  // namespace softmax_dispatch
