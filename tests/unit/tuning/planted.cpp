#include "unit/tuning/planted.hpp"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <map>
#include <thread>

#include "support/error.hpp"
#include "support/fake_device.hpp"
#include "tuning/worker_loop.hpp"
#include "variants/row_kernel.hpp"

namespace softmax_dispatch::tuning::testing {
namespace {

/// Keeps verification short: it visits rows of up to a million elements for a kernel without a limit.
class FewShapes : public RowKernel {
 public:
  using RowKernel::RowKernel;
  using RowKernel::supports;
  Support supports(const Problem& problem, const Constants& constants, const Target& target) const override {
    constexpr std::int64_t kMost = 6000;
    if (problem.M * problem.N > kMost) return Support::no("too large for a test");
    return RowKernel::supports(problem, constants, target);
  }
  std::optional<Constants> reduce_once(const Constants& constants) const override {
    if (id() != kSoundShort) return std::nullopt;
    Constants macros{{"LANES", 32}, {"OVER", 0}, {"ROWS", 1}, {"STREAM", 0}, {"VEC_ITEMS", 1}};
    macros["THREADS"] = constants.at("THREADS");
    return macros;
  }
};

RowKernelTraits unbounded() {
  return {.id = kSoundUnbounded,
          .summary = "any shape",
          .needs = "nothing",
          .dtypes = {DType::f32, DType::f16},
          .complexity = 9,
          .owner = RowOwner::grid_walk,
          .wide_index = true,
          .accurate_elements_per_thread = kUnbounded};
}

/// The simplest of all, so that nothing but its fault keeps a planted variant out of a table.
RowKernelTraits bounded(std::string_view id) {
  return {.id = id,
          .summary = "short rows",
          .needs = "N <= ITEMS * THREADS",
          .complexity = 1,
          .capacity = Capacity::items,
          .capacity_most = 4,
          .accurate_elements_per_thread = kUnbounded};
}

RowKernelTraits of_two_types(std::string_view id) {
  RowKernelTraits traits = bounded(id);
  traits.dtypes = {DType::f32, DType::f16};
  return traits;
}

RowKernelTraits unselectable(std::string_view id) {
  RowKernelTraits traits = bounded(id);
  traits.selectable = false;
  return traits;
}

const std::vector<FewShapes>& variants() {
  static const std::vector<FewShapes> all{
      FewShapes(unbounded()),      FewShapes(of_two_types(kSoundShort)), FewShapes(bounded(kWrong)),
      FewShapes(bounded(kCrash)),  FewShapes(bounded(kSticky)),          FewShapes(bounded(kCrashInTiming)),
      FewShapes(bounded(kBroken)), FewShapes(bounded(kLocalMemory)),     FewShapes(unselectable(kControl)),
  };
  return all;
}

std::string source_of(std::string_view id) {
  const std::string head =
      fmt::format("extern \"C\" __global__ void {}(const float* x, float* y, long long M, long long N) {{\n", id);
  if (id == kBroken) return head + "  this is not CUDA C++;\n}\n";
  if (id == kLocalMemory)
    return head +
           "  float item[64];\n  for (int i = 0; i < N; ++i) item[i % 64] = x[i];\n  for (int i = 0; i < N; ++i) "
           "y[i] = item[(i * 7) % 64];\n}\n";
  // A device that reads the code finds the name of its type in it.
  constexpr std::string_view kMark =
      "#ifdef TYPE\n#define JOIN(a, b) a##b\n#define MARK(type) JOIN(computes_, type)\n"
      "extern \"C\" { __device__ int MARK(TYPE); }\n#else\n#define MARK(type) y[0]\n#endif\n";
  return std::string(kMark) + head + "  MARK(TYPE) = 1;\n  y[threadIdx.x] = x[threadIdx.x];\n}\n";
}

/// Knows which kernel it runs: times follow from it. One that calls itself simulated gives the faulty kernels the best
/// times, so that they are chosen before anybody knows.
class PlantedDevice : public FakeDevice {
 public:
  explicit PlantedDevice(bool simulated) : info_(FakeDevice::info()) {
    info_.simulated = simulated;
    define(kWrong, [](const Launch& launch) {
      Launch shorter = launch;
      --shorter.M;
      fake_softmax(shorter);
    });
    define(kCrash, [](const Launch&) { std::raise(SIGABRT); });
    define(kSticky, [](const Launch& launch) {
      constexpr std::int64_t kNeverTimed = 5;
      if (launch.N == kNeverTimed) throw Error(StatusCode::device, "CUDA_ERROR_MISALIGNED_ADDRESS (716)");
      fake_softmax(launch);
    });
    define("copy", [](const Launch&) {});
    time_us = [this](const Launch& launch) { return time_of(launch); };
  }

  const DeviceInfo& info() const override { return info_; }

  std::shared_ptr<const LoadedKernel> load(std::string_view image, const std::string& entry,
                                           const Resources& resources) override {
    const bool halves = image.find("computes_f16") != std::string_view::npos;
    auto kernel = halves ? FakeDevice::kernel(fake_softmax_of(DType::f16)) : FakeDevice::load(image, entry, resources);
    entries_[kernel.get()] = entry;
    return kernel;
  }

 private:
  double time_of(const Launch& launch) const {
    const std::string& entry = entries_.at(launch.kernel);
    if (entry == kCrashInTiming) std::raise(SIGABRT);
    const double elements = static_cast<double>(launch.M * launch.N);
    if (entry == "reduce_once") return 1.5 + launch.geometry.block / 512.0;
    if (entry == kSoundUnbounded) return 3 + elements / 500 + launch.geometry.block / 512.0;
    const bool faulty = entry == kWrong || entry == kSticky || entry == kCrash;
    return (2 + elements / 1000 + launch.geometry.block / 512.0) * (info_.simulated && faulty ? 0.5 : 1.0);
  }

  DeviceInfo info_;
  std::map<const LoadedKernel*, std::string> entries_;
};

[[noreturn]] void rest() {
  for (;;) std::this_thread::sleep_for(std::chrono::seconds(60));
}

/// Says that it is ready, reads one request and then goes wrong.
int misbehave(const std::string& mode) {
  if (mode == "mute") return 3;
  std::cout << "{\"result\":\"ready\"}" << std::endl;
  std::string request;
  std::getline(std::cin, request);
  std::cout << "{\"at\":\"the thing\"}" << std::endl;
  if (mode == "exit") {
    std::cerr << "a first line\nterminate called after throwing something\n";
    ::_exit(7);
  }
  if (mode == "garbage") std::cout << "Segmentation fault (core dumped)" << std::endl;
  if (mode == "lie") std::cout << "{\"result\":{\"registers\":\"many\"}}" << std::endl;
  if (mode == "chatter") {
    // More than a pipe holds, and never an answer.
    for (int i = 0; i < 20'000; ++i) std::cerr << "a line on stderr that nobody asked for\n";
    ::_exit(8);
  }
  rest();
}

}  // namespace

const Registry& planted_registry() {
  static const Registry registry([] {
    std::vector<const Variant*> all;
    for (const FewShapes& variant : variants()) all.push_back(&variant);
    return all;
  }());
  return registry;
}

const jit::Sources& planted_sources() {
  static const jit::Sources sources = [] {
    jit::Sources made = jit::Sources::product();
    for (const FewShapes& variant : variants()) made.add(std::string(variant.id()), source_of(variant.id()));
    return made;
  }();
  return sources;
}

int worker_mode(const std::string& mode, const std::vector<std::string>& arguments) {
  const OpenDevice open = [](const WorkerSettings& settings) {
    return std::make_unique<PlantedDevice>(settings.simulated);
  };
  if (mode == "planted") return run_worker(planted_registry(), planted_sources(), arguments, open);
  if (mode == "product") return run_worker(registry(), jit::Sources::product(), arguments, open);
  return misbehave(mode);
}

WorkerCommand worker_command(const std::string& mode) {
  return {std::filesystem::read_symlink("/proc/self/exe").string(), {"worker", mode}};
}

TuneOptions tiny_tune(const std::filesystem::path& folder) {
  TuneOptions options;
  options.arch = "sm_90";
  options.sweep = parse_sweep(R"(
M: [1, 4, 16]
N: [8, 33, 64, 128]
max_elements: 1024
axes: {THREADS: [64], ITEMS: [1, 2]}
max_launches: 2
race_factor: 4
screen_replays: 2
finalist_factor: 1.2
final_replays: 3
)",
                              "tiny");
  options.journal = folder / "t.jsonl";
  options.cache = SOFTMAX_DISPATCH_BINARY_DIR "/unit_tuning_cache";  // compiled once for all tests
  options.worker = worker_command("planted");
  return options;
}

}  // namespace softmax_dispatch::tuning::testing
