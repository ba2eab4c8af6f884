// Launches with attributes, what the device holds of them, and what orders the work of a stream.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "device/cuda/cuda.hpp"
#include "device/cuda/handles.hpp"
#include "device/cuda/launch_config.hpp"
#include "support/expect_error.hpp"
#include "unit/device/fake_driver/fixture.hpp"

namespace softmax_dispatch::cuda {
namespace {

using softmax_dispatch::testing::error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;
using Seen = FakeDriverState::Launch;

class CudaLaunch : public FakeDriverTest {
 protected:
  void make(int compute_major) {
    driver().CtxSetCurrent(nullptr);
    state().compute_major = compute_major;
    device_ = open(0);
    kernel_ = device_->load("cubin", "entry", {});
  }
  const std::vector<Seen>& launch(const Geometry& geometry) {
    state().launches.clear();
    device_->launch({kernel_.get(), geometry, 1, 2, 3, 4, 0x500}, device_->stream());
    return state().launches;
  }

  std::unique_ptr<Device> device_;
  std::shared_ptr<const LoadedKernel> kernel_;
};

TEST_F(CudaLaunch, PlainOneHasNoAttributes) {
  make(9);
  const Seen seen = launch({.grid = 5, .block = 64}).at(0);
  EXPECT_EQ(seen.cluster, 0U);
  EXPECT_FALSE(seen.cooperative);
  EXPECT_FALSE(seen.overlaps);
  EXPECT_EQ(seen.workspace, 0x500U);
  EXPECT_EQ(seen.phase, 0);
}

TEST_F(CudaLaunch, EachAttributeArrives) {
  make(9);
  EXPECT_EQ(launch({.grid = 8, .block = 64, .cluster = 4}).at(0).cluster, 4U);
  EXPECT_TRUE(launch({.grid = 8, .block = 64, .cooperative = true}).at(0).cooperative);
  EXPECT_TRUE(launch({.grid = 8, .block = 64, .overlaps = true}).at(0).overlaps);
  const Seen all =
      launch({.grid = 8, .block = 64, .shared_bytes = 70000, .cluster = 2, .cooperative = true, .overlaps = true})
          .at(0);
  EXPECT_EQ(all.cluster, 2U);
  EXPECT_TRUE(all.cooperative && all.overlaps);
  EXPECT_EQ(all.grid, 8U);
  EXPECT_EQ(all.block, 64U);
  EXPECT_EQ(all.shared_bytes, 70000U);
}

TEST_F(CudaLaunch, PhasesFollowOneAnother) {
  make(7);
  const auto seen = launch({.grid = 8, .block = 64, .phases = 3});
  ASSERT_EQ(seen.size(), 3U);
  for (int phase = 0; phase < 3; ++phase) EXPECT_EQ(seen[static_cast<std::size_t>(phase)].phase, phase);
}

TEST_F(CudaLaunch, PartsOfARowAreAParameter) {
  make(7);
  EXPECT_EQ(launch({.grid = 8, .block = 64}).at(0).parts, 1);
  EXPECT_EQ(launch({.grid = 8, .block = 64, .parts = 4}).at(0).parts, 4);
}

TEST_F(CudaLaunch, OverlapsWhereTheDeviceAndTheDriverDo) {
  make(7);
  EXPECT_FALSE(launch({.grid = 8, .block = 64, .overlaps = true}).at(0).overlaps) << "before sm_90";
  EXPECT_FALSE(state().large_clusters_allowed);
  make(9);
  EXPECT_TRUE(state().large_clusters_allowed) << "more than 8 blocks, where the device grants it";
}

TEST_F(CudaLaunch, OverlapsFromCuda123On) {
  DeviceInfo info;
  info.limits.major = 9;
  info.driver_version = 12020;
  EXPECT_FALSE(LaunchConfig::overlaps(info)) << "a capture would refuse it";
  info.driver_version = 12030;
  EXPECT_TRUE(LaunchConfig::overlaps(info));
}

TEST_F(CudaLaunch, ClusterNeedsSm90AndAWholeNumberOfClusters) {
  make(7);
  EXPECT_THAT(error_of(StatusCode::unsupported, [&] { launch({.grid = 8, .block = 64, .cluster = 4}); }),
              AllOf(HasSubstr("8 blocks in clusters of 4 on Fake T4 (sm_75)"), HasSubstr("from sm_90 on")));
  make(9);
  EXPECT_THAT(error_of(StatusCode::unsupported, [&] { launch({.grid = 9, .block = 64, .cluster = 4}); }),
              HasSubstr("multiple of the cluster"));
}

TEST_F(CudaLaunch, FailureNamesTheAttributes) {
  make(9);
  state().launch_result = CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
  EXPECT_THAT(
      error_of(StatusCode::device, [&] { launch({.grid = 8, .block = 64, .cluster = 2, .cooperative = true}); }),
      HasSubstr("launch 8 blocks of 64 threads with 0 bytes of shared memory in clusters of 2, cooperatively"));
}

TEST_F(CudaLaunch, IsCapturedWithItsAttributes) {
  make(9);
  const Geometry geometry{.grid = 8, .block = 64, .cooperative = true, .phases = 2};
  const auto batch = device_->record(std::vector<Launch>{{kernel_.get(), geometry, 1, 2, 3, 4, 0x500}});
  EXPECT_TRUE(state().launches.empty());
  batch->replay_us();
  ASSERT_EQ(state().launches.size(), 2U);
  EXPECT_TRUE(state().launches[1].cooperative);
  EXPECT_EQ(state().launches[1].phase, 1);
}

TEST_F(CudaLaunch, BlocksThatWaitForEachOtherMustFitTheDevice) {
  make(9);  // 40 SMs with 2 blocks each; clusters on each pair of SMs: 40
  Geometry geometry{.grid = 81, .block = 64};
  EXPECT_EQ(device_->resident_blocks(*kernel_, geometry), 80);
  EXPECT_TRUE(device_->co_resident(*kernel_, geometry)) << "they don't wait";
  geometry.cooperative = true;
  EXPECT_THAT(device_->co_resident(*kernel_, geometry).reason,
              AllOf(HasSubstr("Fake T4 holds 80 blocks of 64 threads"), HasSubstr("81 must be there together")));
  geometry.grid = 80;
  EXPECT_TRUE(device_->co_resident(*kernel_, geometry));
  geometry.cooperative = false;
  geometry.cluster = 16;
  EXPECT_EQ(device_->resident_blocks(*kernel_, geometry), 40 * 16);
  EXPECT_TRUE(device_->co_resident(*kernel_, geometry));
  state().occupancy_result = CUDA_ERROR_INVALID_CLUSTER_SIZE;
  EXPECT_THAT(device_->co_resident(*kernel_, geometry).reason, HasSubstr("holds 0 blocks"));
  make(7);
  EXPECT_FALSE(device_->co_resident(*kernel_, geometry)) << "no clusters";
}

class CudaStream : public CudaLaunch {
 protected:
  void SetUp() override {
    CudaLaunch::SetUp();
    make(7);
    stream_ = make_stream();
  }
  GraphHandle end_capture() {
    CUgraph graph = nullptr;
    EXPECT_EQ(driver().StreamEndCapture(stream_.get(), &graph), CUDA_SUCCESS);
    return GraphHandle(graph);
  }
  StreamHandle stream_;
  int destroyed_ = 0;
  static void count(void* number) { ++*static_cast<int*>(number); }
};

TEST_F(CudaStream, IsKnownByItsIdAndItsCapture) {
  const StreamHandle other = make_stream();
  const StreamUse use = stream_use(stream_.get());
  EXPECT_EQ(use.stream, stream_use(stream_.get()).stream);
  EXPECT_NE(use.stream, stream_use(other.get()).stream);
  EXPECT_NE(use.stream, stream_use({}).stream);
  EXPECT_EQ(use.capture, 0U);
  driver().StreamBeginCapture(stream_.get(), CU_STREAM_CAPTURE_MODE_GLOBAL);
  const StreamUse capturing = stream_use(stream_.get());
  EXPECT_EQ(capturing.stream, stream_use(stream_.get()).stream);
  EXPECT_NE(capturing.capture, 0U);
  const GraphHandle graph = end_capture();
  EXPECT_TRUE(graph) << "asking for the id of a stream ends its capture";
  EXPECT_EQ(capturing.graph, graph.get());
  EXPECT_EQ(stream_use(stream_.get()).capture, 0U);
  state().other_stream_captures = true;
  EXPECT_EQ(stream_use({}).capture, 0U) << "the driver's refusal to answer is no error";
}

TEST_F(CudaStream, CallsWhenTheGraphAndItsInstancesAreGone) {
  driver().StreamBeginCapture(stream_.get(), CU_STREAM_CAPTURE_MODE_GLOBAL);
  when_destroyed(stream_use(stream_.get()).graph, &count, &destroyed_);
  GraphHandle graph = end_capture();
  CUgraphExec instance = nullptr;
  driver().GraphInstantiateWithFlags(&instance, graph.get(), 0);
  graph.reset();
  EXPECT_EQ(destroyed_, 0) << "an instance is left";
  driver().GraphExecDestroy(instance);
  EXPECT_EQ(destroyed_, 1);
  EXPECT_EQ(state().live_user_objects, 0);
}

TEST_F(CudaStream, CallsAtOnceWhereTheGraphRefuses) {
  driver().StreamBeginCapture(stream_.get(), CU_STREAM_CAPTURE_MODE_GLOBAL);
  state().retain_result = CUDA_ERROR_INVALID_VALUE;
  EXPECT_THAT(
      error_of(StatusCode::device, [&] { when_destroyed(stream_use(stream_.get()).graph, &count, &destroyed_); }),
      HasSubstr("give an object to a graph"));
  EXPECT_EQ(destroyed_, 1);
  end_capture();
  EXPECT_EQ(state().live_user_objects, 0);
}

TEST_F(CudaStream, CallsAtOnceWhereThereIsNoObject) {
  driver().StreamBeginCapture(stream_.get(), CU_STREAM_CAPTURE_MODE_GLOBAL);
  state().user_object_result = CUDA_ERROR_OUT_OF_MEMORY;
  EXPECT_THAT(
      error_of(StatusCode::device, [&] { when_destroyed(stream_use(stream_.get()).graph, &count, &destroyed_); }),
      HasSubstr("create an object for a graph"));
  EXPECT_EQ(destroyed_, 1);
  end_capture();
}

}  // namespace
}  // namespace softmax_dispatch::cuda
