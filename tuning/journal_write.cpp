#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "support/error.hpp"
#include "tuning/journal.hpp"
#include "tuning/journal_line.hpp"
#include "tuning/json.hpp"

namespace softmax_dispatch::tuning {

struct JournalWriter::Impl {
  std::filesystem::path path;
  int fd = -1;

  ~Impl() {
    if (fd >= 0) ::close(fd);
  }

  [[noreturn]] void fail() const {
    throw_error(StatusCode::io, "cannot write the journal {}: {}", path.string(), std::strerror(errno));
  }

  template <typename Event>
  void append(const char* kind, const Event& event) {
    const std::string line = journal_line(to_line({{"event", kind}, {"data", encode(event)}})) + '\n';
    std::size_t written = 0;
    while (written < line.size()) {
      const ssize_t n = ::write(fd, line.data() + written, line.size() - written);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail();
      written += static_cast<std::size_t>(n);
    }
  }
};

JournalWriter::JournalWriter(const std::filesystem::path& path) : impl_(std::make_unique<Impl>()) {
  impl_->path = path;
  impl_->fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (impl_->fd < 0) impl_->fail();
}

JournalWriter::~JournalWriter() = default;

void JournalWriter::append(const RunEvent& event) {
  impl_->append("run", event);
}
void JournalWriter::append(const CompileEvent& event) {
  impl_->append("compile", event);
}
void JournalWriter::append(const VerifyEvent& event) {
  impl_->append("verify", event);
}
void JournalWriter::append(const MeasureEvent& event) {
  impl_->append("measure", event);
}
void JournalWriter::append(const QuarantineEvent& event) {
  impl_->append("quarantine", event);
}
void JournalWriter::append(const EndEvent& event) {
  impl_->append("end", event);
}

}  // namespace softmax_dispatch::tuning
