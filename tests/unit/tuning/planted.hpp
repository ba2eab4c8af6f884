#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "jit/sources.hpp"
#include "tuning/tuner.hpp"
#include "tuning/worker.hpp"
#include "variants/registry.hpp"

/// A tune without a GPU: variants whose kernels are compiled for real but run as C++ functions on a device in host
/// memory. The worker is this test program itself, started with "worker" and one of the modes below.
namespace softmax_dispatch::tuning::testing {

/// Names of the variants. `sound_*` are right. The others have a fault that must cost themselves alone.
inline constexpr char kSoundUnbounded[] = "sound_unbounded";  ///< Any N; slow. This and the next compute f16 too.
inline constexpr char kSoundShort[] = "sound_short";          ///< N <= ITEMS * THREADS; fast. Has a reduce_once().
inline constexpr char kWrong[] = "wrong";                     ///< Skips the last row.
inline constexpr char kCrash[] = "crash";                     ///< Ends its process by SIGABRT while it is verified.
inline constexpr char kSticky[] = "sticky";  ///< Loses the device while it is verified, at a length that none times.
inline constexpr char kCrashInTiming[] = "crash_in_timing";  ///< Ends its process while it is timed.
inline constexpr char kBroken[] = "broken";                  ///< Does not compile.
inline constexpr char kLocalMemory[] = "local_memory";       ///< Its private array goes to local memory.
inline constexpr char kControl[] = "control";                ///< Sound and fast, but not selectable.

const Registry& planted_registry();
const jit::Sources& planted_sources();

/// Runs the worker of a mode: "planted", "product" (the product's variants, for compiling), or one that misbehaves:
/// "exit", "garbage", "hang", "chatter", "lie", "mute".
int worker_mode(const std::string& mode, const std::vector<std::string>& arguments);

/// Starts this program in the mode.
WorkerCommand worker_command(const std::string& mode);

/// A tune of the planted variants over a few small shapes, with its journal in the folder.
TuneOptions tiny_tune(const std::filesystem::path& folder);

}  // namespace softmax_dispatch::tuning::testing
