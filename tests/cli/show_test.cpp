#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <locale.h>

#include <cstdlib>

#include "support/files.hpp"
#include "tests/cli/program.hpp"
#include "tests/cli/sample.hpp"

namespace softmax_dispatch::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Show : public ::testing::Test {
 protected:
  TemporaryDirectory folder_;
  std::filesystem::path path_ = write_sample_table(folder_.path());
};

TEST_F(Show, SaysTheThresholdsTheKernelsAndTheOrigin) {
  const Finished result = run({"show", path_});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.err, IsEmpty());
  for (const char* text : {"Sample GPU", "sm_90", "aligned", "N <= 512", "3.1 %", "v3 ITEMS=16 THREADS=256", "pinned",
                           "NVRTC 13.0.88", "driver 13.0", "sweep quick", "seed 42", "1.0020", "1.0100"}) {
    EXPECT_THAT(result.out, HasSubstr(text));
  }
  for (const table::Kernel& kernel : sample_table().kernels) EXPECT_THAT(result.out, HasSubstr(kernel.name));
}

TEST_F(Show, JsonHoldsTheWholeTable) {
  const Finished result = run({"show", path_, "--json"});
  ASSERT_EQ(result.code, 0);
  const table::Table table = sample_table();
  const auto json = result.json();
  EXPECT_EQ(json.at("schema"), table::kSchema);
  EXPECT_EQ(json.at("device").at("arch"), "sm_90");
  EXPECT_EQ(json.at("device").at("kind"), "measured");
  EXPECT_EQ(json.at("toolchain").at("flags"), nlohmann::json(table.toolchain.flags));
  EXPECT_EQ(json.at("sweep").at("N"), nlohmann::json(table.sweep.N));
  EXPECT_EQ(json.at("quality").at("regret_geomean"), 1.002);
  ASSERT_EQ(json.at("kernels").size(), table.kernels.size());
  EXPECT_EQ(json.at("kernels").at(0).at("name"), table.kernels[0].name);
  EXPECT_EQ(json.at("kernels").at(0).at("variant"), "v8");
  EXPECT_EQ(json.at("kernels").at(0).at("constants").at("THREADS"), 256);
  EXPECT_EQ(json.at("kernels").at(0).at("resources").at("registers"), 32);
  EXPECT_EQ(json.at("kernels").at(0).at("verification").at("N_to"), nullptr);
  EXPECT_EQ(json.at("pins").at(0).at("M"), nlohmann::json({7, 7}));
  const auto& band = json.at("tables").at(0).at("bands").at(0);
  EXPECT_EQ(band.at("M"), nlohmann::json({1, nullptr}));
  EXPECT_EQ(band.at("thresholds").at(1).at("N_to"), 4096);
  EXPECT_EQ(band.at("thresholds").at(1).at("margin_pct"), 3.1);
  EXPECT_EQ(band.at("thresholds").at(2).at("N_to"), nullptr);
  EXPECT_FALSE(band.at("thresholds").at(2).contains("crossover_N"));
}

TEST_F(Show, IsTheSameUnderALocaleWithADecimalComma) {
  const std::string make = "localedef -i de_DE -f UTF-8 " + (folder_.path() / "de_DE.UTF-8").string() + " 2>/dev/null";
  Environment german{{"LC_ALL", "de_DE.UTF-8"}};
  if (std::system(make.c_str()) == 0) {
    german["LOCPATH"] = folder_.path();
  } else if (const locale_t locale = newlocale(LC_ALL_MASK, "de_DE.UTF-8", nullptr)) {
    freelocale(locale);
  } else {
    GTEST_SKIP() << "no locale with a decimal comma is installed, and localedef cannot make one";
  }
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"show", path_}, {"show", path_, "--json"}, {"explain", path_, "f32:1024x257"}, {"list"}}) {
    const Finished plain = run(arguments, {{"LC_ALL", "C"}}), result = run(arguments, german);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.out, plain.out);
  }
}

}  // namespace
}  // namespace softmax_dispatch::testing
