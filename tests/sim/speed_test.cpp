// How fast the simulator is, with all checks on, on one core.
#include <gtest/gtest.h>

#include <ctime>
#include <iostream>
#include <random>

#include "sim/sim_fixture.hpp"

namespace softmax_dispatch::sim {
namespace {

TEST(Speed, WholeLaunchOfFourMillionElements) {
  constexpr std::int64_t kM = 1024, kN = 4096;
  const auto device = simulated_t4({.host_threads = 1, .sampled_blocks = 0});
  const auto kernel = device->load(product_ptx("v7", Constants{{"THREADS", 256}, {"VEC_ITEMS", 4}}), "v7");
  std::vector<float> input(kM * kN);
  std::mt19937 random(42);
  for (float& one : input) one = static_cast<float>(random() % 20000) / 1000 - 10;
  Buffer x(*device, input.size() * 4), y(*device, input.size() * 4);
  device->upload(x.get(), input.data(), x.bytes());
  const Launch launch{kernel.get(), {kM, 256, 0}, x.get(), y.get(), kM, kN};
  const std::uint64_t thread_instructions = device->count(launch).thread_instructions;
  // Processor time: what other processes take does not count.
  const std::clock_t begin = std::clock();
  device->launch(launch, {});
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  std::cout << "v7 at 1024x4096 with all checks: " << seconds << " s, "
            << static_cast<double>(thread_instructions) / seconds * 1e-9 << " G thread instructions a second\n";
  EXPECT_LT(seconds, 5);
}

}  // namespace
}  // namespace softmax_dispatch::sim
