#include "tuning/worker_loop.hpp"

#include <fmt/core.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "device/cuda/cuda.hpp"
#include "device/sim/open.hpp"
#include "support/error.hpp"
#include "tuning/json.hpp"
#include "tuning/simulation.hpp"
#include "tuning/worker_arguments.hpp"
#include "tuning/worker_jobs.hpp"

namespace softmax_dispatch::tuning {
namespace {

using nlohmann::json;

constexpr int kOwnerGone = 1, kDeviceLost = 3;

/// Lines to the owner. Whatever else the process prints on stdout goes to stderr, where it does no harm.
class Channel {
 public:
  Channel() : fd_(::dup(STDOUT_FILENO)) { ::dup2(STDERR_FILENO, STDOUT_FILENO); }
  ~Channel() { ::close(fd_); }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  void send(const json& message) const {
    const std::string line = to_line(message) + '\n';
    for (std::size_t sent = 0; sent < line.size();) {
      const ssize_t n = ::write(fd_, line.data() + sent, line.size() - sent);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) ::_exit(kOwnerGone);
      sent += static_cast<std::size_t>(n);
    }
  }

 private:
  int fd_;
};

json error_message(const Status& status, bool fatal) {
  return {{"error", {{"code", static_cast<int>(status.code())}, {"message", status.message()}}}, {"fatal", fatal}};
}

json answer(WorkerJobs& jobs, const json& request) {
  const auto operation = request.at("op").get<std::string>();
  if (operation == "device_info") return encode(jobs.device_info());
  if (operation == "nvrtc_build") return jobs.nvrtc_build();
  if (operation == "compile") return encode(jobs.compile(decode<Config>(request.at("config"))));
  if (operation == "verify")
    return encode(jobs.verify(decode<Config>(request.at("config")), decode<verify::Depth>(request.at("depth"))));
  const auto problem = decode<Problem>(request.at("problem"));
  const auto plan = decode<TimingPlan>(request.at("plan"));
  if (operation == "time") return encode(jobs.time(problem, decode<std::vector<Config>>(request.at("configs")), plan));
  if (operation == "copy_limit") return jobs.copy_limit_us(problem, plan);
  if (operation == "reduce_once") return encode(jobs.reduce_once(problem, decode<Config>(request.at("config")), plan));
  throw_error(StatusCode::internal, "the worker knows no operation '{}'", operation);
}

/// Ends with its owner, even while a kernel hangs.
void follow_owner(pid_t owner) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != owner) throw_error(StatusCode::internal, "the worker's owner {} has ended already", owner);
}

}  // namespace

int run_worker(const Registry& registry, const jit::Sources& sources, const std::vector<std::string>& arguments,
               const OpenDevice& open_device) {
  const Channel channel;
  std::optional<WorkerJobs> jobs;
  const Status start = guarded([&] {
    const WorkerArguments parsed = parse_worker_arguments(arguments);
    follow_owner(parsed.owner);
    jobs.emplace(registry, sources, parsed.settings, open_device, [&](const std::string& text) {
      channel.send({{"at", text}});
    });
  });
  if (!start.ok()) {
    channel.send(error_message(start, false));
    return kOwnerGone;
  }
  channel.send({{"result", "ready"}});
  for (std::string line; std::getline(std::cin, line);) {
    json message;
    const Status status = guarded([&] { message = {{"result", answer(*jobs, json::parse(line))}}; });
    if (status.ok()) {
      channel.send(message);
      continue;
    }
    // After a device error the context may be beyond use, and nothing but a new process brings a clean one.
    const bool fatal = status.code() == StatusCode::device;
    channel.send(error_message(status, fatal));
    if (fatal) {
      // The device's objects would only throw again on their way out.
      std::cerr << std::flush;
      ::_exit(kDeviceLost);
    }
  }
  return 0;
}

int worker_main(const Registry& registry, const jit::Sources& sources, const std::vector<std::string>& arguments) {
  return run_worker(registry, sources, arguments, [](const WorkerSettings& settings) -> std::unique_ptr<Device> {
    if (settings.simulated) return sim::open(settings.arch, simulation_options());
    return cuda::open(settings.device);
  });
}

}  // namespace softmax_dispatch::tuning
