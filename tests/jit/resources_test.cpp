#include "jit/resources.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/expect_error.hpp"

namespace softmax_dispatch::jit {
namespace {

using softmax_dispatch::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The same kernel, with a dynamically indexed array and a function that was not inlined, by three toolkits.
constexpr const char* kLog_13_0 = R"(ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'k' for 'sm_75'
ptxas info    : Function properties for k
ptxas         .     480 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 64 registers, used 1 barriers, 480 bytes cumulative stack size, 400 bytes smem, 360 bytes cmem[0]
ptxas info    : Compile time = 15.640 ms
ptxas info    : Function properties for _Z1ff
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
)";
constexpr const char* kLog_12_4 = R"(ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'k' for 'sm_75'
ptxas info    : Function properties for k
ptxas         .     480 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 64 registers, 480 bytes cumulative stack size, 400 bytes smem, 360 bytes cmem[0]
ptxas info    : Function properties for _Z1ff
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
)";
constexpr const char* kLog_12_0 = R"(ptxas info    : 304 bytes gmem
ptxas info    : Compiling entry function 'k' for 'sm_75'
ptxas info    : Function properties for k
ptxas         .     480 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 64 registers, 400 bytes smem, 360 bytes cmem[0]
ptxas info    : Function properties for _Z1ff
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
)";

TEST(Resources, OfTheLogsOfThreeToolkits) {
  const Resources expected{.registers = 64, .stack_bytes = 480, .shared_bytes = 400};
  for (const char* log : {kLog_13_0, kLog_12_4, kLog_12_0}) {
    EXPECT_EQ(parse_resources(log), expected) << log;
    EXPECT_THAT(parse_entries(log), ElementsAre("k"));
  }
  EXPECT_TRUE(expected.uses_local_memory());
}

TEST(Resources, OfAKernelWithoutSharedMemory) {
  const Resources resources = parse_resources(
      "ptxas info    : Function properties for v8\n"
      "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 28 registers, used 0 barriers, 384 bytes cmem[0], 8 bytes cmem[2]\n");
  EXPECT_EQ(resources, (Resources{.registers = 28}));
  EXPECT_FALSE(resources.uses_local_memory());
}

TEST(Resources, OfAKernelThatSpills) {
  const Resources resources = parse_resources(
      "    72 bytes stack frame, 104 bytes spill stores, 96 bytes spill loads\n"
      "ptxas info    : Used 255 registers, used 1 barriers, 72 bytes cumulative stack size, 400 bytes cmem[0]\n");
  EXPECT_EQ(resources, (Resources{255, 72, 104, 96, 0}));
  EXPECT_TRUE(resources.uses_local_memory());
}

TEST(Resources, AreFoundInOtherWordings) {
  EXPECT_EQ(parse_resources("Used 32 registers, 2048 bytes shared memory, 16 bytes stack"),
            (Resources{.registers = 32, .stack_bytes = 16, .shared_bytes = 2048}));
  // A caller's stack alone may be missing from its own frame.
  EXPECT_EQ(parse_resources("0 bytes stack frame\nUsed 40 registers, 24 bytes cumulative stack size").stack_bytes, 24);
  // A function that was not inlined has its own lines, before or after.
  EXPECT_EQ(parse_resources("8 bytes spill stores, 4 bytes spill loads\n0 bytes spill stores, 0 bytes spill loads\n"
                            "Used 20 registers"),
            (Resources{.registers = 20, .spill_store_bytes = 8, .spill_load_bytes = 4}));
}

TEST(Resources, RefuseALogWithoutRegisters) {
  for (const char* log : {"", "ptxas info    : 0 bytes gmem", "Used many registers"}) {
    EXPECT_THAT(error_of(StatusCode::toolchain, [&] { parse_resources(log); }), HasSubstr("registers"));
  }
}

TEST(Entries, AreAllFound) {
  EXPECT_THAT(parse_entries("Compiling entry function 'a' for 'sm_90'\nCompiling entry function '_Z1bv' for 'sm_90'\n"),
              ElementsAre("a", "_Z1bv"));
  EXPECT_THAT(parse_entries("ptxas info    : 0 bytes gmem"), IsEmpty());
}

}  // namespace
}  // namespace softmax_dispatch::jit
