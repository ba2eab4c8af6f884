// Shapes whose indices or element counts pass 2^31. The matrices are filled on the device with one byte, and a few rows
// or elements are set by hand; a few windows of the output are brought back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "gpu/gpu.hpp"
#include "gpu/planted/mutations.hpp"
#include "support/error.hpp"

namespace softmax_dispatch {
namespace {

constexpr std::int64_t kTwo31 = std::int64_t{1} << 31;
constexpr std::int64_t kWindow = 1 << 20;                                                      // elements
constexpr std::int64_t kNeededBytes = 2 * (kTwo31 + (1 << 20)) * std::int64_t{sizeof(float)};  // x and y
const Problem kManyElements{DType::f32, kTwo31 / 257 + 5, 257};
const Problem kManyRows{DType::f32, (1 << 24) + 1, 1};

/// x and y of a problem on the device; y poisoned with NaN.
class LargeMatrix {
 public:
  LargeMatrix(Device& device, const Problem& problem, unsigned char byte)
      : device_(device),
        problem_(problem),
        x_(device, static_cast<std::size_t>(problem.M * problem.N) * sizeof(float)),
        y_(device, x_.bytes()) {
    device.fill(x_.get(), byte, x_.bytes());
    device.fill(y_.get(), 0xff, y_.bytes());
  }

  void set(std::int64_t element, float value) { device_.upload(at(x_, element), &value, sizeof value); }

  void launch(const LoadedKernel& kernel, const Variant& variant, const Constants& constants) {
    Launch launch{&kernel, variant.geometry(problem_, constants), x_.get(), y_.get(), problem_.M, problem_.N};
    const auto bytes = static_cast<std::size_t>(launch.geometry.workspace_bytes);
    const Buffer workspace(device_, bytes);
    if (bytes > 0) device_.fill(workspace.get(), 0, bytes);
    launch.workspace = workspace.get();
    device_.launch(launch, {});
    device_.synchronize();
  }

  /// The `count` elements of y from `begin`.
  std::vector<float> output(std::int64_t begin, std::int64_t count) {
    std::vector<float> values(static_cast<std::size_t>(count));
    device_.download(values.data(), at(y_, begin), values.size() * sizeof(float));
    return values;
  }

  /// Begins of windows: both ends, around 2^30 elements (2^32 bytes) and 2^31 elements, and some between.
  std::set<std::int64_t> windows() const {
    const std::int64_t last = std::max<std::int64_t>(problem_.M * problem_.N - kWindow, 0);
    std::set<std::int64_t> begins{0, last};
    for (const std::int64_t middle : {kTwo31 / 2, kTwo31}) begins.insert(std::min(middle - kWindow / 2, last));
    for (int i = 1; i < 16; ++i) begins.insert(last / 16 * i);
    return begins;
  }
  std::int64_t window_size() const { return std::min(kWindow, problem_.M * problem_.N); }

 private:
  static DevicePtr at(const Buffer& buffer, std::int64_t element) {
    return buffer.get() + static_cast<DevicePtr>(element) * sizeof(float);
  }

  Device& device_;
  Problem problem_;
  Buffer x_, y_;
};

/// Rows of zeros, but for a NaN in some, the first and the last among them.
void check_many_rows(Gpu& gpu, const Variant& variant, const Problem& problem) {
  const Constants constants = variant.complete(problem, {}, gpu.target());
  const auto kernel = gpu.load(variant, constants);
  LargeMatrix matrix(gpu.device(), problem, 0);
  const std::set<std::int64_t> nan_rows{0, kTwo31 / 2 / problem.N, kTwo31 / problem.N, problem.M - 1};
  for (const std::int64_t row : nan_rows) {
    if (row < problem.M) matrix.set(row * problem.N, std::nanf(""));
  }
  matrix.launch(*kernel, variant, constants);
  const double expected = 1.0 / static_cast<double>(problem.N);
  for (const std::int64_t begin : matrix.windows()) {
    const std::vector<float> y = matrix.output(begin, matrix.window_size());
    for (std::int64_t i = 0; i < matrix.window_size(); ++i) {
      const float got = y[static_cast<std::size_t>(i)];
      const std::int64_t row = (begin + i) / problem.N;
      const bool right = nan_rows.contains(row) ? std::isnan(got) : std::abs(got - expected) <= 4e-6 * expected;
      ASSERT_TRUE(right) << to_string(problem) << " row " << row << " element " << begin + i << ": " << got;
    }
  }
}

/// One row of -1.7e38 (bytes 0xfe) but for elements that stand far above: the sum has as few terms as there are of
/// these.
void check_long_row(Gpu& gpu, const Variant& variant, const Problem& problem) {
  const Constants constants = variant.complete(problem, {{"THREADS", 1024}}, gpu.target());
  const auto kernel = gpu.load(variant, constants);
  LargeMatrix matrix(gpu.device(), problem, 0xfe);
  const std::vector<std::int64_t> places{0, 5, kTwo31 / 2 + 1, problem.N - 1};
  double sum = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    matrix.set(places[i], static_cast<float>(i));
    sum += std::exp(static_cast<double>(i));
  }
  matrix.launch(*kernel, variant, constants);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const double expected = std::exp(static_cast<double>(i)) / sum;
    EXPECT_NEAR(matrix.output(places[i], 1)[0], expected, 4e-6 * expected) << "element " << places[i];
  }
  for (const std::int64_t begin : matrix.windows()) {
    const std::vector<float> y = matrix.output(begin, matrix.window_size());
    for (std::int64_t i = 0; i < matrix.window_size(); ++i) {
      if (std::find(places.begin(), places.end(), begin + i) != places.end()) continue;
      ASSERT_EQ(y[static_cast<std::size_t>(i)], 0) << "element " << begin + i;
    }
  }
}

bool fits_memory() {
  return cuda::device_info(0).memory_bytes > kNeededBytes;
}
#define SKIP_WHERE_MEMORY_IS_SHORT() \
  if (!fits_memory()) GTEST_SKIP() << "needs a GPU with more than " << (kNeededBytes >> 30) << " GiB"

class NumericLarge : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { SKIP_WHERE_MEMORY_IS_SHORT(); }
  Gpu gpu_;
};

TEST_P(NumericLarge, MoreThan2To31Elements) {
  check_many_rows(gpu_, registry().at(GetParam()), kManyElements);
}

TEST_P(NumericLarge, MillionsOfShortRows) {
  check_many_rows(gpu_, registry().at(GetParam()), {DType::f32, 1 << 24, 3});
  check_many_rows(gpu_, registry().at(GetParam()), kManyRows);
}

/// The variants that compute all of the problems, in some configuration.
std::vector<std::string> serving(const std::vector<Problem>& problems) {
  const Target target{arch_limits("sm_90"), 132};
  std::vector<std::string> result;
  for (const Variant* variant : registry().all()) {
    const auto serves = [&](const Problem& problem) {
      return guarded([&] { static_cast<void>(variant->complete(problem, {}, target)); }).ok();
    };
    if (std::all_of(problems.begin(), problems.end(), serves)) result.emplace_back(variant->id());
  }
  return result;
}

INSTANTIATE_TEST_SUITE_P(Variants, NumericLarge, testing::ValuesIn(serving({kManyElements, kManyRows})),
                         [](const auto& id) { return id.param; });

class NumericLongest : public NumericLarge {};

TEST_P(NumericLongest, RowAsLongAs32BitIndicesReach) {
  check_long_row(gpu_, registry().at(GetParam()), {DType::f32, 1, kTwo31 - 1});
}

INSTANTIATE_TEST_SUITE_P(Variants, NumericLongest, testing::ValuesIn(serving({{DType::f32, 1, kTwo31 - 1}})),
                         [](const auto& id) { return id.param; });

TEST(NumericUnbounded, RowBeyond32BitIndices) {
  SKIP_WHERE_MEMORY_IS_SHORT();
  Gpu gpu;
  check_long_row(gpu, unbounded_variant(), {DType::f32, 1, kTwo31 + 5});
}

TEST(NumericUnbounded, MoreRowsThanAGridHasBlocks) {
  SKIP_WHERE_MEMORY_IS_SHORT();
  Gpu gpu;
  const Problem problem{DType::f32, kTwo31 + 7, 1};
  std::vector<std::string> served;
  for (const Variant* variant : registry().all()) {
    const Constants usual = variant->complete({DType::f32, 1, 1}, {}, gpu.target());
    if (!variant->supports(problem, usual, gpu.target())) continue;
    served.emplace_back(variant->id());
    check_many_rows(gpu, *variant, problem);
  }
  EXPECT_THAT(served, testing::Contains("unbounded"));
}

/// Ends the process with 1 where the check sees something wrong, the loss of the device included.
[[noreturn]] void check_with_32_bit_row_bases() {
  const planted::Mutation mutation{"row_bases_of_32_bits",
                                   parse_config("v5 THREADS=256"),
                                   {{"matrix + r * N", "matrix + static_cast<int>(r * N)"}},
                                   {},
                                   {}};
  try {
    const jit::Sources sources = planted::mutated(mutation);
    Gpu gpu(sources);
    check_many_rows(gpu, registry().at("v5"), kManyElements);
  } catch (const Error& error) {
    std::fputs(error.what(), stderr);
    std::_Exit(error.code() == StatusCode::device ? 1 : 2);
  }
  std::_Exit(testing::Test::HasFailure() ? 1 : 0);
}

// In a process of its own: nobody knows what lies at such an address.
TEST(NumericLargeDeathTest, RowBasesOf32BitsAreSeen) {
  SKIP_WHERE_MEMORY_IS_SHORT();
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(check_with_32_bit_row_bases(), testing::ExitedWithCode(1), "");
}

}  // namespace
}  // namespace softmax_dispatch
