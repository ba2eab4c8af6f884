#include "dispatch/workspaces.hpp"

#include <gmock/gmock.h>

#include <set>
#include <thread>
#include <vector>

#include "unit/dispatch/allocations.hpp"
#include "unit/dispatch/fake_backend.hpp"

namespace softmax_dispatch::testing {
namespace {

using runtime::Workspaces;

Stream stream(std::uintptr_t id) {
  return reinterpret_cast<Stream>(id);
}

class WorkspacesTest : public ::testing::Test {
 protected:
  void begin_capture(Stream of, FakeBackend::Graph& graph) {
    backend_.capturing = {of};
    backend_.graph_under_way = &graph;
    ++backend_.capture_id;
  }
  void end_capture() { backend_.capturing.clear(); }
  /// What a captured launch of the stream gets.
  DevicePtr captured(Stream of, FakeBackend::Graph& graph, std::int64_t bytes = 100) {
    begin_capture(of, graph);
    const DevicePtr found = workspaces_->find(of, bytes);
    end_capture();
    return found;
  }
  /// Captures that take all that captures may have for good.
  std::set<DevicePtr> take_those_of_captures() {
    std::set<DevicePtr> taken;
    for (std::size_t i = 0; i < Workspaces::kCaptureSpares; ++i) {
      FakeBackend::Graph graph;
      taken.insert(captured(stream(1), graph));
      EXPECT_TRUE(graph.on_destruction.empty());
    }
    EXPECT_EQ(taken.size(), Workspaces::kCaptureSpares);
    EXPECT_FALSE(taken.contains(0));
    return taken;
  }

  FakeBackend backend_;
  std::unique_ptr<Workspaces> workspaces_ = std::make_unique<Workspaces>(backend_, backend_.device(0));
};

TEST_F(WorkspacesTest, AreThereOnlyWhereOneWasReserved) {
  EXPECT_EQ(workspaces_->find({}, 100), 0U);
  const DevicePtr reserved = workspaces_->reserve({}, 100);
  ASSERT_NE(reserved, 0U);
  EXPECT_EQ(reserved % 256, 0U);
  std::vector<char> bytes(100, 'x');
  backend_.device(0).download(bytes.data(), reserved, bytes.size());
  EXPECT_THAT(bytes, ::testing::Each('\0'));
  EXPECT_EQ(workspaces_->find({}, 100), reserved);
  EXPECT_EQ(workspaces_->find({}, 1 << 20), 0U) << "none is so large";
}

TEST_F(WorkspacesTest, OfTwoStreamsAreTwo) {
  const DevicePtr of_default = workspaces_->reserve({}, 100);
  const DevicePtr a = workspaces_->find(stream(1), 100), b = workspaces_->find(stream(2), 100);
  EXPECT_EQ((std::set{of_default, a, b, DevicePtr{0}}).size(), 4U);
  EXPECT_EQ(workspaces_->find(stream(1), 100), a);
  EXPECT_EQ(workspaces_->find(stream(2), 100), b);
}

TEST_F(WorkspacesTest, FindingOneAllocatesNothing) {
  workspaces_->reserve({}, 100);
  const int device_before = backend_.allocations;
  const std::int64_t before = allocations();
  for (std::uintptr_t id = 0; id <= Workspaces::kStreamSpares; ++id) workspaces_->find(stream(id), 100);
  EXPECT_EQ(allocations() - before, 0);
  EXPECT_EQ(backend_.allocations, device_before);
}

TEST_F(WorkspacesTest, MoreStreamsThanSparesNeedOneReserved) {
  std::set<DevicePtr> all{workspaces_->reserve({}, 100)};
  for (std::uintptr_t id = 1; id <= Workspaces::kStreamSpares; ++id) all.insert(workspaces_->find(stream(id), 100));
  EXPECT_EQ(all.size(), 1 + Workspaces::kStreamSpares);
  EXPECT_FALSE(all.contains(0));
  EXPECT_EQ(workspaces_->find(stream(100), 100), 0U);
  all.insert(workspaces_->reserve(stream(100), 100));
  for (std::uintptr_t id = 101; id <= 100 + Workspaces::kStreamSpares; ++id)
    all.insert(workspaces_->find(stream(id), 100));
  EXPECT_EQ(all.size(), 2 + 2 * Workspaces::kStreamSpares) << "reserving one leaves spares again";
}

TEST_F(WorkspacesTest, GrowWithoutTakingTheOldOneAway) {
  const DevicePtr small = workspaces_->reserve(stream(1), 100);
  const DevicePtr large = workspaces_->reserve(stream(1), 1 << 20);
  EXPECT_NE(small, large);
  EXPECT_EQ(workspaces_->find(stream(1), 1 << 20), large);
  EXPECT_EQ(workspaces_->find(stream(1), 100), small) << "still the stream's own";
  const DevicePtr other = workspaces_->find(stream(2), 1 << 20);
  EXPECT_NE(other, 0U) << "spares have grown too";
  EXPECT_NE(other, large);
  std::vector<char> bytes(1 << 20);
  backend_.device(0).download(bytes.data(), other, bytes.size());
}

TEST_F(WorkspacesTest, HugeOnesAreFewSpares) {
  const std::int64_t bytes = Workspaces::kMostSpareBytes;
  ASSERT_NE(workspaces_->reserve({}, bytes), 0U);
  EXPECT_NE(workspaces_->find(stream(1), bytes), 0U);
  EXPECT_EQ(workspaces_->find(stream(2), bytes), 0U);
}

TEST_F(WorkspacesTest, FirstCapturesHaveTheirsForGood) {
  const DevicePtr of_stream = workspaces_->reserve(stream(1), 100);
  FakeBackend::Graph first, second;
  const DevicePtr a = captured(stream(1), first);
  EXPECT_TRUE(first.on_destruction.empty()) << "an object in the graph makes its launches longer";
  first.destroy();
  const DevicePtr b = captured(stream(1), second);
  EXPECT_EQ((std::set{of_stream, a, b, DevicePtr{0}}).size(), 4U);
  EXPECT_EQ(workspaces_->find(stream(1), 100), of_stream);
}

TEST_F(WorkspacesTest, LaterCapturesHaveTheirsUntilTheGraphIsDestroyed) {
  const DevicePtr of_stream = workspaces_->reserve(stream(1), 100);
  std::set<DevicePtr> others = take_those_of_captures();
  FakeBackend::Graph first, second, third;
  const DevicePtr a = captured(stream(1), first), b = captured(stream(1), second);
  others.insert({of_stream, a, b, DevicePtr{0}});
  EXPECT_EQ(others.size(), Workspaces::kCaptureSpares + 4);
  EXPECT_EQ(workspaces_->find(stream(1), 100), of_stream);
  first.destroy();
  EXPECT_EQ(captured(stream(1), third), a) << "free again";
  second.destroy();
  third.destroy();
}

TEST_F(WorkspacesTest, CapturesHaveNoMoreThanTheMostForGood) {
  workspaces_->reserve({}, 100);
  std::size_t for_good = 0;
  for (; for_good <= Workspaces::kMostOfCaptures; ++for_good) {
    FakeBackend::Graph graph;
    ASSERT_NE(captured(stream(1), graph), 0U);
    const bool lent = !graph.on_destruction.empty();
    graph.destroy();
    if (lent) break;
    workspaces_->reserve({}, 100);
  }
  EXPECT_EQ(for_good, Workspaces::kMostOfCaptures);
  for (int i = 0; i < 1000; ++i) {
    FakeBackend::Graph graph;
    ASSERT_NE(captured(stream(1), graph), 0U) << i << ": captures may follow one another without end";
    graph.destroy();
  }
}

TEST_F(WorkspacesTest, LaunchesOfOneCaptureShareOneAndItsOtherStreamsDoNot) {
  workspaces_->reserve({}, 100);
  take_those_of_captures();
  FakeBackend::Graph graph;
  begin_capture(stream(1), graph);
  backend_.capturing.insert(stream(2));
  const DevicePtr a = workspaces_->find(stream(1), 100), b = workspaces_->find(stream(2), 100);
  EXPECT_NE(a, b) << "branches of a graph run side by side";
  EXPECT_EQ(workspaces_->find(stream(1), 100), a);
  EXPECT_EQ(graph.on_destruction.size(), 2U);
  graph.destroy();
}

TEST_F(WorkspacesTest, CapturesAndStreamsDoNotUseUpEachOthersReserve) {
  workspaces_->reserve({}, 100);
  take_those_of_captures();
  std::vector<FakeBackend::Graph> graphs(Workspaces::kLoanSpares + 1);
  for (std::size_t i = 0; i < Workspaces::kLoanSpares; ++i) EXPECT_NE(captured(stream(1), graphs[i]), 0U);
  EXPECT_EQ(captured(stream(1), graphs.back()), 0U);
  EXPECT_NE(workspaces_->find(stream(7), 100), 0U);
  workspaces_->reserve({}, 100);
  EXPECT_NE(captured(stream(1), graphs.back()), 0U) << "reserving again tops the reserve up";
  for (FakeBackend::Graph& graph : graphs) graph.destroy();
}

TEST_F(WorkspacesTest, BelongToOneContext) {
  const DevicePtr here = workspaces_->reserve(stream(1), 100);
  backend_.context = 2;
  EXPECT_EQ(workspaces_->find(stream(9), 100), 0U) << "the spares are memory of another context";
  const DevicePtr there = workspaces_->reserve(stream(9), 100);
  EXPECT_NE(there, 0U);
  EXPECT_NE(there, here);
}

TEST_F(WorkspacesTest, AreNoMoreThanTheMost) {
  for (std::uintptr_t id = 1; !workspaces_->full(); ++id) ASSERT_NE(workspaces_->reserve(stream(id), 100), 0U) << id;
  std::size_t given = 0;
  for (std::uintptr_t id = 10000; workspaces_->find(stream(id), 100) != 0; ++id) ++given;
  EXPECT_LE(given, 2 * Workspaces::kStreamSpares);
  EXPECT_EQ(workspaces_->reserve(stream(9999), 100), 0U);
}

TEST_F(WorkspacesTest, AreFreedWithTheDispatcherAndAGraphMayComeLater) {
  workspaces_->reserve({}, 100);
  take_those_of_captures();
  FakeBackend::Graph graph;
  EXPECT_NE(captured(stream(1), graph), 0U);
  EXPECT_EQ(graph.on_destruction.size(), 1U);
  EXPECT_GT(backend_.named(0).live_allocations(), 0U);
  workspaces_.reset();
  EXPECT_EQ(backend_.named(0).live_allocations(), 0U);
  graph.destroy();  // a driver calls this on a thread of its own, some time after
}

TEST_F(WorkspacesTest, ThreadsWithStreamsOfTheirOwnNeverShareOne) {
  constexpr std::size_t kThreads = 16;
  workspaces_->reserve({}, 100);
  std::vector<std::vector<DevicePtr>> seen(kThreads);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const Stream mine = stream(1000 + t);
        DevicePtr found = workspaces_->find(mine, 100);
        if (!found) found = workspaces_->reserve(mine, 100);
        seen[t].push_back(found);
      }
    });
  }
  for (std::thread& one : threads) one.join();
  std::set<DevicePtr> all;
  for (const std::vector<DevicePtr>& of_thread : seen) {
    ASSERT_THAT(of_thread, ::testing::Each(of_thread.front()));
    all.insert(of_thread.front());
  }
  EXPECT_EQ(all.size(), kThreads);
  EXPECT_FALSE(all.contains(0));
}

TEST_F(WorkspacesTest, ThreadsThatDestroyGraphsGiveBackToThoseThatCapture) {
  workspaces_->reserve({}, 100);
  // Another capture in each turn of each thread, over streams that are captured all the time.
  constexpr std::uintptr_t kThreads = 8;
  backend_.graph_of_thread = true;
  for (std::uintptr_t id = 1; id <= kThreads; ++id) backend_.capturing.insert(stream(id));
  std::atomic<int> overlaps{0};
  std::mutex mutex;
  std::set<DevicePtr> in_use;
  std::vector<std::thread> threads;
  for (std::uintptr_t id = 1; id <= kThreads; ++id) {
    threads.emplace_back([&, id] {
      for (std::uint64_t turn = 1; turn <= 200; ++turn) {
        FakeBackend::thread_capture = {turn * 100 + id, {}};
        const DevicePtr found = workspaces_->find(stream(id), 100);
        {
          const std::lock_guard lock(mutex);
          if (!found || !in_use.insert(found).second) ++overlaps;
        }
        std::this_thread::yield();
        {
          const std::lock_guard lock(mutex);
          in_use.erase(found);
        }
        FakeBackend::thread_capture.graph.destroy();
      }
    });
  }
  for (std::thread& one : threads) one.join();
  EXPECT_EQ(overlaps, 0);
}

}  // namespace
}  // namespace softmax_dispatch::testing
