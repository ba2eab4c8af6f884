#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "tuning/worker.hpp"

namespace softmax_dispatch::tuning {

/// The settings as words of a command line, "arch=sm_90 device=0 simulated=0 cache=/path nvrtc= owner=1234": no dashes,
/// so that a program with options of its own hands them on untouched.
std::vector<std::string> to_arguments(const WorkerSettings& settings, pid_t owner);

struct WorkerArguments {
  WorkerSettings settings;
  pid_t owner = 0;
};
/// Throws Error(invalid_argument).
WorkerArguments parse_worker_arguments(const std::vector<std::string>& arguments);

}  // namespace softmax_dispatch::tuning
