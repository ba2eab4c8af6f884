#include <softmax_dispatch/status.hpp>

namespace softmax_dispatch {

const char* to_string(StatusCode code) noexcept {
  switch (code) {
    case StatusCode::ok:
      return "ok";
    case StatusCode::invalid_argument:
      return "invalid_argument";
    case StatusCode::unsupported:
      return "unsupported";
    case StatusCode::no_device:
      return "no_device";
    case StatusCode::toolchain:
      return "toolchain";
    case StatusCode::bad_table:
      return "bad_table";
    case StatusCode::io:
      return "io";
    case StatusCode::not_warmed:
      return "not_warmed";
    case StatusCode::device:
      return "device";
    case StatusCode::verification_failed:
      return "verification_failed";
    case StatusCode::internal:
      return "internal";
  }
  return "unknown";
}

}  // namespace softmax_dispatch
