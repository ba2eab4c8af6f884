// Kernels of the product with one thing taken out: the simulator says what is missing, and where.
#include <fmt/core.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "sim/sim_fixture.hpp"
#include "support/expect_error.hpp"

namespace softmax_dispatch::sim {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// A source or common header of the product with the nth occurrence of a text replaced by another of as many lines.
std::string without(std::string_view text, const std::string& what, int nth) {
  std::string changed(text);
  std::size_t at = changed.find(what);
  for (int i = 1; i < nth && at != std::string::npos; ++i) at = changed.find(what, at + 1);
  EXPECT_NE(at, std::string::npos) << what;
  changed.replace(at, what.size(), "");
  return changed;
}

long line_of(std::string_view text, std::string_view what, int nth = 1) {
  std::size_t at = text.find(what);
  for (int i = 1; i < nth && at != std::string_view::npos; ++i) at = text.find(what, at + 1);
  EXPECT_NE(at, std::string_view::npos) << what;
  return 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
}

std::string header(const std::string& name) {
  for (const jit::Header& one : jit::Sources::product().headers()) {
    if (one.name == name) return std::string(one.text);
  }
  ADD_FAILURE() << name;
  return {};
}

/// Runs kernel `id` for M x N with `changed` in the place of one of its common headers, and gives the error.
std::string error_of(const std::string& id, const std::string& header_name, const std::string& changed,
                     std::int64_t grid, std::int64_t M, std::int64_t N, std::uint64_t seed = 0) {
  std::vector<jit::Header> headers = jit::Sources::product().headers();
  for (jit::Header& one : headers) {
    if (one.name == header_name) one.text = changed;
  }
  const std::string ptx =
      jit::Nvrtc::open()
          ->compile(id, jit::Sources::product().text(id), headers, "compute_75",
                    {"-std=c++17", "-lineinfo", "--no-source-include", "-DTHREADS=128", "-DVEC_ITEMS=4"})
          .image;
  const auto device = simulated_t4({.host_threads = 1, .seed = seed});
  const auto kernel = device->load(ptx, id);
  std::vector<float> input(static_cast<std::size_t>(M * N));
  for (std::size_t i = 0; i < input.size(); ++i) input[i] = static_cast<float>(i * 37 % 101);
  Buffer x(*device, input.size() * 4), y(*device, input.size() * 4);
  device->upload(x.get(), input.data(), x.bytes());
  return testing::error_of(StatusCode::device, [&] {
    device->launch({kernel.get(), {grid, 128, 0}, x.get(), y.get(), M, N}, {});
  });
}

constexpr const char* kBarrier = "__syncthreads();";

// The first warp reads the states of warps that have not stored them yet, or do so at the same time: which of the two
// depends on the warp that runs first, another one in every block.
TEST(ProductFaults, MergeWithoutTheBarrierBeforeTheFirstWarpReads) {
  const std::string online = header("common/online.cuh");
  const std::string changed = without(online, kBarrier, 1);
  const std::string read =
      fmt::format("online.cuh:{}, inlined at v5.cu:", line_of(online, "s.m = shared.m[lane_id()]"));
  const std::string stored =
      fmt::format("online.cuh:{}, inlined at v5.cu:", line_of(online, "shared.m[warp_id()] = s.m"));
  std::set<std::string> kinds;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const std::string message = error_of("v5", "common/online.cuh", changed, 40, 40, 1000, seed);
    EXPECT_THAT(message, HasSubstr("kernel v5, online.cuh:"));
    const bool race = message.find("shared memory race") != std::string::npos;
    kinds.insert(race ? "race" : "uninitialised");
    if (race) {
      EXPECT_THAT(message, AllOf(HasSubstr(read), HasSubstr(stored), HasSubstr("no barrier after")));
    } else {
      EXPECT_THAT(message, AllOf(HasSubstr("kernel v5, " + read), HasSubstr("shared load of 4 uninitialised bytes")));
    }
  }
  EXPECT_EQ(kinds.size(), 2u);
}

// Threads read the result while the first warp has yet to store it.
TEST(ProductFaults, MergeWithoutTheBarrierBeforeTheResultIsRead) {
  const std::string online = header("common/online.cuh");
  const std::string message = error_of("v5", "common/online.cuh", without(online, kBarrier, 2), 2, 2, 1000);
  EXPECT_THAT(message, AllOf(HasSubstr("shared memory race"), HasSubstr("no barrier after")));
  EXPECT_THAT(message,
              ::testing::AnyOf(HasSubstr(fmt::format("online.cuh:{},", line_of(online, "s.m = shared.m[0]"))),
                               HasSubstr(fmt::format("online.cuh:{},", line_of(online, "shared.m[0] = s.m")))));
}

// Without the test of the row's alignment three rows of four are read by float4 that is not aligned.
TEST(ProductFaults, VectorAccessOfMisalignedRows) {
  const std::string scan = header("common/scan.cuh");
  std::string changed = scan;
  const std::string test = "return (reinterpret_cast<unsigned long long>(row) & 15) == 0;";
  changed.replace(changed.find(test), test.size(), "return true;");
  const std::string message = error_of("v7", "common/scan.cuh", changed, 4, 4, 257);
  EXPECT_THAT(message, AllOf(HasSubstr("misaligned global load of 16 bytes"), HasSubstr("kernel v7, scan.cuh:")));
  EXPECT_THAT(message, HasSubstr(fmt::format("scan.cuh:{},", line_of(scan, "if (ALIGNED) return"))));
}

// The tail's guard taken out: the last row's tail reads past the end of x.
TEST(ProductFaults, TailWithoutItsGuard) {
  const std::string scan = header("common/scan.cuh");
  std::string changed = scan;
  const std::string test = "if (i < n) f(i);";
  changed.replace(changed.find(test), test.size(), "f(i);");
  const std::string message = error_of("v7", "common/scan.cuh", changed, 1, 1, 256);
  EXPECT_THAT(message, AllOf(HasSubstr("global load of 4 bytes out of bounds"),
                             HasSubstr("past the end of the allocation"), HasSubstr("kernel v7, cached.cuh:")));
}

}  // namespace
}  // namespace softmax_dispatch::sim
