#pragma once

#include "cli/options.hpp"

/// One function per command, each in a file of its name. Returns the exit code; throws Error.
namespace softmax_dispatch::cli {

inline constexpr int kDone = 0, kFailed = 1, kUsage = 2, kNoDevice = 3, kPartial = 4;

int run(const PrintText& options);
int run(const TuneOptions& options);
int run(const ListOptions& options);
int run(const ShowOptions& options);
int run(const ExplainOptions& options);
int run(const BenchOptions& options);
int run(const VerifyOptions& options);
int run(const ProfileOptions& options);
int run(const DoctorOptions& options);
int run(const WorkerOptions& options);

}  // namespace softmax_dispatch::cli
