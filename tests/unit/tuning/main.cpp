#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "unit/tuning/planted.hpp"

/// The tests, or the worker process that they start.
int main(int argc, char** argv) {
  if (argc >= 3 && std::string(argv[1]) == "worker")
    return softmax_dispatch::tuning::testing::worker_mode(argv[2], std::vector<std::string>(argv + 3, argv + argc));
  ::testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
