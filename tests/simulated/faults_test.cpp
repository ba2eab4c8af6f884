// What a dispatcher makes of faults that the simulator finds: kernels of the product with a planted one.
#include <gmock/gmock.h>

#include <string>
#include <string_view>

#include "dispatch/impl.hpp"
#include "jit/sources.hpp"
#include "simulated/host_matrix.hpp"
#include "support/expect_error.hpp"
#include "unit/dispatch/test_table.hpp"

namespace softmax_dispatch::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kShort = "v10 THREADS=128 VEC_ITEMS=1";
constexpr const char* kOther = "v7 THREADS=256 VEC_ITEMS=4";

/// The product's sources with a statement before v10's first.
jit::Sources with_fault(const std::string& statement) {
  constexpr std::string_view kFirst = "  const long long row =";
  std::string text = jit::Sources::product().text("v10");
  const std::size_t at = text.find(kFirst);
  EXPECT_NE(at, std::string::npos) << "v10 no longer has the text '" << kFirst << "'";
  text.insert(std::min(at, text.size()), "  " + statement + "\n");
  jit::Sources sources = jit::Sources::product();
  sources.add("v10", std::move(text));
  return sources;
}

/// A table whose first choice is v10, with no record.
table::Table unverified() {
  table::Table table = make_table({{131, kShort}, {4099, kOther}, {table::kOpen, "unbounded THREADS=256"}}, "sm_75");
  for (table::Kernel& kernel : table.kernels) kernel.verification.reset();
  return table;
}

/// A dispatcher on such sources.
class Faulty {
 public:
  explicit Faulty(const std::string& statement)
      : sources_(with_fault(statement)),
        impl_(runtime::DecisionSource({TableFile(unverified()).path(), ""}), *backend_) {}

  std::string wrong(HostMatrix& matrix) {
    impl_.dispatch(matrix.x(), matrix.y(), {DType::f32, matrix.M(), matrix.N()}, {});
    return matrix.wrong({});
  }

 private:
  jit::Sources sources_;
  std::unique_ptr<runtime::Backend> backend_ = runtime::make_sim_backend("sm_75", sources_);
  Dispatcher::Impl impl_;
};

// Verification has no rows of 77 elements.
constexpr const char* kPastTheEndAt77 = "if (N == 77 && threadIdx.x == 0) y[M * N] = 0.0f;";

TEST(SimulatedFault, InADispatchIsReportedAndConcernsNoOtherCall) {
  Faulty dispatcher(kPastTheEndAt77);
  HostMatrix before(5, 100), with_fault(5, 77), after(5, 78);
  EXPECT_EQ(dispatcher.wrong(before), "");
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(error_of(StatusCode::device, [&] { dispatcher.wrong(with_fault); }),
                AllOf(HasSubstr("kernel v10"), HasSubstr("global store of 4 bytes out of bounds"),
                      HasSubstr("0 bytes past the end of the matrix y of 1540 bytes"), HasSubstr("block "),
                      HasSubstr("thread 0")));
    EXPECT_EQ(dispatcher.wrong(after), "");
  }
}

TEST(SimulatedFault, InAVerificationMovesToAnotherKernel) {
  const auto log_with = [](const std::string& statement) {
    Faulty dispatcher(statement);
    ::testing::internal::CaptureStderr();
    for (int i = 0; i < 2; ++i) {
      HostMatrix matrix(5, 77);
      EXPECT_EQ(dispatcher.wrong(matrix), "");
    }
    std::string log = ::testing::internal::GetCapturedStderr();
    EXPECT_THAT(log, HasSubstr(std::string(kShort) + " is not used on the simulated Tesla T4 (sm_75)"));
    EXPECT_EQ(log.find(kShort), log.rfind(kShort)) << "said once:\n" << log;
    return log;
  };
  EXPECT_THAT(log_with("if (threadIdx.x == 0) y[M * N + 1000000] = 0.0f;"), HasSubstr("4 bytes out of bounds"));
  EXPECT_THAT(log_with("__shared__ float one; one = threadIdx.x; if (N == 77) y[0] = one;"),
              HasSubstr("shared memory race"));
  EXPECT_THAT(log_with("if (threadIdx.x == 0) const_cast<float*>(x)[0] = 0.0f;"), HasSubstr("changed its input"));
}

}  // namespace
}  // namespace softmax_dispatch::testing
