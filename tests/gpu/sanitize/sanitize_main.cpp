// Launches every variant once at a set of small shapes, on buffers of exactly the size, and compares the results: to be
// run under compute-sanitizer (memcheck, racecheck, initcheck, synccheck).
//   compute-sanitizer --tool memcheck --error-exitcode 1 sanitize_kernels [VARIANT ...]
#include <algorithm>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "gpu/gpu.hpp"
#include "support/error.hpp"
#include "verify/inputs.hpp"
#include "verify/reference.hpp"

namespace softmax_dispatch {
namespace {

/// Rows of different inputs, in turn.
std::vector<float> rows_of_inputs(const Problem& problem) {
  std::vector<float> x(static_cast<std::size_t>(problem.M * problem.N));
  const auto width = static_cast<std::size_t>(problem.N);
  for (std::size_t row = 0; row < static_cast<std::size_t>(problem.M); ++row) {
    const verify::Input& input = verify::inputs()[row % verify::inputs().size()];
    input.fill(std::span(x).subspan(row * width, width), 1, problem.N, 42);
  }
  return x;
}

/// `offset` elements before each matrix misalign it; nothing follows it.
bool right(Gpu& gpu, const Variant& variant, const Constants& constants, const LoadedKernel& kernel,
           const Problem& problem, std::int64_t offset) {
  const std::vector<float> x = rows_of_inputs(problem);
  const std::size_t bytes = x.size() * sizeof(float);
  const DevicePtr skipped = static_cast<DevicePtr>(offset) * sizeof(float);
  Device& device = gpu.device();
  const Buffer in(device, bytes + skipped);
  const Buffer out(device, bytes + skipped);
  device.upload(in.get() + skipped, x.data(), bytes);
  device.launch(
      {&kernel, variant.geometry(problem, constants), in.get() + skipped, out.get() + skipped, problem.M, problem.N},
      {});
  device.synchronize();
  std::vector<float> y(x.size());
  device.download(y.data(), out.get() + skipped, bytes);
  const verify::Comparison result =
      verify::compare(x, y, verify::reference(x, problem.M, problem.N), problem.M, problem.N, false);
  if (!result.pass) {
    std::printf("%s at %s, base + %d bytes: %s\n", to_string(Config{std::string(variant.id()), constants}).c_str(),
                to_string(problem).c_str(), static_cast<int>(skipped), result.reason.c_str());
  }
  return result.pass;
}

/// The number of wrong results.
int run_variant(Gpu& gpu, const Variant& variant) {
  const Ladders ladders{{"THREADS", {64, 256}}, {"ITEMS", {2, 8}}, {"VEC_ITEMS", {1, 2}}, {"GRID", {1}}};
  int launches = 0, wrong = 0;
  for (const Constants& constants : variant.enumerate(DType::f32, ladders, gpu.target())) {
    const auto kernel = gpu.load(variant, constants);
    for (const std::int64_t N : {1, 2, 3, 5, 31, 64, 127, 257, 515}) {
      const std::int64_t most = variant.accurate_N(DType::f32, constants);
      for (const std::int64_t M : {std::int64_t{1}, variant.rows_per_block(constants) + 1, std::int64_t{140}}) {
        for (const std::int64_t offset : {0, 1}) {
          ++launches;
          if (!right(gpu, variant, constants, *kernel, {DType::f32, M, std::min(N, most)}, offset)) ++wrong;
        }
      }
    }
  }
  std::printf("%s: %d launches, %d wrong\n", std::string(variant.id()).c_str(), launches, wrong);
  return wrong;
}

int run(const std::vector<std::string>& ids) {
  Gpu gpu;
  int wrong = 0;
  for (const Variant* variant : registry().all()) {
    if (ids.empty() || std::find(ids.begin(), ids.end(), std::string(variant->id())) != ids.end())
      wrong += run_variant(gpu, *variant);
  }
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace softmax_dispatch

int main(int argc, char** argv) {
  try {
    return softmax_dispatch::run({argv + 1, argv + argc});
  } catch (const softmax_dispatch::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
