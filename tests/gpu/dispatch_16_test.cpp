// Matrices of 16-bit elements through the public interface.
#include <gtest/gtest.h>

#include <random>
#include <softmax_dispatch/softmax_dispatch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "device/cuda/cuda.hpp"
#include "support/elements.hpp"
#include "verify/reference.hpp"

namespace softmax_dispatch::testing {
namespace {

class GpuDispatch16 : public ::testing::TestWithParam<DType> {
 protected:
  GpuDispatch16() { EXPECT_TRUE(Dispatcher::create({}, dispatcher_).ok()); }

  /// Why the output is wrong, in words; "" where it is right. Offsets are elements after a 256-byte boundary.
  std::string wrong(const Problem& problem, std::size_t x_offset, std::size_t y_offset, bool in_place) {
    std::vector<float> x(static_cast<std::size_t>(problem.M * problem.N));
    std::mt19937 random(42);
    std::uniform_real_distribution<float> uniform(-10, 10);
    for (float& value : x) value = held_by(problem.dtype, uniform(random));
    const std::vector<std::byte> elements = to_elements(problem.dtype, x);
    const Buffer in(*device_, elements.size() + 16), out(*device_, in.bytes());
    const DevicePtr from = in.get() + 2 * x_offset, to = in_place ? from : out.get() + 2 * y_offset;
    device_->upload(from, elements.data(), elements.size());
    device_->fill(out.get(), 0xff, out.bytes());
    const Status status = dispatcher_.dispatch(pointer(from), pointer(to), problem);
    if (!status.ok()) return status.message();
    device_->synchronize();
    std::vector<std::uint16_t> y(x.size());
    device_->download(y.data(), to, elements.size());
    std::vector<std::uint16_t> right;
    for (const double value : verify::reference(x, problem.M, problem.N))
      right.push_back(round_to(problem.dtype, value));
    return verify::compare_row(problem.dtype, std::as_bytes(std::span(y)), right).reason;
  }

 private:
  static void* pointer(DevicePtr address) { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)); }

  std::unique_ptr<Device> device_ = cuda::open(0);
  Dispatcher dispatcher_;
};

TEST_P(GpuDispatch16, EveryShapeAndPlacementIsRight) {
  const std::vector<std::pair<std::int64_t, std::int64_t>> shapes{
      {1, 1},     {3, 3},       {70001, 3}, {4096, 8},  {5, 31},     {1025, 257},  {64, 515},   {129, 520},
      {33, 2051}, {1024, 4096}, {5, 8199},  {3, 16391}, {2, 100003}, {16, 128256}, {1, 1048576}};
  for (const auto& [M, N] : shapes) {
    const Problem problem{GetParam(), M, N};
    for (const auto& [x_offset, y_offset] : {std::pair{0u, 0u}, {1u, 1u}, {0u, 5u}, {4u, 0u}})
      EXPECT_EQ(wrong(problem, x_offset, y_offset, false), "")
          << to_string(problem) << " x+" << x_offset << " y+" << y_offset;
    EXPECT_EQ(wrong(problem, 3, 0, true), "") << to_string(problem) << " in place";
  }
}

INSTANTIATE_TEST_SUITE_P(Types, GpuDispatch16, ::testing::Values(DType::f16, DType::bf16),
                         [](const auto& dtype) { return to_string(dtype.param); });

}  // namespace
}  // namespace softmax_dispatch::testing
