#include <fmt/core.h>

#include <cstdio>
#include <variant>

#include "cli/commands/commands.hpp"
#include "cli/options.hpp"
#include "support/error.hpp"

namespace softmax_dispatch::cli {
namespace {

int exit_code(StatusCode code) {
  switch (code) {
    case StatusCode::ok:
      return kDone;
    case StatusCode::invalid_argument:
      return kUsage;
    case StatusCode::no_device:
      return kNoDevice;
    default:
      return kFailed;
  }
}

}  // namespace
}  // namespace softmax_dispatch::cli

int main(int argc, char** argv) {
  using namespace softmax_dispatch;
  int code = cli::kDone;
  const Status status = guarded(
      [&] { code = std::visit([](const auto& options) { return cli::run(options); }, cli::parse(argc, argv)); });
  if (status.ok()) return code;
  std::fputs(fmt::format("softmax-tune: error: {}\n", status.message()).c_str(), stderr);
  return cli::exit_code(status.code());
}
