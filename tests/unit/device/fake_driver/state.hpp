#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// What the fake driver does and has seen. One per process; a test starts with a fresh one.
struct FakeDriverState {
  // Set by a test.
  int version = 13000;
  int init_result = 0;
  std::string missing;          ///< An entry point that cuGetProcAddress does not find.
  int memory_clock_result = 0;  ///< Of cuDeviceGetAttribute for the memory clock.
  int launch_result = 0;
  bool other_stream_captures = false;  ///< A stream of somebody else, ordered with the legacy default stream.

  // Seen.
  int live_contexts = 0, live_streams = 0, live_events = 0, live_graphs = 0, live_libraries = 0, live_memory = 0;
  int legacy_stream_uses = 0;
  struct Launch {
    unsigned grid = 0, block = 0, shared_bytes = 0;
    std::uint64_t x = 0, y = 0;
    std::int64_t M = 0, N = 0;
  };
  std::vector<Launch> launches;  ///< That ran, captured ones at each replay.
  int dynamic_shared_bytes_allowed = 0;
  double now_us = 0;  ///< The device's clock: a block of a kernel takes 1 us, a memset 1 us, a byte copied 1 ns.
};

extern "C" FakeDriverState* fake_driver_state();
