// Kernels with a planted fault, and the product's with one trap of their contract no longer handled: verification on
// the simulated device rejects each, and where a check of the simulator finds it, it names kernel, line, block and
// thread.
#include "gpu/planted/planted.hpp"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/planted/mutations.hpp"
#include "sim/planted/reason.hpp"
#include "sim/sim_fixture.hpp"

namespace softmax_dispatch::sim {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

/// "name.cu:17" for the line of a planted kernel with the text.
std::string place(const std::string& id, std::string_view text) {
  const std::string& source = planted::sources().text(id);
  const std::size_t at = source.find(text);
  EXPECT_NE(at, std::string::npos) << text;
  return fmt::format("{}.cu:{}", id,
                     1 + std::count(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

struct Planted {
  std::string id;
  Constants constants;
  ::testing::Matcher<std::string> reason;
};

TEST(Planted, EachIsRejectedForItsFault) {
  const std::string vectors = place("planted_unguarded_float4", "update_vector(s, load_group<true>(in, k))");
  const Planted all[] = {
      {"planted_skips_last_row", Constants{{"THREADS", 128}}, HasSubstr("was not written")},
      {"planted_unguarded_float4",
       {{"THREADS", 128}, {"VEC_ITEMS", 1}},
       AllOf(HasSubstr("kernel planted_unguarded_float4, scan.cuh:"), HasSubstr(vectors),
             ContainsRegex("misaligned global load of 16 bytes at address 0x[0-9a-f]+; block [0-9]+, thread [0-9]+$"))},
      {"planted_writes_past_end", Constants{{"THREADS", 128}}, HasSubstr("past the end of the output")},
      {"planted_relative_error", Constants{{"THREADS", 128}}, ContainsRegex("x8, aligned: .*expected")},
      {"planted_zeros", Constants{{"THREADS", 128}}, HasSubstr("got 0, expected")},
      {"planted_long_chain", Constants{{"THREADS", 128}}, HasSubstr("(peak first")},
      {"planted_other_bits", Constants{{"THREADS", 128}}, HasSubstr("other bits in a second run")},
  };
  for (const Planted& one : all)
    EXPECT_THAT(reason("sm_75", planted::registry(), planted::sources(), {one.id, one.constants}), one.reason)
        << one.id;
}

// Beside its guards, which verification looks at, a matrix of its own shows where the write is.
TEST(Planted, TheWritePastTheEndIsNamedWithItsLine) {
  const std::string id = "planted_writes_past_end";
  const jit::Compiler compiler(jit::Nvrtc::open(), planted::sources(), nullptr);
  const auto device = simulated_t4({.host_threads = 1});
  const auto kernel = device->load(compiler.compile_ptx(id, Constants{{"THREADS", 128}}, "sm_75", true), id);
  Buffer x(*device, 5 * 1000 * 4), y(*device, 5 * 1000 * 4);
  device->fill(x.get(), 0, x.bytes());
  try {
    device->launch({kernel.get(), {5, 128, 0}, x.get(), y.get(), 5, 1000}, {});
    ADD_FAILURE() << "no fault";
  } catch (const Fault& fault) {
    EXPECT_EQ(fault.what(),
              fmt::format("kernel {}, {}: global store of 4 bytes out of bounds at address {:#x}, 0 bytes past the end "
                          "of the allocation of 20000 bytes at {:#x}; block 4, thread 0",
                          id, place(id, "out[n] = 0.0f"), y.get() + 20000, y.get()));
  }
}

std::vector<planted::Mutation> mutations_without_clocks() {
  std::vector<planted::Mutation> result;
  for (planted::Mutation one : planted::mutations()) {
    // Warps that are late by the clock bring out on a GPU what the simulator finds without them.
    std::erase_if(one.edits,
                  [](const planted::Edit& edit) { return edit.to.find("clock64") != std::string_view::npos; });
    if (!one.edits.empty() && one.effect != planted::Effect::local_memory) result.push_back(std::move(one));
  }
  return result;
}

/// What a check of the simulator says of a mutation, and a part of the line that it names.
struct Finding {
  std::string_view of;  ///< The end of the mutation's name.
  std::string_view words;
  std::string_view line;
};
constexpr Finding kFindings[] = {
    {"no_barrier_between_phases",
     "shared memory race at address 0x[0-9a-f]+: a (read|write) with no barrier after a (read|write) by", "shared["},
    {"no_barrier_between_rows",
     "shared memory race at address 0x[0-9a-f]+: a (read|write) with no barrier after a (read|write) by", "shared.m["},
    {"entries_of_no_warp_read", "shared load of 4 uninitialised bytes at address 0x[0-9a-f]+", "[lane_id()]"},
    {"rows_taken_for_aligned", "misaligned global load of 16 bytes at address 0x[0-9a-f]+",
     "reinterpret_cast<const float4*>(row)[k]"},
    {"output_taken_for_aligned", "misaligned global store of 16 bytes at address 0x[0-9a-f]+", "4*>("},
    {"output_vectors_taken_for_aligned", "misaligned global store of 16 bytes at address 0x[0-9a-f]+", "(v.z)"},
    {"merged_across_warps", "barrier not reached by all threads: 96 of the block's 128 threads wait here",
     "__syncthreads();"},
};

/// The line of the kernel's text that the message names first: "kernel v1, v1.cu:88, ...".
std::string line_named(const std::string& message, const std::string& id, const std::string& text) {
  const std::string before = "kernel " + id + ", " + id + ".cu:";
  if (!message.starts_with(before)) return "";
  std::istringstream lines(text);
  std::string line;
  for (int left = std::stoi(message.substr(before.size())); left > 0; --left) std::getline(lines, line);
  return line;
}

class MutatedKernels : public testing::TestWithParam<planted::Mutation> {};

TEST_P(MutatedKernels, AreRejectedForWhatIsMissing) {
  const planted::Mutation& mutation = GetParam();
  const jit::Sources sources = planted::mutated(mutation);
  const std::string got = reason("sm_75", softmax_dispatch::registry(), sources, mutation.config);
  if (mutation.effect == planted::Effect::passes) {
    EXPECT_EQ(got, "");
    return;
  }
  const auto* const finding = std::find_if(std::begin(kFindings), std::end(kFindings),
                                           [&](const Finding& one) { return mutation.name.ends_with(one.of); });
  if (finding == std::end(kFindings)) {
    EXPECT_THAT(got, ContainsRegex(std::string(mutation.words)));
    return;
  }
  EXPECT_THAT(got, ContainsRegex(std::string(finding->words) + ".*; block [0-9]+, thread [0-9]+$"));
  const std::string& id = mutation.config.variant;
  EXPECT_THAT(line_named(got, id, sources.text(id)), HasSubstr(std::string(finding->line))) << got;
}

INSTANTIATE_TEST_SUITE_P(Traps, MutatedKernels, testing::ValuesIn(mutations_without_clocks()),
                         [](const auto& mutation) { return mutation.param.name; });

}  // namespace
}  // namespace softmax_dispatch::sim
