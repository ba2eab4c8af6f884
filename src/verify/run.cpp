#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

#include "device/workspace.hpp"
#include "support/elements.hpp"
#include "verify/guarded.hpp"
#include "verify/inputs.hpp"
#include "verify/parallel.hpp"
#include "verify/reference.hpp"
#include "verify/samples.hpp"
#include "verify/shapes.hpp"
#include "verify/verify.hpp"

namespace softmax_dispatch::verify {
namespace {

struct Step {
  Placement placement;
  bool twice = false;  ///< Run again: the same bits must come out.
};

std::vector<Step> steps(const Problem& problem, Depth depth, bool is_dear) {
  if (is_dear) return {{{0, 0}}, {{1, 1}}};
  const int vector = 16 / static_cast<int>(size_of(problem.dtype));
  std::vector<Step> result{{{0, 0}, true}, {{0, 0, true}}, {{1, 1}}, {{0, 2}}};
  if (depth == Depth::brief || problem.M * problem.N > kCheapElements) return result;
  result.insert(result.end(), {{{1, 0}}, {{2, 3}}, {{3, 3, true}}});
  if (vector > 4) result.push_back({{4, 0}});
  // Rows in turn have every alignment that is a multiple of what N and a vector share beside the base's.
  for (int offset = 2; offset < std::gcd(problem.N, std::int64_t{vector}); ++offset)
    result.push_back({{offset, offset}});
  return result;
}

template <typename T>
std::span<T> row_of(std::span<T> matrix, std::int64_t row, std::size_t width) {
  return matrix.subspan(static_cast<std::size_t>(row) * width, width);
}

/// The rows of one shape, drawn from the samples of its length, and what was already accepted as their output.
class Matrix {
 public:
  Matrix(const Problem& problem, std::int64_t first, Depth depth)
      : problem_(problem),
        first_(first),
        width_(static_cast<std::size_t>(problem.N)),
        row_bytes_(width_ * size_of(problem.dtype)),
        samples_(samples(problem.dtype, problem.N, stacked_inputs(problem.N, depth))) {
    x_.reserve(static_cast<std::size_t>(problem.M) * row_bytes_);
    for (std::int64_t row = 0; row < problem.M; ++row) {
      const std::span<const std::byte> from = samples_->row(sample(row));
      x_.insert(x_.end(), from.begin(), from.end());
    }
  }

  /// Elements in memory.
  std::span<const std::byte> x() const noexcept { return x_; }

  /// Why the output is wrong, in words; nothing where it is right. Rows with the bits of an accepted output are not
  /// compared again.
  std::optional<std::string> check(std::span<const std::byte> y, double& worst_error) {
    std::vector<std::string> reasons(static_cast<std::size_t>(problem_.M));
    std::vector<double> worst(reasons.size());
    const bool accepted = !accepted_.empty();
    parallel_for(problem_.M, problem_.M * problem_.N, [&](std::int64_t row) {
      const auto i = static_cast<std::size_t>(row);
      const std::span<const std::byte> got = row_of(y, row, row_bytes_);
      if (accepted && std::memcmp(got.data(), row_of(std::span(accepted_), row, row_bytes_).data(), got.size()) == 0)
        return;
      reasons[i] = check_row(got, sample(row), worst[i]);
    });
    worst_error = std::max(worst_error, *std::max_element(worst.begin(), worst.end()));
    const auto wrong = std::find_if(reasons.begin(), reasons.end(), [](const auto& reason) { return !reason.empty(); });
    if (wrong != reasons.end()) {
      const std::int64_t row = wrong - reasons.begin();
      return fmt::format("row {} ({}): {}", row, inputs()[static_cast<std::size_t>(sample(row))].name, *wrong);
    }
    if (!accepted) accepted_.assign(y.begin(), y.end());
    return std::nullopt;
  }

 private:
  std::int64_t sample(std::int64_t row) const noexcept { return (first_ + row) % samples_->rows; }

  std::string check_row(std::span<const std::byte> y, std::int64_t sample, double& worst) const {
    if (const auto hole = first_unwritten(y, problem_.dtype)) return fmt::format("column {} was not written", *hole);
    Comparison result = problem_.dtype == DType::f32
                            ? compare_f32(y, sample)
                            : compare_row(problem_.dtype, y, row_of(std::span(samples_->right), sample, width_));
    worst = result.worst_error;
    return std::move(result.reason);
  }

  Comparison compare_f32(std::span<const std::byte> y, std::int64_t sample) const {
    const bool published = inputs()[static_cast<std::size_t>(sample)].published;
    return compare_row(row_of(std::span(samples_->x), sample, width_), to_values(DType::f32, y),
                       row_of(std::span(samples_->ref), sample, width_), published);
  }

  Problem problem_;
  std::int64_t first_;
  std::size_t width_, row_bytes_;
  std::shared_ptr<const Samples> samples_;
  std::vector<std::byte> x_, accepted_;
};

class Run {
 public:
  Run(Device& device, const Variant& variant, DType dtype, const Constants& constants, const LoadedKernel& kernel,
      Depth depth, const std::function<void(const std::string&)>& before_case)
      : device_(device),
        variant_(variant),
        dtype_(dtype),
        constants_(constants),
        kernel_(kernel),
        depth_(depth),
        before_case_(before_case),
        buffers_(device, dtype),
        workspace_(device) {}

  Outcome all() {
    outcome_.N_to = variant_.accurate_N(dtype_, constants_);
    const Target target{device_.info().limits, device_.info().sm_count};
    for (const Shape& shape : shapes(variant_, dtype_, constants_, outcome_.N_to, depth_, device_.info().simulated)) {
      const Problem problem{dtype_, shape.M, shape.N};
      if (!variant_.supports(problem, constants_, target)) continue;
      if (!one_shape(problem)) return std::move(outcome_);
    }
    outcome_.passed = outcome_.cases > 0;
    if (!outcome_.passed) outcome_.reason = "supports none of the shapes of its own boundaries";
    return std::move(outcome_);
  }

 private:
  bool one_shape(const Problem& problem) {
    // A matrix of fewer rows than inputs goes on where the one before it ended; of others each input moves by a row.
    Matrix matrix(problem, next_first_, depth_);
    next_first_ += problem.M < stacked_inputs(problem.N, depth_) ? problem.M : 1;
    for (const Step& step : steps(problem, depth_, is_dear(problem))) {
      const std::string name = fmt::format("{}, {}", to_string(problem), to_string(step.placement, dtype_));
      if (auto reason = one_step(problem, matrix, step, name)) {
        outcome_.reason = fmt::format("{}: {}", name, *reason);
        return false;
      }
    }
    return true;
  }

  /// Blocks that share rows are run one by one on a simulated device: of a launch of very many the number is what
  /// matters, and fewer see every placement.
  bool is_dear(const Problem& problem) const {
    constexpr std::int64_t kManyThreads = 1 << 21;
    const Geometry geometry = variant_.geometry(problem, constants_);
    return device_.info().simulated && geometry.grid > problem.M && geometry.grid * geometry.block > kManyThreads;
  }

  std::optional<std::string> one_step(const Problem& problem, Matrix& matrix, const Step& step,
                                      const std::string& name) {
    if (auto reason = one_launch(problem, matrix, step.placement, name)) return reason;
    if (auto reason = matrix.check(buffers_.output(), outcome_.worst_error)) return reason;
    if (!step.twice) return std::nullopt;
    const std::vector<std::byte> before(buffers_.output().begin(), buffers_.output().end());
    if (auto reason = one_launch(problem, matrix, step.placement, name)) return reason;
    const std::span<const std::byte> now = buffers_.output();
    if (std::memcmp(before.data(), now.data(), now.size_bytes()) == 0) return std::nullopt;
    return "other bits in a second run";
  }

  std::optional<std::string> one_launch(const Problem& problem, const Matrix& matrix, const Placement& placement,
                                        const std::string& name) {
    if (before_case_) before_case_(name);
    buffers_.prepare(matrix.x(), placement);
    Launch launch{&kernel_, variant_.geometry(problem, constants_), buffers_.x(), buffers_.y(), problem.M, problem.N};
    launch.element_bytes = static_cast<int>(size_of(dtype_));
    launch.workspace = workspace_.of(launch.geometry);
    device_.launch(launch, device_.stream());
    device_.synchronize();
    buffers_.fetch();
    ++outcome_.cases;
    return buffers_.damage();
  }

  Device& device_;
  const Variant& variant_;
  DType dtype_;
  const Constants& constants_;
  const LoadedKernel& kernel_;
  Depth depth_;
  const std::function<void(const std::string&)>& before_case_;
  GuardedBuffers buffers_;
  Workspace workspace_;  ///< Of the whole verification: each launch finds what the one before it left.
  Outcome outcome_;
  std::int64_t next_first_ = 0;
};

}  // namespace

Outcome run(Device& device, const Variant& variant, DType dtype, const Constants& constants, const LoadedKernel& kernel,
            Depth depth, const std::function<void(const std::string&)>& before_case) {
  Outcome outcome = Run(device, variant, dtype, constants, kernel, depth, before_case).all();
  // A dispatcher in somebody's process keeps little; a tuner verifies hundreds of kernels at the same lengths.
  trim_samples(std::size_t{depth == Depth::full ? 512u : 32u} << 20);
  return outcome;
}

}  // namespace softmax_dispatch::verify
