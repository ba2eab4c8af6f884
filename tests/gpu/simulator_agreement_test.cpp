// The simulated device and this GPU give the same results for the same kernels and inputs: the PTX for compute_75 runs
// on both, on the GPU through the driver's own compiler. They may differ by what the approximate functions are
// documented to differ, and by what ptxas contracts.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <limits>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "device/cuda/cuda.hpp"
#include "device/sim/open.hpp"
#include "device/workspace.hpp"
#include "jit/compiler.hpp"
#include "variants/registry.hpp"
#include "verify/inputs.hpp"

namespace softmax_dispatch {
namespace {

constexpr std::int64_t kMostUlp = 8;
/// In a row that ascends, an online kernel multiplies its sum at every step by the same approximate exponential. One
/// unit of difference in that one value, within its documented bound, is in the sum as often as a term was rescaled:
/// half of the 48 steps of the longest chain in the mean.
constexpr std::int64_t kMostUlpAscending = 24;
/// In a row that descends in equal steps the factors by which states are merged are the same everywhere, and their
/// differences don't average out. Where a row is in parts they are those of a vector, of a lane, of a warp and of a
/// part; with the exponential of the term, the factor of the results and a reciprocal that makes 6 * 2 + 1 documented
/// units at most.
constexpr std::int64_t kMostUlpDescendingInParts = 13;
constexpr std::uint64_t kSeed = 42;

/// Position among the floats in their order: neighbours differ by one, -0 and +0 by none.
std::int64_t place(float value) {
  const auto bits = std::bit_cast<std::int32_t>(value);
  return bits < 0 ? std::int64_t{std::numeric_limits<std::int32_t>::min()} - bits : bits;
}

/// Units in the last place between two results; a NaN is equal to a NaN and far from everything else.
std::int64_t ulp_between(float a, float b) {
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) == std::isnan(b) ? 0 : std::numeric_limits<std::int64_t>::max();
  return std::abs(place(a) - place(b));
}

struct Worst {
  std::int64_t ulp = -1;
  std::uint64_t elements = 0, different = 0;
  std::string where;

  void compare(const std::vector<float>& x, const std::vector<float>& simulated, const std::vector<float>& measured,
               const std::string& name) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::int64_t distance = ulp_between(simulated[i], measured[i]);
      ++elements;
      if (distance > 0) ++different;
      if (distance <= ulp) continue;
      ulp = distance;
      where =
          fmt::format("{} element {}: x = {:a}, simulated {:a}, GPU {:a}", name, i, x[i], simulated[i], measured[i]);
    }
  }
};

class SimulatorAgreement : public testing::Test {
 protected:
  SimulatorAgreement() : gpu_(cuda::open(0)), simulated_(sim::open("sm_75")) {}

  static std::vector<float> run(Device& device, const LoadedKernel& kernel, const Geometry& geometry,
                                const std::vector<float>& x, std::int64_t M, std::int64_t N) {
    Buffer in(device, x.size() * sizeof(float)), out(device, x.size() * sizeof(float));
    device.upload(in.get(), x.data(), in.bytes());
    device.fill(out.get(), 0xff, out.bytes());
    Workspace workspace(device);
    Launch launch{&kernel, geometry, in.get(), out.get(), M, N};
    launch.workspace = workspace.of(geometry);
    device.launch(launch, device.stream());
    device.synchronize();
    std::vector<float> y(x.size());
    device.download(y.data(), out.get(), out.bytes());
    return y;
  }

  void compare(const std::string& ptx, const std::string& entry, const Geometry& geometry, const std::vector<float>& x,
               std::int64_t M, std::int64_t N, const std::string& name, Worst& worst) {
    const auto on_gpu = gpu_->load(ptx, entry, {});
    const auto on_simulator = simulated_->load(ptx, entry, {});
    worst.compare(x, run(*simulated_, *on_simulator, geometry, x, M, N), run(*gpu_, *on_gpu, geometry, x, M, N), name);
  }

  const jit::Compiler& compiler() const { return compiler_; }

 private:
  std::unique_ptr<Device> gpu_;
  std::unique_ptr<Device> simulated_;
  jit::Compiler compiler_{jit::Nvrtc::open(), jit::Sources::product(), nullptr};
};

/// Lengths up to the longest that the kernel is eligible for: short, odd, around a warp and a block, long. Beyond it
/// the drift of a serial sum turns a bias of the approximate exponential into hundreds of units.
std::vector<std::int64_t> lengths(const Variant& variant, const Constants& constants) {
  const std::int64_t reach = std::min<std::int64_t>(variant.accurate_N(DType::f32, constants), 20011);
  std::set<std::int64_t> all{reach};
  for (const std::int64_t N : {1, 3, 33, 257, 1023, 4096, 20011}) {
    if (N <= reach) all.insert(N);
  }
  return {all.begin(), all.end()};
}

class SimulatorAgreementOf : public SimulatorAgreement, public testing::WithParamInterface<const Variant*> {};

// The fixed list of inputs is the verification suite's, each at every length, with the default configuration of the
// variant for rows of 4096 and with its smallest and its largest.
TEST_P(SimulatorAgreementOf, TheSuitesInputs) {
  constexpr std::int64_t kRows = 5;
  const Target target{arch_limits("sm_75"), 40};
  const Variant& variant = *GetParam();
  const std::string id(variant.id());
  if (!variant.exists(target.limits)) GTEST_SKIP() << "no kernel of sm_75";
  Worst worst, ascending, descending;
  const std::vector<Constants> extremes = variant.extremes(DType::f32, target);
  for (const Constants& constants :
       {variant.complete(Problem{DType::f32, kRows, 4096}, {}, target), extremes.front(), extremes.back()}) {
    const std::string ptx = compiler().compile_ptx(id, variant.macros(DType::f32, constants), "sm_75");
    for (const std::int64_t N : lengths(variant, constants)) {
      for (const verify::Input& input : verify::inputs()) {
        std::vector<float> x(static_cast<std::size_t>(kRows * N));
        input.fill(x, kRows, N, kSeed);
        const std::string name = fmt::format("{} {} {}x{} {}", id, to_string(constants), kRows, N, input.name);
        Worst& of_kind = input.name.starts_with("ascending")    ? ascending
                         : input.name.starts_with("descending") ? descending
                                                                : worst;
        compare(ptx, id, variant.geometry(Problem{DType::f32, kRows, N}, constants), x, kRows, N, name, of_kind);
      }
    }
  }
  const std::vector<Axis>& axes = variant.axes();
  const bool parts = std::any_of(axes.begin(), axes.end(), [](const Axis& axis) { return axis.name == "PARTS"; });
  for (const auto& [what, one, most] : {std::tuple{"", &worst, kMostUlp},
                                        {", ascending", &ascending, kMostUlpAscending},
                                        {", descending", &descending, parts ? kMostUlpDescendingInParts : kMostUlp}}) {
    std::cout << id << what << ": " << one->elements << " elements, " << one->different
              << " not the same bits, at most " << one->ulp << " ulp (" << one->where << ")\n";
    EXPECT_LE(one->ulp, most) << one->where;
  }
}

INSTANTIATE_TEST_SUITE_P(Variants, SimulatorAgreementOf, testing::ValuesIn(registry().all()),
                         [](const auto& one) { return std::string(one.param->id()); });

// The approximate functions on their own. CUDA documents ex2.approx.ftz with 2 ulp, rcp.approx with 1 ulp, expf with
// 2 ulp, and 1/x as rounded to nearest.
TEST_F(SimulatorAgreement, OfTheSpecialFunctions) {
  struct Function {
    const char* name;
    const char* body;
    float from, to;
  };
  const Function functions[]{
      {"ex2.approx.ftz", "asm(\"ex2.approx.ftz.f32 %0, %1;\" : \"=f\"(r) : \"f\"(v));", -150, 129},
      {"ex2.approx", "asm(\"ex2.approx.f32 %0, %1;\" : \"=f\"(r) : \"f\"(v));", -150, 129},
      {"rcp.approx.ftz", "asm(\"rcp.approx.ftz.f32 %0, %1;\" : \"=f\"(r) : \"f\"(v));", -1e3f, 1e3f},
      {"expf", "r = expf(v);", -110, 90},
      {"expf of a step of 32 elements of a row ascending by 2^-13", "r = expf(v);", -0x1p-8f, -0x1p-8f},
      {"expf of a step of 128 elements of it", "r = expf(v);", -0x1p-6f, -0x1p-6f},
      {"1/x", "r = 1.0f / v;", -1e3f, 1e3f},
  };
  constexpr std::int64_t kM = 1024, kN = 4096;
  for (const Function& function : functions) {
    const std::string source = fmt::format(
        "extern \"C\" __global__ void k(const float* x, float* y, long long M, long long N) {{\n"
        "  const long long i = blockIdx.x * 256ll + threadIdx.x;\n"
        "  if (i >= M * N) return;\n"
        "  const float v = x[i];\n"
        "  float r;\n"
        "  {}\n"
        "  y[i] = r;\n"
        "}}\n",
        function.body);
    const std::string ptx = jit::Nvrtc::open()->compile("k", source, {}, "compute_75", {"-std=c++17"}).image;
    std::vector<float> x(static_cast<std::size_t>(kM * kN));
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double share = (static_cast<double>(i) + 0.37) / static_cast<double>(x.size());
      x[i] = static_cast<float>(function.from + share * (static_cast<double>(function.to) - function.from));
    }
    Worst worst;
    compare(ptx, "k", {kM * kN / 256, 256, 0}, x, kM, kN, function.name, worst);
    std::cout << function.name << " over [" << function.from << ", " << function.to << "]: " << worst.different
              << " of " << worst.elements << " not the same bits, at most " << worst.ulp << " ulp (" << worst.where
              << ")\n";
    EXPECT_LE(worst.ulp, 2) << worst.where;
  }
}

}  // namespace
}  // namespace softmax_dispatch
