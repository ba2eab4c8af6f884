// Kernels whose launches need more than a place in a stream: a workspace, or blocks that are on the device together.
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "unit/dispatch/allocations.hpp"
#include "unit/dispatch/fixture.hpp"

namespace softmax_dispatch::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// That get a workspace of a first prewarm().
constexpr std::size_t kCaptures = runtime::Workspaces::kCaptureSpares + runtime::Workspaces::kLoanSpares;

/// v10 of the product, whose launches need what `add_needs` adds to their geometry.
class Needy : public Variant {
 public:
  std::function<void(Geometry&)> add_needs = [](Geometry&) {};

  std::string_view id() const override { return base_.id(); }
  std::string_view summary() const override { return base_.summary(); }
  std::string_view needs() const override { return base_.needs(); }
  int scans() const override { return base_.scans(); }
  std::vector<DType> dtypes() const override { return base_.dtypes(); }
  const std::vector<Axis>& axes() const override { return base_.axes(); }
  int complexity() const override { return base_.complexity(); }
  Support supports(DType dtype, const Constants& c, const Target& t) const override {
    return base_.supports(dtype, c, t);
  }
  Support supports(const Problem& p, const Constants& c, const Target& t) const override {
    return base_.supports(p, c, t);
  }
  std::int64_t capacity_N(DType dtype, const Constants& c) const override { return base_.capacity_N(dtype, c); }
  std::int64_t accurate_N(DType dtype, const Constants& c) const override { return base_.accurate_N(dtype, c); }
  Constants complete(const Problem& p, const Constants& c, const Target& t) const override {
    return base_.complete(p, c, t);
  }
  std::vector<Constants> enumerate(DType d, const Ladders& l, const Target& t) const override {
    return base_.enumerate(d, l, t);
  }
  std::vector<Constants> extremes(DType dtype, const Target& t) const override { return base_.extremes(dtype, t); }
  std::vector<std::int64_t> boundaries_N(DType dtype, const Constants& c) const override {
    return base_.boundaries_N(dtype, c);
  }
  std::int64_t rows_per_block(const Constants& c) const override { return base_.rows_per_block(c); }
  Geometry geometry(const Problem& p, const Constants& c) const override {
    Geometry geometry = base_.geometry(p, c);
    add_needs(geometry);
    return geometry;
  }

 private:
  const Variant& base_ = registry().at("v10");
};

class LaunchNeeds : public ::testing::Test {
 protected:
  LaunchNeeds() {
    for (const char* id : {"v10", "v7", "unbounded"}) {
      backend_.named(0).define(id, [this, id](const Launch& launch) {
        ids_.emplace_back(id);
        launches_.push_back(launch);
      });
    }
    const TableFile file(make_table(three_thresholds()));
    dispatcher_ = std::make_unique<Dispatcher::Impl>(runtime::DecisionSource({file.path(), ""}, variants_), backend_);
  }
  void need_workspace(std::int64_t bytes = 100) {
    needy_.add_needs = [bytes](Geometry& geometry) { geometry.workspace_bytes = bytes; };
  }
  void need_blocks_together() {
    needy_.add_needs = [](Geometry& geometry) { geometry.cooperative = true; };
  }
  /// The kernel that a call for M rows of 64, v10's, ran.
  std::string dispatch(std::int64_t M = 8, Stream stream = {}) {
    Matrices matrices(M, 64);
    matrices.dispatch(*dispatcher_, stream);
    return ids_.back();
  }
  /// The product's variants, but for v10.
  std::vector<const Variant*> with_needy() const {
    std::vector<const Variant*> all = registry().all();
    std::replace(all.begin(), all.end(), &registry().at("v10"), static_cast<const Variant*>(&needy_));
    return all;
  }
  static std::vector<Problem> problems() { return {{DType::f32, 8, 64}}; }

  Needy needy_;
  Registry variants_{with_needy()};
  FakeBackend backend_;
  std::vector<std::string> ids_;
  std::vector<Launch> launches_;
  std::unique_ptr<Dispatcher::Impl> dispatcher_;
};

TEST_F(LaunchNeeds, WorkspaceOfTheStream) {
  need_workspace();
  static char other;
  EXPECT_EQ(dispatch(), "v10");
  EXPECT_EQ(dispatch(), "v10");
  EXPECT_EQ(dispatch(8, reinterpret_cast<Stream>(&other)), "v10");
  EXPECT_NE(launches_[0].workspace, 0U);
  EXPECT_EQ(launches_[1].workspace, launches_[0].workspace);
  EXPECT_NE(launches_[2].workspace, launches_[0].workspace);
  EXPECT_EQ(launches_[0].geometry.workspace_bytes, 100);
  EXPECT_EQ(backend_.cold_runs, 1);
}

TEST_F(LaunchNeeds, WarmCallWithAWorkspaceAllocatesNothing) {
  need_workspace();
  backend_.named(0).define("v10", [](const Launch&) {});
  Matrices matrices(8, 64);
  dispatcher_->prewarm(problems());
  const std::int64_t before = allocations();
  const int device_before = backend_.allocations;
  for (int i = 0; i < 100; ++i) matrices.dispatch(*dispatcher_);
  EXPECT_EQ(allocations() - before, 0);
  EXPECT_EQ(backend_.allocations, device_before);
}

TEST_F(LaunchNeeds, KernelWithoutAWorkspaceReservesNone) {
  dispatch();
  EXPECT_EQ(launches_[0].workspace, 0U);
  EXPECT_EQ(backend_.allocations, 0);
}

TEST_F(LaunchNeeds, CaptureTakesAReservedOneAndThenAnotherKernel) {
  need_workspace();
  dispatcher_->prewarm(problems());
  const int allocated = backend_.allocations;
  backend_.capturing.insert(capturing_stream());
  std::vector<FakeBackend::Graph> graphs(kCaptures + 1);
  for (std::size_t i = 0; i < kCaptures; ++i) {
    backend_.graph_under_way = &graphs[i];
    ++backend_.capture_id;
    ASSERT_EQ(dispatch(8, capturing_stream()), "v10") << i;
  }
  backend_.graph_under_way = &graphs.back();
  ++backend_.capture_id;
  EXPECT_EQ(dispatch(8, capturing_stream()), "v7") << "prewarm made a kernel without a workspace warm";
  EXPECT_EQ(launches_.back().workspace, 0U);
  graphs[kCaptures - 1].destroy();
  EXPECT_EQ(dispatch(8, capturing_stream()), "v10");
  EXPECT_EQ(backend_.allocations, allocated);
  EXPECT_EQ(backend_.cold_runs, 1);
  for (FakeBackend::Graph& graph : graphs) graph.destroy();
}

TEST_F(LaunchNeeds, CaptureWithNothingLeftSaysWhatToDo) {
  need_workspace();
  dispatch();
  backend_.capturing.insert(capturing_stream());
  std::vector<FakeBackend::Graph> graphs(kCaptures + 1);
  for (FakeBackend::Graph& graph : graphs) {
    backend_.graph_under_way = &graph;
    ++backend_.capture_id;
    if (&graph != &graphs.back()) dispatch(8, capturing_stream());
  }
  EXPECT_THAT(error_of(StatusCode::not_warmed, [&] { dispatch(8, capturing_stream()); }),
              AllOf(HasSubstr("f32:8x64"), HasSubstr("needs a workspace"), HasSubstr("call prewarm()")));
  for (FakeBackend::Graph& graph : graphs) graph.destroy();
}

TEST_F(LaunchNeeds, LargerWorkspaceIsColdOnce) {
  needy_.add_needs = [](Geometry& geometry) { geometry.workspace_bytes = geometry.grid > 10 ? 1 << 20 : 100; };
  dispatch(8);
  dispatch(1000);
  const int cold = backend_.cold_runs;
  EXPECT_EQ(cold, 2);
  dispatch(1000);
  dispatch(8);
  EXPECT_EQ(backend_.cold_runs, cold);
  EXPECT_NE(launches_[0].workspace, launches_[1].workspace);
}

TEST_F(LaunchNeeds, BlocksTogetherMustFitTheDevice) {
  need_blocks_together();
  int asked = 0;
  backend_.named(0).resident = [&](const Geometry&) {
    ++asked;
    return 4;
  };
  EXPECT_EQ(dispatch(16), "v10") << "4 rows in a block";
  EXPECT_EQ(dispatch(17), "v7");
  const int known = asked, cold = backend_.cold_runs;
  EXPECT_EQ(dispatch(16), "v10");
  EXPECT_EQ(dispatch(1000), "v7");
  EXPECT_EQ(dispatch(3), "v10");
  EXPECT_EQ(asked, known) << "a warm call asks the driver nothing";
  EXPECT_EQ(backend_.cold_runs, cold);
  EXPECT_TRUE(launches_[0].geometry.cooperative);
}

TEST_F(LaunchNeeds, WarmCallWithBlocksTogetherAllocatesNothing) {
  need_blocks_together();
  backend_.named(0).define("v10", [](const Launch&) {});
  Matrices matrices(8, 64);
  matrices.dispatch(*dispatcher_);
  const std::int64_t before = allocations();
  for (int i = 0; i < 100; ++i) matrices.dispatch(*dispatcher_);
  EXPECT_EQ(allocations() - before, 0);
}

TEST_F(LaunchNeeds, CaptureSkipsWhatDoesNotFit) {
  need_blocks_together();
  backend_.named(0).resident = [](const Geometry&) { return 4; };
  dispatcher_->prewarm(std::vector<Problem>{{DType::f32, 1000, 64}});
  backend_.capturing.insert(capturing_stream());
  EXPECT_EQ(dispatch(1000, capturing_stream()), "v7");
  EXPECT_EQ(dispatch(8, capturing_stream()), "v10");
}

TEST_F(LaunchNeeds, ReasonIsGivenWhereNothingFits) {
  need_blocks_together();
  backend_.named(0).resident = [](const Geometry&) { return 1; };
  Dispatcher::Impl forced(runtime::DecisionSource({"", kShort}, variants_), backend_);
  EXPECT_THAT(error_of(StatusCode::verification_failed, [&] { Matrices(8, 64).dispatch(forced); }),
              AllOf(HasSubstr(kShort), HasSubstr("holds 1 blocks"), HasSubstr("2 must be there together")));
}

}  // namespace
}  // namespace softmax_dispatch::testing
