// Launches every variant once at a set of small shapes, on buffers of exactly the size, and compares the results: to be
// run under compute-sanitizer (memcheck, racecheck, initcheck, synccheck).
//   compute-sanitizer --tool memcheck --error-exitcode 1 sanitize_kernels [VARIANT ...]
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "device/workspace.hpp"
#include "gpu/gpu.hpp"
#include "support/elements.hpp"
#include "support/error.hpp"
#include "support/ladders.hpp"
#include "verify/inputs.hpp"
#include "verify/reference.hpp"

namespace softmax_dispatch {
namespace {

/// Rows of different inputs, in turn, as values of the type.
std::vector<float> rows_of_inputs(const Problem& problem) {
  std::vector<float> x(static_cast<std::size_t>(problem.M * problem.N));
  const auto width = static_cast<std::size_t>(problem.N);
  for (std::size_t row = 0; row < static_cast<std::size_t>(problem.M); ++row) {
    const verify::Input& input = verify::inputs()[row % verify::inputs().size()];
    input.fill(std::span(x).subspan(row * width, width), 1, problem.N, 42);
  }
  for (float& value : x) value = held_by(problem.dtype, value);
  return x;
}

/// Why the elements are not the softmax of x; "" where they are.
std::string wrong(const Problem& problem, std::span<const float> x, std::span<const std::byte> y) {
  const std::vector<double> reference = verify::reference(x, problem.M, problem.N);
  if (problem.dtype == DType::f32)
    return verify::compare(x, to_values(DType::f32, y), reference, problem.M, problem.N, false).reason;
  std::vector<std::uint16_t> right;
  for (const double value : reference) right.push_back(round_to(problem.dtype, value));
  return verify::compare_row(problem.dtype, y, right).reason;
}

/// `offset` elements before each matrix misalign it; nothing follows it.
bool right(Gpu& gpu, const Variant& variant, const Constants& constants, const LoadedKernel& kernel,
           const Problem& problem, std::int64_t offset) {
  const std::vector<float> x = rows_of_inputs(problem);
  const std::vector<std::byte> elements = to_elements(problem.dtype, x);
  const std::size_t bytes = elements.size();
  const DevicePtr skipped = static_cast<DevicePtr>(offset) * size_of(problem.dtype);
  Device& device = gpu.device();
  const Buffer in(device, bytes + skipped);
  const Buffer out(device, bytes + skipped);
  device.upload(in.get() + skipped, elements.data(), bytes);
  Workspace workspace(device);
  Launch launch{&kernel,  variant.geometry(problem, constants), in.get() + skipped, out.get() + skipped, problem.M,
                problem.N};
  launch.element_bytes = static_cast<int>(size_of(problem.dtype));
  launch.workspace = workspace.of(launch.geometry);
  device.launch(launch, {});
  device.synchronize();
  std::vector<std::byte> y(bytes);
  device.download(y.data(), out.get() + skipped, bytes);
  const std::string reason = wrong(problem, x, y);
  if (!reason.empty()) {
    const Config config{std::string(variant.id()), constants, problem.dtype};
    std::printf("%s at %s, base + %d bytes: %s\n", to_string(config).c_str(), to_string(problem).c_str(),
                static_cast<int>(skipped), reason.c_str());
  }
  return reason.empty();
}

/// The number of wrong results.
int run_variant(Gpu& gpu, const Variant& variant, DType dtype) {
  const Ladders ladders = small_ladders(
      {{"THREADS", {64, 128, 256}}, {"ITEMS", {2, 8}}, {"VEC_ITEMS", {1, 2}}, {"GRID", {1}}, {"PARTS", {4}}});
  int launches = 0, wrong = 0;
  // Where a sweep leaves out what is too small to win, an instrumented kernel can afford nothing else.
  std::vector<Constants> all = variant.enumerate(dtype, ladders, gpu.target());
  if (all.empty()) all = variant.extremes(dtype, gpu.target());
  for (const Constants& constants : all) {
    const auto kernel = gpu.load(variant, constants, dtype);
    for (const std::int64_t N : {1, 2, 3, 5, 31, 64, 127, 257, 515}) {
      const std::int64_t most = variant.accurate_N(dtype, constants);
      for (const std::int64_t M : {std::int64_t{1}, variant.rows_per_block(constants) + 1, std::int64_t{140}}) {
        for (const std::int64_t offset : {0, 1}) {
          ++launches;
          if (!right(gpu, variant, constants, *kernel, {dtype, M, std::min(N, most)}, offset)) ++wrong;
        }
      }
    }
  }
  std::printf("%s %s: %d launches, %d wrong\n", std::string(variant.id()).c_str(), to_string(dtype), launches, wrong);
  std::fflush(stdout);  // a sanitizer may be stopped before the end
  return wrong + (launches == 0 ? 1 : 0);
}

int run(const std::vector<std::string>& ids) {
  Gpu gpu;
  int wrong = 0;
  for (const Variant* variant : registry().all()) {
    if (ids.empty() || std::find(ids.begin(), ids.end(), std::string(variant->id())) != ids.end())
      for (const DType dtype : variant->dtypes()) wrong += run_variant(gpu, *variant, dtype);
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
