// Host time of a warm dispatch beyond a bare launch, in nanoseconds: on a device that does nothing, and on GPU 0 where
// there is one. Batches of calls; the median and the 99th percentile over the batches. Not a test: figures depend on
// the machine and its load.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "device/cuda/cuda.hpp"
#include "unit/dispatch/fixture.hpp"

namespace softmax_dispatch::testing {
namespace {

struct Percentiles {
  double median = 0, p99 = 0;
};

/// Nanoseconds per call. `between` runs after each batch, untimed.
Percentiles time(
    const std::function<void()>& call, const std::function<void()>& between = [] {}) {
  constexpr int kBatches = 1000, kCalls = 200;
  std::vector<double> batches;
  for (int batch = 0; batch < kBatches; ++batch) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i) call();
    const std::chrono::duration<double, std::nano> elapsed = std::chrono::steady_clock::now() - start;
    batches.push_back(elapsed.count() / kCalls);
    between();
  }
  std::sort(batches.begin(), batches.end());
  return {batches[kBatches / 2], batches[kBatches * 99 / 100]};
}

void print(const char* what, Percentiles result) {
  std::printf("| %-46s | %8.1f | %8.1f |\n", what, result.median, result.p99);
}

void without_gpu() {
  FakeBackend backend;
  Thresholds thresholds;
  for (int vectors = 1; vectors <= 8; ++vectors) {
    thresholds.emplace_back(1024 * vectors + 3, "v7 THREADS=256 VEC_ITEMS=" + std::to_string(vectors));
  }
  thresholds.emplace_back(table::kOpen, kLong);
  const auto dispatcher = make_dispatcher(backend, make_table(thresholds));
  backend.named(0).define("v7", [](const Launch&) {});
  Matrices matrices(8, 6000);
  matrices.dispatch(*dispatcher);
  const auto kernel = backend.named(0).load("", "v7", {});
  const Launch bare{kernel.get(), {8, 256, 0}, 256, 256, 8, 6000};
  print("a launch that does nothing", time([&] { backend.named(0).launch(bare, {}); }));
  print("dispatch that launches nothing, 9 thresholds", time([&] { matrices.dispatch(*dispatcher); }));
}

void on_gpu() {
  const std::unique_ptr<Device> device = cuda::open(0);
  const Buffer x(*device, 4096);
  const auto* pointer = reinterpret_cast<const float*>(static_cast<std::uintptr_t>(x.get()));
  auto* in_place = reinterpret_cast<float*>(static_cast<std::uintptr_t>(x.get()));
  Dispatcher dispatcher;
  const Status made = Dispatcher::create({"", kShort}, dispatcher);
  const Status first = made.ok() ? dispatcher.dispatch(pointer, in_place, 4, 64) : made;
  if (!first.ok()) throw Error(first.code(), first.message());
  jit::Compiler compiler(jit::Nvrtc::open({}, cuda::driver_version() / 1000), jit::Sources::product(), nullptr);
  const Config config = parse_config(kShort);
  const Macros macros = registry().at(config.variant).macros(config.dtype, config.constants);
  const auto kernel =
      device->load(compiler.compile(config.variant, macros, device->info().arch).image, config.variant, {});
  const Geometry geometry = registry().at(config.variant).geometry({DType::f32, 4, 64}, config.constants);
  const Launch bare{kernel.get(), geometry, x.get(), x.get(), 4, 64};
  Device& current = cuda::current_context_device(0);
  const auto wait = [&] { device->synchronize(); };
  print("a launch on the GPU", time([&] { current.launch(bare, {}); }, wait));
  print("dispatch on the GPU", time([&] { static_cast<void>(dispatcher.dispatch(pointer, in_place, 4, 64)); }, wait));
}

}  // namespace

void print_all() {
  std::printf("| %-46s | %8s | %8s |\n|---|---:|---:|\n", "ns per call", "median", "p99");
  without_gpu();
  try {
    on_gpu();
  } catch (const Error& error) {
    std::fprintf(stderr, "no figures of a GPU: %s\n", error.what());
  }
}

}  // namespace softmax_dispatch::testing

int main() {
  softmax_dispatch::testing::print_all();
  return 0;
}
