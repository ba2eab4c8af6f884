#include "tuning/worker.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "support/error.hpp"
#include "tuning/json.hpp"
#include "tuning/process.hpp"
#include "tuning/worker_arguments.hpp"

namespace softmax_dispatch::tuning {
namespace {

using nlohmann::json;

/// Opening a driver and its context on a machine with many GPUs takes seconds.
constexpr double kReadySeconds = 120;
constexpr std::size_t kQuotedBytes = 200;

std::vector<std::string> all_arguments(const WorkerCommand& command, const WorkerSettings& settings) {
  std::vector<std::string> arguments = command.arguments;
  for (std::string& word : to_arguments(settings, ::getpid())) arguments.push_back(std::move(word));
  return arguments;
}

Error error_of(const json& error) {
  return {static_cast<StatusCode>(error.at("code").get<int>()), error.at("message").get<std::string>()};
}

}  // namespace

struct Worker::Impl {
  Impl(const WorkerCommand& command, const WorkerSettings& settings)
      : process(command.program, all_arguments(command, settings)) {
    activity = "its start";
    try {
      receive(kReadySeconds);
    } catch (const WorkerLost& lost) {
      throw_error(StatusCode::internal, "{}: {}; this is the program that compiles, verifies and measures",
                  command.program, lost.what());
    }
  }

  /// Sends a request and waits for its result. `timeout_s` limits the time between two signs of life: the worker names
  /// each candidate and each case before it runs it.
  template <typename T>
  T call(const char* operation, json parameters, double timeout_s) {
    activity = operation;
    parameters["op"] = operation;
    if (!process.write_line(to_line(parameters))) lose(process.end());
    const json result = receive(timeout_s);
    try {
      return decode<T>(result);
    } catch (const json::exception&) {
      no_message(to_line(result));
    }
  }

  json receive(double timeout_s) {
    std::string line;
    for (;;) {
      const Process::Read read = process.read_line(line, timeout_s);
      if (read == Process::Read::ended) lose(process.end());
      if (read == Process::Read::timed_out) {
        process.kill();
        process.end();
        lose(fmt::format("overran its time limit of {:g} s and was killed", timeout_s));
      }
      std::optional<json> result;
      try {
        result = take(json::parse(line));
      } catch (const json::exception&) {
        no_message(line);
      }
      if (result) return *std::move(result);
    }
  }

  /// The result, once there is one.
  std::optional<json> take(const json& message) {
    if (message.contains("at")) {
      activity = message["at"].get<std::string>();
      return std::nullopt;
    }
    if (!message.contains("error")) return message.at("result");
    const Error error = error_of(message["error"]);
    if (!message.value("fatal", false)) throw error;
    process.end();
    lose(fmt::format("lost its device ({})", error.what()));
  }

  [[noreturn]] void no_message(const std::string& line) {
    process.kill();
    process.end();
    lose(fmt::format("wrote something that is no message ('{}')", line.substr(0, kQuotedBytes)));
  }

  [[noreturn]] void lose(const std::string& how) const {
    const std::string words = process.last_words();
    throw WorkerLost(
        fmt::format("the worker {} during {}{}", how, activity, words.empty() ? "" : "; its last words: " + words));
  }

  Process process;
  std::string activity;
};

Worker::Worker(const WorkerCommand& command, const WorkerSettings& settings)
    : impl_(std::make_unique<Impl>(command, settings)) {}

Worker::~Worker() = default;

DeviceInfo Worker::device_info() {
  return impl_->call<DeviceInfo>("device_info", json::object(), kReadySeconds);
}

std::string Worker::nvrtc_build() {
  return impl_->call<std::string>("nvrtc_build", json::object(), kReadySeconds);
}

CompileResult Worker::compile(const Config& config, double timeout_s) {
  return impl_->call<CompileResult>("compile", {{"config", encode(config)}}, timeout_s);
}

verify::Outcome Worker::verify(const Config& config, verify::Depth depth, double timeout_s) {
  return impl_->call<verify::Outcome>("verify", {{"config", encode(config)}, {"depth", encode(depth)}}, timeout_s);
}

std::vector<TimeResult> Worker::time(const Problem& problem, const std::vector<Config>& candidates,
                                     const TimingPlan& plan, double timeout_s) {
  auto results = impl_->call<std::vector<TimeResult>>(
      "time", {{"problem", encode(problem)}, {"configs", encode(candidates)}, {"plan", encode(plan)}}, timeout_s);
  if (results.size() != candidates.size()) impl_->no_message(fmt::format("{} results", results.size()));
  return results;
}

double Worker::copy_limit_us(const Problem& problem, const TimingPlan& plan, double timeout_s) {
  return impl_->call<double>("copy_limit", {{"problem", encode(problem)}, {"plan", encode(plan)}}, timeout_s);
}

TimeResult Worker::reduce_once(const Problem& problem, const Config& config, const TimingPlan& plan, double timeout_s) {
  return impl_->call<TimeResult>(
      "reduce_once", {{"problem", encode(problem)}, {"config", encode(config)}, {"plan", encode(plan)}}, timeout_s);
}

const std::string& Worker::last_activity() const noexcept {
  return impl_->activity;
}

}  // namespace softmax_dispatch::tuning
