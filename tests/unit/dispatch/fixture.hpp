#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dispatch/impl.hpp"
#include "support/expect_error.hpp"
#include "unit/dispatch/test_table.hpp"

namespace softmax_dispatch::testing {

/// Host matrices x and y, 16-byte aligned, and a call that dispatches them.
class Matrices {
 public:
  explicit Matrices(std::int64_t M, std::int64_t N)
      : M_(M), N_(N), x_(static_cast<std::size_t>(M * N + 4)), y_(x_.size(), -1.0f) {
    for (std::size_t i = 0; i < x_.size(); ++i) x_[i] = static_cast<float>(i % 7);
  }
  void dispatch(Dispatcher::Impl& dispatcher, Stream stream = {}) {
    dispatcher.dispatch(x_.data(), y_.data(), {DType::f32, M_, N_}, stream);
  }
  double first_row_sum() const {
    double sum = 0;
    for (std::int64_t i = 0; i < N_; ++i) sum += static_cast<double>(y_[static_cast<std::size_t>(i)]);
    return sum;
  }

 private:
  std::int64_t M_, N_;
  std::vector<float> x_, y_;
};

/// A dispatcher with this table, or with none.
inline std::unique_ptr<Dispatcher::Impl> make_dispatcher(FakeBackend& backend, const table::Table& table) {
  const TableFile file(table);
  return std::make_unique<Dispatcher::Impl>(runtime::DecisionSource({file.path(), ""}), backend);
}
inline std::unique_ptr<Dispatcher::Impl> make_dispatcher(FakeBackend& backend, const std::string& force = "") {
  return std::make_unique<Dispatcher::Impl>(runtime::DecisionSource({"", force}), backend);
}

/// A stream that a test says is being captured.
inline Stream capturing_stream() {
  static char object;
  return reinterpret_cast<Stream>(&object);
}

inline constexpr const char* kShort = "v10 THREADS=128 VEC_ITEMS=1";  // N <= 131
inline constexpr const char* kMiddle = "v7 THREADS=256 VEC_ITEMS=4";  // N <= 4099
inline constexpr const char* kLong = "unbounded THREADS=256";

inline Thresholds three_thresholds() {
  return {{131, kShort}, {4099, kMiddle}, {table::kOpen, kLong}};
}

}  // namespace softmax_dispatch::testing
