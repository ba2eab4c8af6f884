#include "jit/nvrtc.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "jit/compiler.hpp"
#include "jit/test_nvrtc.hpp"
#include "support/decimal_comma.hpp"
#include "support/expect_error.hpp"
#include "support/files.hpp"

namespace softmax_dispatch::jit {
namespace {

using softmax_dispatch::testing::error_of;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

constexpr const char* kKernel = R"(#include "common/factor.cuh"
extern "C" __global__ void scale(float* x) { x[threadIdx.x] = x[threadIdx.x] * FACTOR + 2.5e-3f; }
)";
constexpr Header kFactor{"common/factor.cuh", "#define FACTOR 0.1f\n"};

class InFolder {
 public:
  explicit InFolder(const std::filesystem::path& folder) : before_(std::filesystem::current_path()) {
    std::filesystem::current_path(folder);
  }
  ~InFolder() { std::filesystem::current_path(before_); }

 private:
  std::filesystem::path before_;
};

class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) before_ = old;
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() { before_.empty() ? ::unsetenv(name_) : ::setenv(name_, before_.c_str(), 1); }

 private:
  const char* name_;
  std::string before_;
};

class EachNvrtc : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    nvrtc_ = test_nvrtc(GetParam());
    if (!nvrtc_) GTEST_SKIP() << missing_nvrtc(GetParam());
  }
  std::string compile(const std::string& arch) const {
    return nvrtc_->compile("scale", kKernel, std::array{kFactor}, arch, Compiler::flags()).image;
  }

  std::shared_ptr<const Nvrtc> nvrtc_;
};

INSTANTIATE_TEST_SUITE_P(Toolkits, EachNvrtc, ::testing::Values("default", "12.4"),
                         [](const auto& p) { return std::string(p.param) == "default" ? "newest" : "nvrtc_12_4"; });

TEST_P(EachNvrtc, KnowsItsBuild) {
  const std::string release = fmt::format("{}.{}", nvrtc_->major(), nvrtc_->minor());
  EXPECT_THAT(nvrtc_->build(), MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
  EXPECT_THAT(nvrtc_->build(), StartsWith(release + "."));
  if (std::string(GetParam()) == "12.4") {
    EXPECT_EQ(nvrtc_->build(), "12.4.127");
  }
  EXPECT_TRUE(std::filesystem::exists(nvrtc_->path())) << nvrtc_->path();
  EXPECT_TRUE(std::is_sorted(nvrtc_->supported_archs().begin(), nvrtc_->supported_archs().end()));
  EXPECT_THAT(nvrtc_->supported_archs(), ::testing::IsSupersetOf({75, 80, 86, 89, 90}));
}

TEST_P(EachNvrtc, MakesACubinForARealArchitecture) {
  EXPECT_THAT(compile("sm_75"), StartsWith("\x7f"
                                           "ELF"));
  EXPECT_NE(compile("sm_75"), compile("sm_90"));
}

TEST_P(EachNvrtc, MakesPtxForAVirtualArchitecture) {
  const std::string ptx = compile("compute_75");
  EXPECT_THAT(ptx, HasSubstr(".target sm_75"));
  EXPECT_THAT(ptx, HasSubstr(".entry scale("));
  EXPECT_EQ(ptx.find('\0'), std::string::npos);
}

TEST_P(EachNvrtc, NamesTheArchitecturesThatItKnows) {
  for (const std::string arch : {"sm_12", "compute_12", "sm_", "75", "sm_75x", "", "SM_75", "sm_-75"}) {
    const std::string message = error_of(StatusCode::toolchain, [&] { compile(arch); });
    EXPECT_THAT(message, HasSubstr("'" + arch + "'"));
    EXPECT_THAT(message, HasSubstr("sm_75, sm_80"));
  }
}

TEST_P(EachNvrtc, GivesTheLogOfAKernelThatDoesNotCompile) {
  const std::string message = error_of(StatusCode::toolchain, [&] {
    nvrtc_->compile("broken", "extern \"C\" __global__ void broken(float* x) {\n  x[0] = undeclared;\n}", {}, "sm_75",
                    {"-DTHREADS=32"});
  });
  EXPECT_THAT(message, HasSubstr("kernel broken"));
  EXPECT_THAT(message, HasSubstr("-DTHREADS=32"));
  EXPECT_THAT(message, HasSubstr("NVRTC_ERROR_COMPILATION (6)"));
  EXPECT_THAT(message, HasSubstr("broken.cu(2): error: identifier \"undeclared\" is undefined"));
}

TEST_P(EachNvrtc, MakesTheSameBytesInAnotherFolderAndLocale) {
  const std::string first = compile("sm_75");
  EXPECT_TRUE(first == compile("sm_75"));
  const TemporaryDirectory folder;
  std::filesystem::create_directory(folder.path() / "common");
  write_file_atomically(folder.path() / kFactor.name, "#define FACTOR 0.7f\n");
  {
    const InFolder inside(folder.path());
    EXPECT_TRUE(first == compile("sm_75"));
  }
  const softmax_dispatch::testing::DecimalComma comma;
  EXPECT_TRUE(first == compile("sm_75"));
}

TEST_P(EachNvrtc, ReadsNoHeaderFromDisk) {
  const TemporaryDirectory folder;
  std::filesystem::create_directory(folder.path() / "common");
  write_file_atomically(folder.path() / kFactor.name, kFactor.text);
  const InFolder inside(folder.path());
  const std::string message =
      error_of(StatusCode::toolchain, [&] { nvrtc_->compile("scale", kKernel, {}, "sm_75", Compiler::flags()); });
  EXPECT_THAT(message, HasSubstr("common/factor.cuh"));
}

TEST_P(EachNvrtc, CompilesInSeveralThreads) {
  const std::vector<std::string> archs{"sm_75", "sm_80", "sm_86", "sm_90", "compute_75", "compute_80"};
  std::vector<std::string> images(archs.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < archs.size(); ++i) threads.emplace_back([&, i] { images[i] = compile(archs[i]); });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < archs.size(); ++i) EXPECT_TRUE(images[i] == compile(archs[i])) << archs[i];
}

TEST(NvrtcOpen, OpensALibraryOnce) {
  EXPECT_EQ(Nvrtc::open(), Nvrtc::open());
  const std::string path = Nvrtc::open()->path();
  EXPECT_EQ(Nvrtc::open(path), Nvrtc::open(path));
  EXPECT_EQ(Nvrtc::open(path)->build(), Nvrtc::open()->build());
}

TEST(NvrtcOpen, SaysWhichLibraryIsMissing) {
  const std::string message = error_of(StatusCode::toolchain, [] { Nvrtc::open("/nowhere/libnvrtc.so.12"); });
  EXPECT_THAT(message, HasSubstr("'/nowhere/libnvrtc.so.12'"));
  EXPECT_THAT(message, HasSubstr("No such file"));
  const Variable variable("SOFTMAX_DISPATCH_NVRTC", "/elsewhere/libnvrtc.so.13");
  EXPECT_THAT(error_of(StatusCode::toolchain, [] { Nvrtc::open(); }), HasSubstr("'/elsewhere/libnvrtc.so.13'"));
}

TEST(NvrtcOpen, TakesThePathOfTheEnvironment) {
  const std::string path = Nvrtc::open()->path();
  const Variable variable("SOFTMAX_DISPATCH_NVRTC", path);
  EXPECT_EQ(Nvrtc::open()->path(), path);
}

TEST(NvrtcOpen, RefusesAnotherLibrary) {
  const std::string message = error_of(StatusCode::toolchain, [] { Nvrtc::open("libm.so.6"); });
  EXPECT_THAT(message, HasSubstr("it has no nvrtcVersion"));
}

TEST(NvrtcOpen, IsNotNewerThanTheDriver) {
  const auto newest = Nvrtc::open();
  EXPECT_EQ(Nvrtc::open({}, newest->major()), newest);
  const std::string refused =
      error_of(StatusCode::toolchain, [&] { Nvrtc::open(newest->path(), newest->major() - 1); });
  EXPECT_THAT(refused, HasSubstr("is NVRTC " + newest->build()));
  EXPECT_THAT(refused, HasSubstr(fmt::format("CUDA {} does not load", newest->major() - 1)));

  const std::string none = error_of(StatusCode::toolchain, [] { Nvrtc::open({}, 11); });
  EXPECT_THAT(none, HasSubstr("libnvrtc.so.13 (left out: newer than the driver's CUDA 11)"));
  EXPECT_THAT(none, HasSubstr("libnvrtc.so.12 (left out: newer than the driver's CUDA 11)"));
  EXPECT_THAT(none, HasSubstr("install NVRTC of CUDA 11"));
}

}  // namespace
}  // namespace softmax_dispatch::jit
