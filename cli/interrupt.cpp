#include "cli/interrupt.hpp"

#include <unistd.h>

#include <csignal>
#include <string_view>

namespace softmax_dispatch::cli {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "set in a signal handler");

void on_signal(int) {
  interrupted = true;
  constexpr std::string_view kText = "\nsoftmax-tune: finishing with what there is; once more ends at once\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, kText.data(), kText.size());
}

void set_handler(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  // NOTE: SA_RESETHAND is what makes the second signal end the process.
  action.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);
  sigaction(signal, &action, nullptr);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  interrupted = false;
  set_handler(SIGINT, on_signal);
  set_handler(SIGTERM, on_signal);
}

InterruptGuard::~InterruptGuard() {
  set_handler(SIGINT, SIG_DFL);
  set_handler(SIGTERM, SIG_DFL);
}

const std::atomic<bool>& InterruptGuard::flag() const noexcept {
  return interrupted;
}

}  // namespace softmax_dispatch::cli
