#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "tuning/tuner.hpp"

/// Compiling and verifying many configurations over worker processes.
namespace softmax_dispatch::tuning {

/// Between two signs of life of a worker (Worker). A kernel with a huge private array compiles for half a minute; a
/// launch takes milliseconds, and 1100 of them in the published protocol some seconds.
inline constexpr double kCompileSeconds = 180;
inline constexpr double kVerifySeconds = 30;
inline constexpr double kTimeSeconds = 30;

/// What is told of each result on the calling thread, in the order in which they come in; may be empty.
template <typename Result>
using OnResult = std::function<void(std::size_t i, const Result& result)>;

/// In the order of the configurations; nothing for those that were not reached before `stop` was set. A configuration
/// that ended its worker has that as its error.
std::vector<std::optional<CompileResult>> compile_configs(const std::vector<Config>& configs,
                                                          const WorkerCommand& command, const WorkerSettings& settings,
                                                          const OnResult<CompileResult>& on_result,
                                                          const std::atomic<bool>* stop);

struct Verified {
  verify::Outcome outcome;
  bool lost = false;  ///< It ended its worker; the outcome's reason says how.
};
std::vector<std::optional<Verified>> verify_configs(const std::vector<Config>& configs, verify::Depth depth,
                                                    const WorkerCommand& command, const WorkerSettings& settings,
                                                    const OnResult<Verified>& on_result, const std::atomic<bool>* stop,
                                                    double limit_s = kVerifySeconds);

}  // namespace softmax_dispatch::tuning
