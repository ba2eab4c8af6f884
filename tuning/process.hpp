#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace softmax_dispatch::tuning {

/// A child process that is talked to in lines: its stdin and stdout are one socket, and the end of what it writes on
/// stderr is kept. It has a process group of its own, so that Ctrl-C in a terminal does not reach it.
class Process {
 public:
  /// Throws Error(io) where the program cannot be started.
  Process(const std::string& program, const std::vector<std::string>& arguments);
  /// Closes its stdin, gives it a moment to leave, then kills it.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// False where the child no longer reads.
  bool write_line(std::string_view line);

  enum class Read { line, ended, timed_out };
  /// Waits for the child's next line, at most `timeout_s`.
  Read read_line(std::string& line, double timeout_s);

  /// Kills the child if it still runs.
  void kill();
  /// Waits for the end of a child that has closed its stdout or was killed, and says how it came: "exited with code 3",
  /// "was killed by SIGSEGV (Segmentation fault)".
  std::string end();
  /// Its last words on stderr: the last line that is not empty, at most 500 bytes.
  std::string last_words() const;

 private:
  using Clock = std::chrono::steady_clock;

  void receive_errors();
  bool reap(double timeout_s);

  pid_t pid_ = -1;
  int socket_ = -1;
  int errors_ = -1;
  int status_ = 0;
  bool reaped_ = false;
  std::string received_;
  std::string errors_tail_;
};

}  // namespace softmax_dispatch::tuning
