#include <gmock/gmock.h>

#include "support/elements.hpp"
#include "unit/dispatch/fixture.hpp"

namespace softmax_dispatch::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct BadCall {
  std::string name;
  std::intptr_t x, y;
  Problem problem;
  StatusCode code;
  std::vector<std::string> words;  ///< That the message must hold: the value and the rule.
};

void PrintTo(const BadCall& call, std::ostream* out) {
  *out << call.name;
}

class BadArguments : public ::testing::TestWithParam<BadCall> {};

TEST_P(BadArguments, AreNamedWithTheirValueAndRule) {
  const BadCall& call = GetParam();
  FakeBackend backend;
  const auto dispatcher = make_dispatcher(backend);
  const std::string message = error_of(call.code, [&] {
    dispatcher->dispatch(reinterpret_cast<const void*>(call.x), reinterpret_cast<void*>(call.y), call.problem, {});
  });
  for (const std::string& word : call.words) EXPECT_THAT(message, HasSubstr(word));
  EXPECT_EQ(backend.device_queries, 0) << "bad arguments need no device";
  EXPECT_EQ(backend.launches(), 0);
}

constexpr std::int64_t kHuge = std::int64_t{1} << 62;

INSTANTIATE_TEST_SUITE_P(
    All, BadArguments,
    ::testing::Values(
        BadCall{"NegativeM", 256, 4096, {DType::f32, -1, 8}, StatusCode::invalid_argument, {"M is -1", "at least 0"}},
        BadCall{"NegativeN", 256, 4096, {DType::f32, 8, -7}, StatusCode::invalid_argument, {"N is -7", "at least 0"}},
        BadCall{"NegativeMOfNoColumns", 256, 4096, {DType::f32, -3, 0}, StatusCode::invalid_argument, {"M is -3"}},
        BadCall{"NullX", 0, 4096, {DType::f32, 8, 8}, StatusCode::invalid_argument, {"x is null", "f32:8x8"}},
        BadCall{"NullY", 256, 0, {DType::f32, 8, 8}, StatusCode::invalid_argument, {"y is null", "f32:8x8"}},
        BadCall{"MisalignedX", 258, 4096, {DType::f32, 8, 8}, StatusCode::invalid_argument, {"x is 0x102", "4 bytes"}},
        BadCall{"MisalignedY", 256, 4097, {DType::f32, 8, 8}, StatusCode::invalid_argument, {"y is 0x1001", "4 bytes"}},
        BadCall{
            "YBeginsInX", 256, 256 + 252, {DType::f32, 8, 8}, StatusCode::invalid_argument, {"overlap", "256 bytes"}},
        BadCall{"XBeginsInY", 260, 256, {DType::f32, 8, 8}, StatusCode::invalid_argument, {"overlap", "f32:8x8"}},
        BadCall{"ProductBeyond64Bits",
                256,
                4096,
                {DType::f32, kHuge, 8},
                StatusCode::invalid_argument,
                {"64-bit byte offsets", "2305843009213693951"}},
        BadCall{"BytesBeyond64Bits",
                256,
                4096,
                {DType::f32, kHuge, 1},
                StatusCode::invalid_argument,
                {"f32:4611686018427387904x1"}},
        BadCall{"UnknownType", 256, 4096, {static_cast<DType>(7), 8, 8}, StatusCode::invalid_argument, {"dtype is 7"}},
        BadCall{
            "NegativeType", 256, 4096, {static_cast<DType>(-1), 8, 8}, StatusCode::invalid_argument, {"dtype is -1"}},
        BadCall{
            "MisalignedX16", 257, 4096, {DType::f16, 8, 8}, StatusCode::invalid_argument, {"x is 0x101", "2 bytes"}},
        BadCall{
            "MisalignedY16", 256, 4097, {DType::bf16, 8, 8}, StatusCode::invalid_argument, {"y is 0x1001", "2 bytes"}},
        BadCall{"YBeginsInX16",
                256,
                256 + 126,
                {DType::bf16, 8, 8},
                StatusCode::invalid_argument,
                {"overlap", "bf16:8x8 has 128 bytes"}},
        BadCall{"BytesBeyond64Bits16",
                256,
                4096,
                {DType::f16, kHuge, 2},
                StatusCode::invalid_argument,
                {"f16:4611686018427387904x2", "4611686018427387903"}}),
    [](const auto& instance) { return instance.param.name; });

TEST(Arguments, EmptyMatricesSucceedWithoutADevice) {
  FakeBackend backend;
  const auto dispatcher = make_dispatcher(backend);
  for (const Problem& problem : {Problem{DType::f32, 0, 0}, Problem{DType::f32, 0, 5}, Problem{DType::f32, 5, 0},
                                 Problem{DType::f32, 0, kHuge}, Problem{DType::f32, kHuge, 0}}) {
    EXPECT_NO_THROW(dispatcher->dispatch(nullptr, nullptr, problem, {})) << to_string(problem);
  }
  EXPECT_EQ(backend.device_queries, 0);
}

TEST(Arguments, InPlaceAndAdjacentMatricesAreRight) {
  FakeBackend backend;
  const auto dispatcher = make_dispatcher(backend);
  std::vector<float> data(4 * 8 * 2, 1.0f);
  const Problem problem{DType::f32, 4, 8};
  EXPECT_NO_THROW(dispatcher->dispatch(data.data(), data.data() + 32, problem, {}));
  EXPECT_FLOAT_EQ(data[32], 0.125f);
  EXPECT_FLOAT_EQ(data[0], 1.0f);
  EXPECT_NO_THROW(dispatcher->dispatch(data.data(), data.data(), problem, {}));
  EXPECT_FLOAT_EQ(data[31], 0.125f);
}

TEST(Arguments, ElementsOf16BitsMayLieAtAnyEvenAddress) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    FakeBackend backend;
    const auto dispatcher = make_dispatcher(backend);
    const Problem problem{dtype, 4, 8};
    std::vector<std::uint16_t> data(4 * 8 * 2 + 1, round_to(dtype, 1));
    for (const Variant* variant : registry().all())
      backend.named(0).define(std::string(variant->id()), fake_softmax_of(dtype));
    EXPECT_NO_THROW(dispatcher->dispatch(data.data() + 1, data.data() + 33, problem, {}));
    EXPECT_EQ(value_of(dtype, data[33]), 0.125f);
    EXPECT_EQ(value_of(dtype, data[1]), 1.0f);
    EXPECT_NO_THROW(dispatcher->dispatch(data.data() + 1, data.data() + 1, problem, {}));
    EXPECT_EQ(value_of(dtype, data[32]), 0.125f);
  }
}

TEST(Arguments, TheLargestAddressableMatrixIsLaunched) {
  FakeBackend backend;
  std::int64_t rows = 0;
  for (const Variant* variant : registry().all()) {
    backend.named(0).define(std::string(variant->id()), [&](const Launch& launch) { rows = launch.M; });
  }
  const auto dispatcher = make_dispatcher(backend);
  const std::int64_t M = (std::int64_t{1} << 61) - 1;
  // In place: two matrices of 2^63 bytes do not fit the address space.
  EXPECT_NO_THROW(
      dispatcher->dispatch(reinterpret_cast<const void*>(256), reinterpret_cast<void*>(256), {DType::f32, M, 1}, {}));
  EXPECT_EQ(rows, M);
}

TEST(Arguments, PublicObjectReportsThemAsStatus) {
  Dispatcher none;
  EXPECT_EQ(none.dispatch(nullptr, nullptr, 1, 1).code(), StatusCode::bad_table);
  EXPECT_EQ(none.prewarm(nullptr, 0).code(), StatusCode::bad_table);
  Dispatcher made;
  ASSERT_TRUE(Dispatcher::create({}, made).ok());
  EXPECT_EQ(made.dispatch(nullptr, nullptr, 1, 1).code(), StatusCode::invalid_argument);
  EXPECT_TRUE(made.dispatch(nullptr, nullptr, 0, 1).ok());
  EXPECT_EQ(made.prewarm(nullptr, 1).code(), StatusCode::invalid_argument);
  std::string text = "unchanged";
  EXPECT_EQ(made.choice({DType::f32, 4, 4}, nullptr, text).code(), StatusCode::invalid_argument);
  EXPECT_EQ(made.choice({DType::f32, 4, 4}, "sm_12", text).code(), StatusCode::invalid_argument);
  EXPECT_EQ(made.choice({DType::f32, 0, 4}, "sm_90", text).code(), StatusCode::invalid_argument);
  EXPECT_EQ(text, "unchanged");
  Dispatcher moved = std::move(made);
  EXPECT_TRUE(moved.choice({DType::f32, 4, 4}, "sm_90", text).ok());
  EXPECT_NE(registry().find(parse_config(text).variant), nullptr) << text;
}

}  // namespace
}  // namespace softmax_dispatch::testing
