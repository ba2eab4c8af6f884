// The public interface on matrices of 16-bit elements, with SOFTMAX_DISPATCH_DEVICE=sim.
#include <gmock/gmock.h>
#include <softmax_dispatch/c_api.h>

#include <cstdint>
#include <random>
#include <softmax_dispatch/softmax_dispatch.hpp>
#include <string>
#include <vector>

#include "support/elements.hpp"
#include "verify/reference.hpp"

namespace softmax_dispatch::testing {
namespace {

/// Random x in the memory of the program, with a guard before and behind it, at a distance from 16-byte alignment.
class Halves {
 public:
  Halves(DType dtype, std::int64_t M, std::int64_t N, std::size_t offset)
      : problem_{dtype, M, N}, at_(kGuards + offset), values_(static_cast<std::size_t>(M * N)) {
    storage_.assign(at_ + values_.size() + kGuards, kGuard);
    std::mt19937 random(42);
    std::uniform_real_distribution<float> uniform(-10, 10);
    for (std::size_t i = 0; i < values_.size(); ++i) {
      values_[i] = held_by(dtype, uniform(random));
      storage_[at_ + i] = round_to(dtype, values_[i]);
    }
    guards_ = storage_;
  }

  std::uint16_t* data() { return storage_.data() + at_; }
  const Problem& problem() const { return problem_; }

  /// Why y, of a matrix of the same size, is not the softmax of this one; "" where it is.
  std::string wrong(const Status& status, const Halves& y) const {
    if (!status.ok()) return status.message();
    const auto width = static_cast<std::size_t>(problem_.N);
    const std::vector<double> reference = verify::reference(values_, problem_.M, problem_.N);
    for (std::size_t row = 0; row < reference.size(); row += width) {
      std::vector<std::uint16_t> right;
      for (std::size_t i = row; i < row + width; ++i) right.push_back(round_to(problem_.dtype, reference[i]));
      const auto got = std::as_bytes(std::span(y.storage_).subspan(y.at_ + row, width));
      const verify::Comparison comparison = verify::compare_row(problem_.dtype, got, right);
      if (!comparison.pass) return "row " + std::to_string(row / width) + ": " + comparison.reason;
    }
    for (std::size_t i = 0; i < y.storage_.size(); ++i) {
      const bool inside = i >= y.at_ && i < y.at_ + values_.size();
      if (!inside && y.storage_[i] != y.guards_[i]) return "element " + std::to_string(i) + " is not the matrix's";
    }
    return {};
  }

 private:
  static constexpr std::size_t kGuards = 64;
  static constexpr std::uint16_t kGuard = 0x1234;

  Problem problem_;
  std::size_t at_;
  std::vector<float> values_;
  std::vector<std::uint16_t> storage_, guards_;
};

class SimulatedDispatch16 : public ::testing::TestWithParam<DType> {};

TEST_P(SimulatedDispatch16, EveryShapeAndPlacementIsRight) {
  Dispatcher dispatcher;
  ASSERT_TRUE(Dispatcher::create({}, dispatcher).ok());
  for (const auto& [M, N] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {1, 1}, {70, 3}, {33, 31}, {5, 256}, {65, 257}, {3, 4096}, {2, 16387}, {1, 20000}}) {
    for (const auto& [x_offset, y_offset] : {std::pair{0, 0}, {1, 1}, {0, 5}, {3, 2}}) {
      Halves x(GetParam(), M, N, static_cast<std::size_t>(x_offset));
      Halves y(GetParam(), M, N, static_cast<std::size_t>(y_offset));
      const Status status = dispatcher.dispatch(x.data(), y.data(), x.problem());
      EXPECT_EQ(x.wrong(status, y), "") << to_string(x.problem()) << " x+" << x_offset << " y+" << y_offset;
    }
    Halves both(GetParam(), M, N, 1);
    const Halves before = both;
    EXPECT_EQ(before.wrong(dispatcher.dispatch(both.data(), both.data(), both.problem()), both), "");
  }
}

TEST_P(SimulatedDispatch16, ByTheProcessWideDispatcher) {
  Halves x(GetParam(), 9, 300, 0), y(GetParam(), 9, 300, 1);
  EXPECT_EQ(x.wrong(dispatch(x.data(), y.data(), x.problem()), y), "");
}

TEST_P(SimulatedDispatch16, FromC) {
  Halves x(GetParam(), 9, 257, 0), y(GetParam(), 9, 257, 0);
  const auto code = static_cast<smd_dtype>(GetParam());
  ASSERT_EQ(smd_prewarm(9, 257, code), SMD_OK) << smd_last_error();
  ASSERT_EQ(smd_dispatch(x.data(), y.data(), 9, 257, code, nullptr), SMD_OK) << smd_last_error();
  EXPECT_EQ(x.wrong({}, y), "");
}

INSTANTIATE_TEST_SUITE_P(Types, SimulatedDispatch16, ::testing::Values(DType::f16, DType::bf16),
                         [](const auto& dtype) { return to_string(dtype.param); });

}  // namespace
}  // namespace softmax_dispatch::testing
