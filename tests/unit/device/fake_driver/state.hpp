#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// What the fake driver does and has seen. One per process; a test starts with a fresh one.
struct FakeDriverState {
  // Set by a test.
  int version = 13000;
  int compute_major = 7;
  int init_result = 0;
  std::string missing;          ///< An entry point that cuGetProcAddress does not find.
  int memory_clock_result = 0;  ///< Of cuDeviceGetAttribute for the memory clock.
  int launch_result = 0;
  int occupancy_result = 0;            ///< Of cuOccupancyMaxActiveClusters.
  int blocks_per_sm = 2;               ///< That the occupancy functions find; clusters: on each pair of SMs.
  int retain_result = 0;               ///< Of cuGraphRetainUserObject.
  int user_object_result = 0;          ///< Of cuUserObjectCreate().
  bool other_stream_captures = false;  ///< A stream of somebody else, ordered with the legacy default stream.

  // Seen.
  int live_contexts = 0, live_streams = 0, live_events = 0, live_graphs = 0, live_libraries = 0, live_memory = 0;
  int live_user_objects = 0;
  int legacy_stream_uses = 0;
  struct Launch {
    unsigned grid = 0, block = 0, shared_bytes = 0;
    std::uint64_t x = 0, y = 0;
    std::int64_t M = 0, N = 0;
    std::uint64_t workspace = 0;
    int phase = 0, parts = 0;
    unsigned cluster = 0;  ///< 0, or false: without this attribute.
    bool cooperative = false, overlaps = false;
  };
  std::vector<Launch> launches;  ///< That ran, captured ones at each replay.
  int dynamic_shared_bytes_allowed = 0;
  bool large_clusters_allowed = false;
  unsigned long long ids = 0;  ///< Given to streams and captures.
  double now_us = 0;  ///< The device's clock: a block of a kernel takes 1 us, a memset 1 us, a byte copied 1 ns.
};

extern "C" FakeDriverState* fake_driver_state();
