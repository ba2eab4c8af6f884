// Loads, stores and atomics in every state space.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "sim/ptx_runner.hpp"

namespace softmax_dispatch::sim {
namespace {

/// A kernel with two pointers, in (%in) and out (%out), run by 32 threads; `stride` bytes of output for each at %mine.
std::vector<std::uint8_t> run_bytes(const std::string& body, const std::vector<std::uint8_t>& in,
                                    std::uint32_t stride) {
  PtxRunner runner;
  const DevicePtr from = runner.upload(in), to = runner.upload(std::vector<std::uint8_t>(32 * stride, 0xee));
  runner.run(fmt::format(".version 7.5\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 "
                         "out)\n{{\n.reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<16>; .reg .f32 %f<16>; .reg .b64 "
                         "%rd<16>;\n.reg .b64 %in, %mine; .reg .b32 %t;\nld.param.u64 %in, [in];\nld.param.u64 %mine, "
                         "[out];\nmov.u32 %t, %tid.x;\nmad.wide.u32 %mine, %t, {}, %mine;\n{}\nret;\n}}\n",
                         stride, body),
             1, 32, {from, to});
  return runner.download<std::uint8_t>(to, 32 * stride);
}

std::vector<std::uint8_t> pattern(std::size_t count) {
  std::vector<std::uint8_t> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::uint8_t>(i * 37 + 11);
  return bytes;
}

TEST(Memory, EveryWidthAndVectorInGlobalMemory) {
  struct Case {
    const char* load;
    const char* store;
    const char* registers;
    unsigned bytes;
  };
  const Case cases[] = {
      {"ld.global.u8", "st.global.u8", "%r1", 1},
      {"ld.global.u16", "st.global.u16", "%h1", 2},
      {"ld.global.b32", "st.global.b32", "%r1", 4},
      {"ld.global.f32", "st.global.f32", "%f1", 4},
      {"ld.global.u64", "st.global.u64", "%rd1", 8},
      {"ld.global.v2.u8", "st.global.v2.u8", "{%r1, %r2}", 2},
      {"ld.global.v4.u8", "st.global.v4.u8", "{%r1, %r2, %r3, %r4}", 4},
      {"ld.global.v2.u16", "st.global.v2.u16", "{%h1, %h2}", 4},
      {"ld.global.v4.b16", "st.global.v4.b16", "{%h1, %h2, %h3, %h4}", 8},
      {"ld.global.v2.f32", "st.global.v2.f32", "{%f1, %f2}", 8},
      {"ld.global.v4.f32", "st.global.v4.f32", "{%f1, %f2, %f3, %f4}", 16},
      {"ld.global.v2.u64", "st.global.v2.u64", "{%rd1, %rd2}", 16},
      {"ld.global.nc.v4.u32", "st.global.cs.v4.u32", "{%r1, %r2, %r3, %r4}", 16},
      {"ld.global.ca.u32", "st.global.wb.u32", "%r1", 4},
      {"ld.global.cg.u32", "st.global.cg.u32", "%r1", 4},
      {"ld.global.cs.u32", "st.global.wt.u32", "%r1", 4},
      {"ld.global.lu.u32", "st.global.L1::no_allocate.u32", "%r1", 4},
      {"ld.global.cv.u32", "st.volatile.global.u32", "%r1", 4},
      {"ld.global.L1::evict_last.L2::128B.u32", "st.relaxed.gpu.global.u32", "%r1", 4},
      {"ld.volatile.global.u64", "st.release.sys.global.u64", "%rd1", 8},
      {"ld.relaxed.gpu.global.u32", "st.weak.global.u32", "%r1", 4},
      {"ld.acquire.cta.global.v2.u32", "st.global.v2.u32", "{%r1, %r2}", 8},
      {"ld.u32", "st.u32", "%r1", 4},
      {"ld.v4.f32", "st.v4.f32", "{%f1, %f2, %f3, %f4}", 16},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.load);
    const auto in = pattern(32 * one.bytes);
    // In a row, and reversed: the two ways that the simulator takes.
    for (const bool reversed : {false, true}) {
      const auto out = run_bytes(fmt::format("{}mad.wide.u32 %rd9, %r9, {}, %in;\n{} {}, [%rd9];\n{} [%mine], {};",
                                             reversed ? "xor.b32 %r9, %t, 31;\n" : "mov.u32 %r9, %t;\n", one.bytes,
                                             one.load, one.registers, one.store, one.registers),
                                 in, one.bytes);
      for (std::size_t i = 0; i < out.size(); ++i) {
        const std::size_t thread = i / one.bytes;
        EXPECT_EQ(out[i], in[(reversed ? 31 - thread : thread) * one.bytes + i % one.bytes]) << i;
      }
    }
  }
}

TEST(Memory, SectorsAndBytes) {
  const auto counts = [](const std::string& address, const std::string& load) {
    PtxRunner runner;
    const DevicePtr out = runner.upload(std::vector<std::uint8_t>(1 << 16));
    return runner.run(ptx_kernel(address + load), 1, 32, {out});
  };
  const std::string word = "ld.global.u32 %r1, [%rd1];", vector = "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];";
  EXPECT_EQ(counts("mad.wide.u32 %rd1, %t, 4, %out;", word).sectors_load, 4u);
  EXPECT_EQ(counts("mad.wide.u32 %rd1, %t, 4, %out; add.u64 %rd1, %rd1, 4;", word).sectors_load, 5u);
  EXPECT_EQ(counts("mad.wide.u32 %rd1, %t, 16, %out;", vector).sectors_load, 16u);
  EXPECT_EQ(counts("mad.wide.u32 %rd1, %t, 128, %out;", word).sectors_load, 32u);
  EXPECT_EQ(counts("mov.u64 %rd1, %out;", word).sectors_load, 1u);
  EXPECT_EQ(counts("xor.b32 %r9, %t, 21; mad.wide.u32 %rd1, %r9, 4, %out;", word).sectors_load, 4u);
  EXPECT_EQ(counts("mad.wide.u32 %rd1, %t, 16, %out;", vector).bytes_load, 512u);
  const LaunchCounts stored = counts("mad.wide.u32 %rd1, %t, 8, %out;", "st.global.u32 [%rd1], %t;");
  EXPECT_EQ(stored.sectors_store, 8u);
  EXPECT_EQ(stored.bytes_store, 128u);
  EXPECT_EQ(stored.sectors_load, 0u);
}

TEST(Memory, NarrowLoadsExtend) {
  const auto in = pattern(32);
  const auto signed_bytes =
      run_bytes("cvt.u64.u32 %rd2, %t; add.u64 %rd1, %in, %rd2; ld.global.s8 %r1, [%rd1]; st.u32 [%mine], %r1;", in, 4);
  const auto unsigned_bytes = run_bytes(
      "cvt.u64.u32 %rd2, %t; add.u64 %rd1, %in, %rd2; ld.global.u8 %rd3, [%rd1]; st.u64 [%mine], %rd3;", in, 8);
  for (std::size_t t = 0; t < 32; ++t) {
    std::int32_t narrow;
    std::uint64_t wide;
    std::memcpy(&narrow, signed_bytes.data() + 4 * t, 4);
    std::memcpy(&wide, unsigned_bytes.data() + 8 * t, 8);
    EXPECT_EQ(narrow, static_cast<std::int8_t>(in[t]));
    EXPECT_EQ(wide, in[t]);
  }
}

TEST(Memory, ParametersOfEveryWidth) {
  PtxRunner runner;
  const DevicePtr out = runner.upload(std::vector<std::uint64_t>(4));
  runner.run(R"(.version 7.5
.target sm_75
.address_size 64
.visible .entry k(.param .u64 .ptr .global .align 16 out, .param .u8 a, .param .s16 b, .param .f32 c, .param .align 8 .b8 d[16])
{
  .reg .b64 %rd<8>; .reg .b32 %r<8>;
  ld.param.u64 %rd1, [out];
  ld.param.u8 %r1, [a];
  ld.param.s16 %rd2, [b];
  ld.param.b32 %r3, [c];
  ld.param.v2.u64 {%rd4, %rd5}, [d];
  add.u64 %rd4, %rd4, %rd5;
  st.global.u32 [%rd1], %r1;
  st.global.u64 [%rd1+8], %rd2;
  st.global.u32 [%rd1+16], %r3;
  st.global.u64 [%rd1+24], %rd4;
})",
             1, 1, {out, 0x3f800000fffe0081, 40, 2});
  const auto words = runner.download<std::uint64_t>(out, 4);
  EXPECT_EQ(words[0] & 0xffffffff, 0x81u);
  EXPECT_EQ(words[1], 0xfffffffffffffffe);
  EXPECT_EQ(words[2] & 0xffffffff, 0x3f800000u);
  EXPECT_EQ(words[3], 42u);
}

TEST(Memory, VariablesOfTheModule) {
  const std::string declarations = R"(
.global .align 4 .u32 counter = 5;
.global .align 4 .f32 reals[3] = {1.5, 0f40200000, -2.0};
.const .align 8 .u64 table[2][2] = {{1, 2}, {0xfffffffffffffffe, 4}};
.global .align 1 .b8 text[8] = {104, 105};
)";
  const std::string body = R"(
  mov.u64 %rd1, table;
  ld.const.u64 %rd2, [%rd1+16];
  cvt.u32.u64 %r1, %rd2;
  ld.global.f32 %f1, [reals+4];
  cvt.rzi.s32.f32 %r2, %f1;
  ld.global.u8 %r3, [text+1];
  ld.global.u8 %r4, [text+7];
  red.global.add.u32 [counter], 1;
  membar.gl;
  bar.sync 0;
  ld.volatile.global.u32 %r5, [counter];
  add.u32 %r1, %r1, %r2;
  add.u32 %r1, %r1, %r3;
  add.u32 %r1, %r1, %r4;
  add.u32 %r1, %r1, %r5;
  st.global.u32 [%mine], %r1;)";
  EXPECT_EQ(words_of(body, 32, 1, declarations), std::vector<std::uint32_t>(32, 0xfffffffe + 2 + 105 + 0 + 37));
  // They keep their values from launch to launch of one load.
  PtxRunner runner;
  const auto program = runner.decode(ptx_kernel(body, declarations));
  const DevicePtr out = runner.upload(std::vector<std::uint32_t>(32));
  runner.run(program, 1, 32, {out});
  runner.run(program, 1, 32, {out});
  EXPECT_EQ(runner.download<std::uint32_t>(out, 1).at(0), 0xfffffffe + 2 + 105 + 0 + 69);
}

TEST(Memory, GenericAddressesOfEverySpace) {
  EXPECT_EQ(words_of(R"(
  .shared .align 4 .b8 box[128];
  .local .align 4 .b8 own[8];
  mov.u64 %rd1, box;
  cvta.shared.u64 %rd1, %rd1;
  mad.wide.u32 %rd2, %t, 4, %rd1;
  st.u32 [%rd2], %t;
  mov.u64 %rd3, own;
  cvta.local.u64 %rd4, %rd3;
  mul.lo.u32 %r1, %t, 3;
  st.u32 [%rd4+4], %r1;
  isspacep.shared %p1, %rd2;
  isspacep.local %p2, %rd4;
  isspacep.global %p3, %out;
  and.pred %p4, %p1, %p2;
  and.pred %p4, %p4, %p3;
  isspacep.global %p1, %rd2;
  @%p1 trap;
  ld.u32 %r2, [%rd2];
  ld.local.u32 %r3, [own+4];
  cvta.to.shared.u64 %rd5, %rd2;
  ld.shared.u32 %r4, [%rd5];
  add.u32 %r2, %r2, %r3;
  add.u32 %r2, %r2, %r4;
  and.b32 %r6, %t, 1;
  setp.eq.u32 %p6, %r6, 0;
  selp.b64 %rd6, %rd2, %rd4, %p6;
  @%p6 bra SAME;
  add.u64 %rd6, %rd6, 4;
SAME:
  ld.u32 %r5, [%rd6];
  add.u32 %r2, %r2, %r5;
  selp.u32 %r2, %r2, 0, %p4;
  st.global.u32 [%mine], %r2;)"),
            [] {
              std::vector<std::uint32_t> expected;
              for (std::uint32_t t = 0; t < 32; ++t) expected.push_back(5 * t + (t % 2 ? 3 * t : t));
              return expected;
            }());
}

TEST(Memory, DynamicSharedMemory) {
  PtxRunner runner;
  runner.dynamic_shared_bytes = 256;
  const DevicePtr out = runner.upload(std::vector<std::uint32_t>(64));
  runner.run(ptx_kernel(R"(
  mov.u32 %r1, dynamic;
  mad.lo.u32 %r2, %t, 4, %r1;
  st.shared.u32 [%r2], %t;
  bar.sync 0;
  xor.b32 %r3, %t, 63;
  mad.lo.u32 %r2, %r3, 4, %r1;
  ld.shared.u32 %r4, [%r2];
  mov.u32 %r5, %dynamic_smem_size;
  add.u32 %r4, %r4, %r5;
  st.global.u32 [%mine], %r4;)",
                        ".extern .shared .align 16 .b8 dynamic[];"),
             1, 64, {out});
  const auto words = runner.download<std::uint32_t>(out, 64);
  for (std::uint32_t t = 0; t < 64; ++t) EXPECT_EQ(words[t], (t ^ 63) + 256);
}

/// What 32 lanes, one after the other, saw in one cell of memory, and what it held at the end. %x is the lane's number
/// as a float, %y as 64 bits.
template <typename T>
std::vector<T> atomic(const std::string& space, const std::string& operation, const std::string& operands, T start) {
  PtxRunner runner;
  const DevicePtr out = runner.upload(std::vector<std::uint64_t>(33));
  const std::string reg = sizeof(T) == 8 ? "%rd1" : "%r1", bits = sizeof(T) == 8 ? "b64" : "b32";
  runner.run(ptx_kernel(fmt::format(
                            R"(
  .shared .align 8 .b8 shared_cell[8];
  .reg .f32 %x; .reg .b64 %y, %at;
  cvt.rn.f32.u32 %x, %t;
  cvt.u64.u32 %y, %t;
  mad.wide.u32 %at, %t, 8, %out;
  setp.ne.u32 %p1, %t, 0;
  @%p1 bra START;
  mov.{0} {1}, {2};
  st.{3}.{0} [{3}_cell], {1};
START:
  bar.sync 0;
  atom.{3}.{4} {1}, [{3}_cell], {5};
  st.global.{0} [%at], {1};
  bar.sync 0;
  @%p1 exit;
  ld.{3}.{0} {1}, [{3}_cell];
  st.global.{0} [%out+256], {1};)",
                            bits, reg,
                            __builtin_bit_cast(std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>, start),
                            space, operation, operands),
                        ".global .align 8 .b8 global_cell[8];"),
             1, 32, {out});
  std::vector<T> values;
  for (const std::uint64_t word : runner.download<std::uint64_t>(out, 33)) {
    T value;
    std::memcpy(&value, &word, sizeof value);
    values.push_back(value);
  }
  return values;
}

template <typename T, typename F>
void expect_atomic(const std::string& operation, const std::string& operands, T start, F step) {
  for (const char* space : {"shared", "global"}) {
    SCOPED_TRACE(std::string(space) + " " + operation);
    std::vector<T> expected{start};
    for (std::uint32_t t = 0; t < 32; ++t) expected.push_back(step(expected.back(), t));
    EXPECT_EQ(atomic<T>(space, operation, operands, start), expected);
  }
}

TEST(Memory, Atomics) {
  using U = std::uint32_t;
  using S = std::int32_t;
  expect_atomic<U>("add.u32", "%t", 10, [](U old, U t) { return old + t; });
  expect_atomic<S>("add.s32", "-3", 10, [](S old, U) { return old - 3; });
  expect_atomic<U>("min.u32", "%t", 20, [](U old, U t) { return std::min(old, t); });
  expect_atomic<S>("max.s32", "%t", -5, [](S old, U t) { return std::max(old, static_cast<S>(t)); });
  expect_atomic<S>("min.s32", "%t", -5, [](S old, U t) { return std::min(old, static_cast<S>(t)); });
  expect_atomic<U>("max.u32", "%t", 0xfffffffb, [](U old, U t) { return std::max(old, t); });
  expect_atomic<U>("inc.u32", "5", 3, [](U old, U) { return old >= 5 ? 0 : old + 1; });
  expect_atomic<U>("dec.u32", "5", 2, [](U old, U) { return old == 0 || old > 5 ? 5 : old - 1; });
  expect_atomic<U>("exch.b32", "%t", 99, [](U, U t) { return t; });
  expect_atomic<U>("cas.b32", "7, %t", 7, [](U old, U t) { return old == 7 ? t : old; });
  expect_atomic<U>("and.b32", "%t", 0xffffffff, [](U old, U t) { return old & t; });
  expect_atomic<U>("or.b32", "%t", 0x100, [](U old, U t) { return old | t; });
  expect_atomic<U>("xor.b32", "%t", 0x100, [](U old, U t) { return old ^ t; });
  expect_atomic<float>("add.f32", "%x", 0.1f, [](float old, U t) { return old + static_cast<float>(t); });
  using L = std::uint64_t;
  expect_atomic<L>("add.u64", "%y", 0xffffffff, [](L old, U t) { return old + t; });
  expect_atomic<L>("exch.b64", "%y", 1, [](L, U t) { return L{t}; });
  expect_atomic<L>("cas.b64", "0, %y", 0, [](L old, U t) { return old == 0 ? L{t} : old; });
  expect_atomic<L>("relaxed.cta.max.u64", "%y", 4, [](L old, U t) { return std::max(old, L{t}); });
}

TEST(Memory, AtomicsOfManyBlocksOnManyHostThreads) {
  PtxRunner runner;
  runner.options.host_threads = 4;
  runner.options.resident_blocks = 64;
  const DevicePtr out = runner.upload(std::vector<std::uint32_t>(2));
  runner.run(ptx_kernel(R"(
  mov.u32 %r1, 0;
LOOP:
  red.global.add.u32 [%out], 1;
  atom.global.add.f32 %f1, [%out+4], 0f3F800000;
  add.u32 %r1, %r1, 1;
  setp.lt.u32 %p1, %r1, 50;
  @%p1 bra LOOP;)"),
             100, 64, {out});
  EXPECT_EQ(runner.download<std::uint32_t>(out, 1).at(0), 100u * 64 * 50);
  EXPECT_EQ(runner.download<float>(out, 2).at(1), 100.0f * 64 * 50);
}

}  // namespace
}  // namespace softmax_dispatch::sim
