// What the PTX front end takes, and what it says of the rest.
#include <fmt/core.h>
#include <gmock/gmock.h>

#include <random>

#include "sim/ptx_runner.hpp"
#include "sim/sim_fixture.hpp"
#include "support/expect_error.hpp"

namespace softmax_dispatch::sim {
namespace {

using ::testing::AllOf;
using testing::error_of;
using ::testing::HasSubstr;

std::shared_ptr<const Program> decoded(const std::string& text) {
  return PtxRunner().decode(text);
}

std::string unsupported(const std::string& body, const std::string& declarations = {}) {
  return error_of(StatusCode::unsupported, [&] { decoded(ptx_kernel(body, declarations)); });
}

TEST(Parser, ReadsAModule) {
  const ptx::Module module = ptx::parse(R"(// made by hand
.version 8.4
.target sm_75, debug
.address_size 64
/* a comment
   of lines */
.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);
.visible .global .align 16 .b8 message[6] = {104, 0x65, 0154, 0b1101100, 111};
.func (.param .b64 r) helper(.param .b64 a) { .reg .b32 %r<2>; { ret; } }
.visible .entry first(.param .u64 first_param_0, .param .align 16 .b8 first_param_1[20])
.maxntid 8, 4, 2
.minnctapersm 3
{
  .reg .b32 %r<10>;
  .loc 1 12 3
  mov.u32 %r1, 5;
  .loc 2 7 9, function_name $L__info_string0, inlined_at 1 13 3
  .pragma "nounroll";
  add.u32 %r1, %r1, -1;
  ret;
}
.entry second() { ret; }
.file 1 "/somewhere/kernel.cu"
.file 2 "common/inlined.cuh", 1234, 99
.section .debug_str { $L__info_string0: .b8 95,90,0 }
)");
  EXPECT_EQ(module.target, "sm_75");
  ASSERT_EQ(module.entries.size(), 2u);
  const ptx::Entry& first = module.entries[0];
  EXPECT_EQ(first.name, "first");
  EXPECT_EQ(first.max_threads, 64u);
  ASSERT_EQ(first.params.size(), 2u);
  EXPECT_EQ(first.params[1].bytes, 20u);
  EXPECT_EQ(first.params[1].align, 16u);
  ASSERT_EQ(first.code.size(), 3u);
  EXPECT_EQ(module.describe(first.code[0].line, first.code[0].source), "kernel.cu:12");
  EXPECT_EQ(module.describe(first.code[1].line, first.code[1].source), "inlined.cuh:7, inlined at kernel.cu:13");
  ASSERT_EQ(module.variables.size(), 1u);
  EXPECT_THAT(module.variables[0].values, ::testing::ElementsAre(104, 101, 108, 108, 111));
  EXPECT_EQ(module.entries[1].code.size(), 1u);
}

TEST(Parser, WithoutLineInformationTheLineIsThatOfThePtx) {
  const std::string text = ptx_kernel("  st.global.u32 [%mine], %t;\n  frobnicate.b32 %r1, %r2;");
  const auto line =
      1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(text.find("frobnicate")), '\n');
  EXPECT_EQ(
      unsupported("  st.global.u32 [%mine], %t;\n  frobnicate.b32 %r1, %r2;"),
      fmt::format("the simulator does not support this instruction: 'frobnicate.b32' at PTX line {} of kernel kernel",
                  line));
}

TEST(Parser, WithLineInformationTheLineIsThatOfTheSource) {
  EXPECT_EQ(unsupported("  .loc 1 12 3\n  frobnicate.b32 %r1, %r2;", ".file 1 \"/somewhere/kernel.cu\"\n"),
            "the simulator does not support this instruction: 'frobnicate.b32' at kernel.cu:12 of kernel kernel");
}

TEST(Parser, WhatIsNotSupportedIsNamed) {
  EXPECT_THAT(unsupported("add.u32.wonderful %r1, %r2, %r3;"),
              AllOf(HasSubstr("modifier .wonderful"), HasSubstr("add.u32.wonderful")));
  EXPECT_THAT(unsupported("tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1];"), HasSubstr("tex.2d"));
  EXPECT_THAT(unsupported("call.uni (%r1), helper, (%r2);"), AllOf(HasSubstr("calls"), HasSubstr("call.uni")));
  EXPECT_THAT(unsupported("mul.u32 %r1, %r2, %r3;"), HasSubstr("needs .lo, .hi or .wide"));
  EXPECT_THAT(unsupported("add.u32 %r1, %r2, %rd3;"),
              HasSubstr("expects a register of 32 bits where %rd3 of 64 bits stands"));
  EXPECT_THAT(unsupported("add.f32 %f1, %f2;"), HasSubstr("expects operands of other widths"));
  EXPECT_THAT(unsupported("add.s32 %r1, %r2, %r3, %r4, %r5;"), HasSubstr("expects 2 to 4 operands, not 5"));
  EXPECT_THAT(unsupported("mov.u32 %r1, %nosuchregister;"), HasSubstr("%nosuchregister"));
  EXPECT_THAT(unsupported("mov.u32 5, %r1;"), HasSubstr("cannot write"));
  EXPECT_THAT(unsupported("bra NOWHERE;"), HasSubstr("'NOWHERE' is no register, variable or label of kernel kernel"));
  EXPECT_THAT(unsupported("@%r1 bra X; X:"), HasSubstr("a guard that is no predicate"));
  EXPECT_THAT(unsupported("selp.u32 %r1, %r2, %r3, %r4;"), HasSubstr("expects a register of 1 bits"));
  EXPECT_THAT(unsupported("st.const.u32 [%rd1], %r1;"), HasSubstr("cannot store there"));
  EXPECT_THAT(unsupported("ld.param.u64 %rd1, [out+4];"), HasSubstr("cannot read past the 8 bytes of parameter out"));
  EXPECT_THAT(unsupported("ld.global.v4.f64 {%fd1, %fd2, %fd3, %fd4}, [%rd1];"), HasSubstr("at most 16 bytes"));
  EXPECT_THAT(unsupported("ld.global.v2.f32 {%f1, %f2, %f3}, [%rd1];"), HasSubstr("expects 2 elements"));
  EXPECT_THAT(unsupported("atom.global.add.b32 %r1, [%rd1], %r2;"), HasSubstr("this atomic operation on this type"));
  EXPECT_THAT(unsupported("shfl.down.b32 %r1, %r2, 1, 31;"), HasSubstr("without .sync"));
  EXPECT_THAT(unsupported("lop3.b32 %r1, %r2, %r3, %r4, 256;"), HasSubstr("a table of 8 bits"));
}

TEST(Parser, WhatIsNotPtxIsNamedWithItsLine) {
  const auto of = [](const std::string& text) { return error_of(StatusCode::unsupported, [&] { ptx::parse(text); }); };
  EXPECT_THAT(of(""), HasSubstr("names its .target"));
  EXPECT_THAT(of(".version 7.5\n.target sm_75\n.entry k( {"), HasSubstr("PTX line 3: expected .param"));
  EXPECT_THAT(of(".target sm_75\n.entry k() {\n"), HasSubstr("the code of kernel k does not end"));
  EXPECT_THAT(of(".target sm_75\n\n.wonder\n"), HasSubstr("PTX line 3: the directive '.wonder' is not supported"));
  EXPECT_THAT(of(".target sm_75\n.entry k() { mov.u32 \\; }"), HasSubstr("the character 0x5c is not part of PTX"));
  EXPECT_THAT(of(".target sm_75\n.address_size 32"), HasSubstr("only 64-bit addresses"));
  EXPECT_THAT(of(".target sm_75\n.file 1 \"abc\n"), HasSubstr("PTX line 2: a text does not end"));
  EXPECT_THAT(of(".target sm_75\n.global .u32 a[3] = {1, 2, 3, 4};"), HasSubstr("more initial values"));
  EXPECT_THAT(of(".target sm_75\n.global .u32 a[99999][99999][99999];"), HasSubstr("more bytes than any device has"));
  EXPECT_THAT(of(".target sm_75\n.entry k() { .reg .u32 a, a; }"), HasSubstr("declared twice"));
  EXPECT_THAT(of(".target sm_75\n.entry k() { X: X: ret; }"), HasSubstr("a label stands twice"));
  EXPECT_THAT(of(".target sm_75\n.global .u32 a = 0x1FFFFFFFFFFFFFFFF;"), HasSubstr("not a number that fits 64 bits"));
}

TEST(Parser, DepthAndSizeAreLimited) {
  const auto of = [](const std::string& text) { return error_of(StatusCode::unsupported, [&] { ptx::parse(text); }); };
  EXPECT_THAT(of(".target sm_75\n.entry k() {" + std::string(100000, '{')), HasSubstr("nested too deeply"));
  EXPECT_THAT(of(".target sm_75\n.global .u32 a = " + std::string(100000, '{')), HasSubstr("PTX line 2"));
  // A register of which there are billions costs nothing until it is used.
  decoded(
      ptx_kernel(".reg .b32 %many<4000000000>; mov.u32 %many3999999999, %t; st.global.u32 [%mine], %many3999999999;"));
  EXPECT_THAT(unsupported(".shared .b8 a[200000000]; mov.u32 %r1, a;"),
              HasSubstr("more shared memory than any device has"));
  EXPECT_THAT(unsupported(".local .b8 a[200000000]; mov.u64 %rd1, a;"), HasSubstr("bytes of local memory"));
}

/// The texts of some kernels, with and without line information.
std::vector<std::string> kernels() {
  return {product_ptx("v7", Constants{{"THREADS", 64}, {"VEC_ITEMS", 1}}),
          product_ptx("v1", Constants{{"THREADS", 64}}),
          line_info_ptx(
              "extern \"C\" __global__ void k(float* x) { __shared__ float s[32]; s[threadIdx.x] = x[threadIdx.x];"
              " __syncwarp(); x[threadIdx.x] = __shfl_xor_sync(~0u, s[31 - threadIdx.x], 1); }")};
}

// A text with anything in it is read, or refused with an Error: nothing else happens.
TEST(Parser, SurvivesDamagedTexts) {
  std::mt19937 random(12345);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random()) % n; };
  const std::string pieces[] = {"{",   "}",  ";", ",",   "%r1",        "%rd1", ".reg",       "@",    "!",       "|",
                                "[",   "]",  "-", "0x",  "9999999999", ".v4",  ".f64",       ".b16", ".shared", "bra",
                                "ret", "\n", "_", "%p1", ".entry",     "\"",   "0f3F800000", ".pred"};
  int refused = 0, accepted = 0;
  for (const std::string& text : kernels()) {
    for (int round = 0; round < 300; ++round) {
      std::string damaged = text;
      for (std::size_t edits = 1 + below(4); edits > 0; --edits) {
        const std::size_t at = below(damaged.size());
        switch (below(5)) {
          case 0:
            damaged[at] = static_cast<char>(random());
            break;
          case 1:
            damaged.erase(at, below(40));
            break;
          case 2:
            damaged.insert(at, pieces[below(std::size(pieces))]);
            break;
          case 3:
            damaged.insert(at, damaged.substr(below(damaged.size()), below(200)));
            break;
          default:
            damaged.resize(at);
            break;
        }
        if (damaged.empty()) damaged = " ";
      }
      try {
        const auto module = std::make_shared<const ptx::Module>(ptx::parse(damaged));
        for (const ptx::Entry& entry : module->entries)
          decode(module, std::string(entry.name), [](const ptx::Variable&) { return std::uint64_t{1} << 60; });
        ++accepted;
      } catch (const Error& error) {
        EXPECT_THAT(error.code(), ::testing::AnyOf(StatusCode::unsupported, StatusCode::device)) << error.what();
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 100);
  EXPECT_GT(accepted, 10);
}

}  // namespace
}  // namespace softmax_dispatch::sim
