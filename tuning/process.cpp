#include "tuning/process.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

#include "support/error.hpp"
#include "support/log.hpp"

extern char** environ;

namespace softmax_dispatch::tuning {
namespace {

constexpr std::size_t kTailBytes = 4096;
constexpr std::size_t kLastWordsBytes = 500;
constexpr double kLeaveSeconds = 5;

/// Closes on destruction what has not been released.
class Descriptor {
 public:
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
  int release() noexcept { return std::exchange(fd, -1); }
  int fd = -1;
};

/// posix_spawn's two structures, with an owner.
struct SpawnSettings {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;

  SpawnSettings(int child_socket, int child_errors) {
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, child_socket, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, child_socket, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, child_errors, STDERR_FILENO);
    posix_spawnattr_init(&attributes);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
};

[[noreturn]] void fail(const std::string& program, int error) {
  throw_error(StatusCode::io, "cannot start {} as a worker: {}", program, std::strerror(error));
}

std::string signal_text(int signal) {
  const char* name = sigabbrev_np(signal);
  const char* description = sigdescr_np(signal);
  if (!name || !description) return fmt::format("signal {}", signal);
  return fmt::format("SIG{} ({})", name, description);
}

}  // namespace

Process::Process(const std::string& program, const std::vector<std::string>& arguments) {
  int sockets[2], pipes[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) fail(program, errno);
  Descriptor mine{sockets[0]}, theirs{sockets[1]};
  if (::pipe2(pipes, O_CLOEXEC) != 0) fail(program, errno);
  Descriptor errors{pipes[0]}, their_errors{pipes[1]};
  if (::fcntl(errors.fd, F_SETFL, O_NONBLOCK) != 0) fail(program, errno);

  std::vector<std::string> words{program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  const SpawnSettings settings(theirs.fd, their_errors.fd);
  const int error = ::posix_spawn(&pid_, program.c_str(), &settings.files, &settings.attributes, argv.data(), environ);
  if (error != 0) fail(program, error);
  socket_ = mine.release();
  errors_ = errors.release();
}

Process::~Process() {
  ::shutdown(socket_, SHUT_WR);
  if (!reap(kLeaveSeconds)) {
    kill();
    reap(kLeaveSeconds);
  }
  ::close(socket_);
  ::close(errors_);
}

bool Process::write_line(std::string_view line) {
  std::string text(line);
  text += '\n';
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t n = ::send(socket_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    sent += static_cast<std::size_t>(n);
  }
  return true;
}

Process::Read Process::read_line(std::string& line, double timeout_s) {
  const auto deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeout_s));
  for (;;) {
    if (const std::size_t newline = received_.find('\n'); newline != std::string::npos) {
      line = received_.substr(0, newline);
      received_.erase(0, newline + 1);
      return Read::line;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return Read::timed_out;
    pollfd polled[2] = {{socket_, POLLIN, 0}, {errors_, POLLIN, 0}};
    const int ready = ::poll(polled, 2, static_cast<int>(std::min<long>(left, 60'000)));
    if (ready < 0 && errno != EINTR) throw_error(StatusCode::internal, "poll: {}", std::strerror(errno));
    if (ready <= 0) continue;
    if (polled[1].revents) receive_errors();
    if (!polled[0].revents) continue;
    char buffer[8192];
    const ssize_t n = ::recv(socket_, buffer, sizeof buffer, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Read::ended;
    received_.append(buffer, static_cast<std::size_t>(n));
  }
}

void Process::receive_errors() {
  char buffer[4096];
  for (;;) {
    const ssize_t n = ::read(errors_, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) ::close(std::exchange(errors_, -1));  // poll ignores a negative descriptor
    if (n <= 0) break;
    const std::string_view text(buffer, static_cast<std::size_t>(n));
    log(LogLevel::debug, "worker {}: {}", pid_, text);
    errors_tail_ += text;
    if (errors_tail_.size() > kTailBytes) errors_tail_.erase(0, errors_tail_.size() - kTailBytes);
  }
}

void Process::kill() {
  if (!reaped_) ::kill(pid_, SIGKILL);
}

bool Process::reap(double timeout_s) {
  const auto deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeout_s));
  // A process may sit in its GPU driver for a while after SIGKILL: no wait without an end.
  for (auto pause = std::chrono::microseconds(200); !reaped_;
       pause = std::min(2 * pause, std::chrono::microseconds(20'000))) {
    const pid_t found = ::waitpid(pid_, &status_, WNOHANG);
    if (found == pid_ || (found < 0 && errno != EINTR)) reaped_ = true;
    if (reaped_ || Clock::now() >= deadline) break;
    std::this_thread::sleep_for(pause);
  }
  return reaped_;
}

std::string Process::end() {
  if (!reap(kLeaveSeconds)) {
    kill();
    if (!reap(kLeaveSeconds)) return "does not end, not even killed";
  }
  if (errors_ >= 0) receive_errors();
  if (WIFSIGNALED(status_)) return "was killed by " + signal_text(WTERMSIG(status_));
  return fmt::format("exited with code {}", WEXITSTATUS(status_));
}

std::string Process::last_words() const {
  std::string_view text = errors_tail_;
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  if (const std::size_t newline = text.rfind('\n'); newline != std::string_view::npos) text.remove_prefix(newline + 1);
  return std::string(text.substr(0, kLastWordsBytes));
}

}  // namespace softmax_dispatch::tuning
