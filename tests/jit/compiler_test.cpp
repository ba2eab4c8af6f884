#include "jit/compiler.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <set>
#include <string>

#include "support/expect_error.hpp"
#include "support/files.hpp"

namespace softmax_dispatch::jit {
namespace {

using softmax_dispatch::testing::error_of;
using ::testing::HasSubstr;

constexpr const char* kAdd =
    R"(extern "C" __global__ void add(float* x) { x[blockIdx.x * THREADS + threadIdx.x] += BIAS; })";

/// The newest NVRTC, which counts its compilations and may call itself another build.
class CountingNvrtc : public Nvrtc {
 public:
  explicit CountingNvrtc(std::string build = Nvrtc::open()->build()) : build_(std::move(build)) {}
  int major() const noexcept override { return nvrtc_->major(); }
  int minor() const noexcept override { return nvrtc_->minor(); }
  const std::string& build() const noexcept override { return build_; }
  const std::string& path() const noexcept override { return nvrtc_->path(); }
  const std::vector<int>& supported_archs() const noexcept override { return nvrtc_->supported_archs(); }
  NvrtcOutput compile(const std::string& name, std::string_view source, std::span<const Header> headers,
                      const std::string& arch, const std::vector<std::string>& options) const override {
    ++compiled;
    return nvrtc_->compile(name, source, headers, arch, options);
  }

  mutable std::atomic<int> compiled{0};

 private:
  std::shared_ptr<const Nvrtc> nvrtc_ = Nvrtc::open();
  std::string build_;
};

Sources sources_with(const std::string& id, const std::string& text) {
  Sources sources;
  sources.add(id, text);
  return sources;
}

class CompilerTest : public ::testing::Test {
 protected:
  Compiler compiler(const Sources& sources) const { return Compiler(nvrtc_, sources, cache_); }

  TemporaryDirectory folder_;
  std::shared_ptr<CountingNvrtc> nvrtc_ = std::make_shared<CountingNvrtc>();
  std::shared_ptr<Cache> cache_ = std::make_shared<Cache>(folder_.path() / "cache");
  Sources sources_ = sources_with("add", kAdd);
  Constants constants_{{"THREADS", 64}, {"BIAS", 3}};
};

TEST_F(CompilerTest, FindsACompiledKernelInTheCache) {
  const CompiledKernel first = compiler(sources_).compile("add", constants_, "sm_75");
  EXPECT_EQ(nvrtc_->compiled, 1);
  const CompiledKernel second = compiler(sources_).compile("add", constants_, "sm_75");
  EXPECT_EQ(nvrtc_->compiled, 1);
  EXPECT_EQ(second.entry, "add");
  EXPECT_TRUE(second.image == first.image);
  EXPECT_EQ(second.code_hash, first.code_hash);
  EXPECT_EQ(second.source_hash, first.source_hash);
  EXPECT_EQ(second.resources, first.resources);
  EXPECT_GT(first.resources.registers, 0);
  EXPECT_GT(first.compile_s.value_or(0), 0);
  EXPECT_EQ(second.compile_s, std::nullopt);
}

// What a simulated device runs belongs to the same code: the same hash and resources, from one compilation.
TEST_F(CompilerTest, GivesThePtxOfTheSameCompilation) {
  const CompiledKernel cubin = compiler(sources_).compile("add", constants_, "sm_75");
  const Compiler simulated(nvrtc_, sources_, cache_, Output::ptx);
  const CompiledKernel first = simulated.compile("add", constants_, "sm_75");
  EXPECT_EQ(nvrtc_->compiled, 2) << "the cubin in the cache is not PTX";
  EXPECT_THAT(first.image, HasSubstr(".visible .entry add("));
  EXPECT_EQ(first.image, simulated.compile_ptx("add", constants_, "sm_75"));
  EXPECT_EQ(nvrtc_->compiled, 3);
  const CompiledKernel second = simulated.compile("add", constants_, "sm_75");
  EXPECT_EQ(nvrtc_->compiled, 3);
  for (const CompiledKernel* one : {&first, &second}) {
    EXPECT_EQ(one->code_hash, cubin.code_hash);
    EXPECT_EQ(one->resources, cubin.resources);
    EXPECT_EQ(one->image, first.image);
  }
}

TEST_F(CompilerTest, LineInformationIsInPtxOnRequestOnly) {
  const Compiler plain = compiler(sources_);
  EXPECT_THAT(plain.compile_ptx("add", constants_, "sm_75", true), HasSubstr(".loc"));
  EXPECT_THAT(plain.compile_ptx("add", constants_, "sm_75"), ::testing::Not(HasSubstr(".loc")));
}

TEST_F(CompilerTest, CompilesWithoutACache) {
  const Compiler uncached(nvrtc_, sources_, nullptr);
  EXPECT_EQ(uncached.compile("add", constants_, "sm_75").code_hash,
            uncached.compile("add", constants_, "sm_75").code_hash);
  EXPECT_EQ(nvrtc_->compiled, 2);
}

TEST_F(CompilerTest, CompilesAgainWhateverMayChangeTheCode) {
  std::set<std::string> hashes;
  const auto compile = [&](const Compiler& with, const Constants& constants, const char* arch) {
    hashes.insert(with.compile("add", constants, arch).code_hash);
  };
  compile(compiler(sources_), constants_, "sm_75");
  compile(compiler(sources_), {{"THREADS", 64}, {"BIAS", 4}}, "sm_75");
  compile(compiler(sources_), constants_, "sm_80");
  const Sources other = sources_with("add", std::string("#define BIAS2 5\n") + kAdd + "\n//");
  compile(compiler(other), constants_, "sm_75");
  EXPECT_EQ(nvrtc_->compiled, 4);
  EXPECT_EQ(hashes.size(), 3U) << "another text, same code";

  const auto other_build = std::make_shared<CountingNvrtc>("13.0.1");
  compile(Compiler(other_build, sources_, cache_), constants_, "sm_75");
  EXPECT_EQ(other_build->compiled, 1);
}

TEST_F(CompilerTest, ATypeIsAMacro) {
  const Sources sources = sources_with("typed", R"(
struct f16 { static constexpr int kBits = 16; };
struct f32 { static constexpr int kBits = 32; };
extern "C" __global__ void typed(int* x) { x[threadIdx.x] = TYPE::kBits; })");
  const CompiledKernel wide = compiler(sources).compile("typed", {{}, DType::f32}, "sm_75");
  EXPECT_NE(compiler(sources).compile("typed", {{}, DType::f16}, "sm_75").code_hash, wide.code_hash);
  EXPECT_EQ(nvrtc_->compiled, 2) << "two entries of the cache";
  EXPECT_THAT(compiler(sources).compile_ptx("typed", {{}, DType::f16}, "sm_75"), HasSubstr("16;"));
  EXPECT_THAT(error_of(StatusCode::toolchain, [&] { compiler(sources).compile("typed", {}, "sm_75"); }),
              HasSubstr("TYPE"));
}

TEST_F(CompilerTest, CompilesAgainWhereTheCacheIsDamaged) {
  const CompiledKernel first = compiler(sources_).compile("add", constants_, "sm_75");
  for (const auto& file : std::filesystem::directory_iterator(cache_->directory())) {
    std::string text = read_file(file.path());
    text.resize(text.size() / 2);
    write_file_atomically(file.path(), text);
  }
  EXPECT_EQ(compiler(sources_).compile("add", constants_, "sm_75").code_hash, first.code_hash);
  EXPECT_EQ(nvrtc_->compiled, 2);
}

TEST_F(CompilerTest, WantsOneKernelNamedAsItsSource) {
  const auto message_of = [&](const char* text) {
    const Sources sources = sources_with("one", text);
    return error_of(StatusCode::toolchain, [&] { compiler(sources).compile("one", {}, "sm_75"); });
  };
  EXPECT_THAT(message_of("__device__ int f() { return 1; }"), HasSubstr("it has none"));
  EXPECT_THAT(message_of("extern \"C\" __global__ void two() {}"), HasSubstr("it has two"));
  EXPECT_THAT(message_of("__global__ void one() {}"), HasSubstr("_Z3onev"));
  EXPECT_THAT(message_of("extern \"C\" { __global__ void one() {} __global__ void two() {} }"), HasSubstr("one"));
  EXPECT_EQ(cache_->usage().entries, 0U);
}

TEST_F(CompilerTest, ReportsWhatAKernelTakes) {
  const Sources sources = sources_with("wide", R"(extern "C" __global__ void wide(float* x, int* at) {
  __shared__ float shared[100];
  float row[64];
  for (int i = 0; i < 64; ++i) row[i] = 0;
  for (int i = 0; i < 64; ++i) row[at[i] & 63] += x[i];
  shared[threadIdx.x] = row[threadIdx.x & 63];
  __syncthreads();
  x[threadIdx.x] = shared[threadIdx.x ^ 1];
})");
  const Resources resources = compiler(sources).compile("wide", {}, "sm_75").resources;
  EXPECT_GE(resources.stack_bytes, 256);
  EXPECT_EQ(resources.shared_bytes, 400);
  EXPECT_TRUE(resources.uses_local_memory());
  EXPECT_FALSE(compiler(sources_).compile("add", constants_, "sm_75").resources.uses_local_memory());
}

TEST_F(CompilerTest, GivesPtxOnRequest) {
  const std::string ptx = compiler(sources_).compile_ptx("add", constants_, "sm_75");
  EXPECT_THAT(ptx, HasSubstr(".target sm_75"));
  EXPECT_EQ(ptx, compiler(sources_).compile_ptx("add", constants_, "compute_75"));
  EXPECT_EQ(cache_->usage().entries, 0U);
}

TEST_F(CompilerTest, DoesNotKnowOtherSources) {
  EXPECT_THAT(error_of(StatusCode::internal, [&] { compiler(sources_).compile("v1", {}, "sm_75"); }),
              HasSubstr("'v1'"));
}

TEST(Sources, OfTheProductAreKernelsAndHeaders) {
  const Sources& product = Sources::product();
  EXPECT_THAT(product.ids(), ::testing::IsSupersetOf({"v1", "v7", "v9", "copy", "reduce_once"}));
  EXPECT_FALSE(product.has("bench/copy"));
  EXPECT_FALSE(product.headers().empty());
  for (const Header& header : product.headers()) {
    EXPECT_TRUE(header.name.starts_with("common/")) << header.name;
    EXPECT_FALSE(product.has(header.name));
  }
  for (const std::string& id : product.ids()) {
    EXPECT_THAT(product.text(id), HasSubstr("extern \"C\" __global__")) << id;
  }
}

TEST(Sources, HashesFollowTheTextAndTheHeaders) {
  Sources sources = Sources::product();
  sources.add("mine", kAdd);
  const std::string before = sources.hash("mine");
  EXPECT_NE(before, sources_with("mine", kAdd).hash("mine")) << "the headers must count";
  sources.add("other", "");
  EXPECT_EQ(sources.hash("mine"), before) << "other kernels must not count";
  sources.add("mine", std::string(kAdd) + " ");
  EXPECT_NE(sources.hash("mine"), before);
}

}  // namespace
}  // namespace softmax_dispatch::jit
