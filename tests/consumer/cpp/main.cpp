// Softmax of a 1025 x 257 matrix through dispatch(), checked against FP64 on the CPU. The driver is opened at run time,
// so that the program also starts on a machine without a GPU: `consumer --expect-no-device` succeeds there, and only
// there, if dispatch() says that there is no device. `consumer --host-memory` dispatches on matrices in its own memory,
// for SOFTMAX_DISPATCH_DEVICE=sim.
#include <dlfcn.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <softmax_dispatch/softmax_dispatch.hpp>
#include <vector>

namespace {

constexpr std::int64_t kM = 1025, kN = 257;

/// What the program needs of the driver, by the names of its ABI.
class Driver {
 public:
  /// False where there is no driver or no GPU.
  bool open() {
    library_ = ::dlopen("libcuda.so.1", RTLD_NOW);
    if (!library_) return false;
    int (*init)(unsigned) = nullptr;
    int (*retain)(void**, int) = nullptr;
    int (*set_current)(void*) = nullptr;
    void* context = nullptr;
    return find("cuInit", init) && find("cuDevicePrimaryCtxRetain", retain) && find("cuCtxSetCurrent", set_current) &&
           find("cuMemAlloc_v2", allocate) && find("cuMemcpyHtoD_v2", upload) && find("cuMemcpyDtoH_v2", download) &&
           init(0) == 0 && retain(&context, 0) == 0 && set_current(context) == 0;
  }

  int (*allocate)(std::uint64_t* pointer, std::size_t bytes) = nullptr;
  int (*upload)(std::uint64_t to, const void* from, std::size_t bytes) = nullptr;
  int (*download)(void* to, std::uint64_t from, std::size_t bytes) = nullptr;

 private:
  template <typename Function>
  bool find(const char* name, Function& function) {
    void* symbol = ::dlsym(library_, name);
    std::memcpy(&function, &symbol, sizeof symbol);
    return symbol != nullptr;
  }
  void* library_ = nullptr;
};

/// Largest error relative to the reference over all elements; infinite where one is NaN.
double worst_error(const std::vector<float>& x, const std::vector<float>& y) {
  double worst = 0;
  for (std::int64_t row = 0; row < kM; ++row) {
    const float* in = x.data() + row * kN;
    const float* out = y.data() + row * kN;
    double max = -INFINITY, sum = 0;
    for (std::int64_t i = 0; i < kN; ++i) max = std::fmax(max, in[i]);
    for (std::int64_t i = 0; i < kN; ++i) sum += std::exp(in[i] - max);
    for (std::int64_t i = 0; i < kN; ++i) {
      const double expected = std::exp(in[i] - max) / sum;
      const double error = std::fabs(out[i] - expected) / expected;
      if (!(error <= worst)) worst = std::isnan(error) ? INFINITY : error;
    }
  }
  return worst;
}

std::vector<float> input() {
  std::vector<float> x(kM * kN);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 2654435761u % 2001u) / 100.0f - 10.0f;
  return x;
}

int report(const std::vector<float>& x, const std::vector<float>& y) {
  const double worst = worst_error(x, y);
  std::printf("f32:%dx%d: largest relative error %.2e\n", static_cast<int>(kM), static_cast<int>(kN), worst);
  return worst <= 1e-5 ? 0 : 1;
}

int report_failure(const softmax_dispatch::Status& status) {
  std::printf("%s: %s\n", to_string(status.code()), status.message());
  return 1;
}

int in_host_memory() {
  const std::vector<float> x = input();
  std::vector<float> y(x.size());
  const softmax_dispatch::Status status = softmax_dispatch::dispatch(x.data(), y.data(), kM, kN);
  return status ? report(x, y) : report_failure(status);
}

int without_device(bool expected) {
  float* const anywhere = reinterpret_cast<float*>(std::uintptr_t{4096});
  const softmax_dispatch::Status status = softmax_dispatch::dispatch(anywhere, anywhere, kM, kN);
  std::printf("%s: %s\n", to_string(status.code()), status.message());
  const bool clear = status.code() == softmax_dispatch::StatusCode::no_device && std::strlen(status.message()) > 20;
  return expected && clear ? 0 : 1;
}

int with_device(Driver& driver) {
  const std::vector<float> x = input();
  std::vector<float> y(x.size());
  const std::size_t bytes = x.size() * sizeof(float);
  std::uint64_t device_x = 0, device_y = 0;
  if (driver.allocate(&device_x, bytes) || driver.allocate(&device_y, bytes) ||
      driver.upload(device_x, x.data(), bytes)) {
    std::puts("the driver refused memory");
    return 1;
  }
  const softmax_dispatch::Status status =
      softmax_dispatch::dispatch(reinterpret_cast<const float*>(device_x), reinterpret_cast<float*>(device_y), kM, kN);
  if (!status) return report_failure(status);
  if (driver.download(y.data(), device_y, bytes)) {
    std::puts("the driver refused a copy");
    return 1;
  }
  return report(x, y);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--host-memory") == 0) return in_host_memory();
  const bool expect_no_device = argc > 1 && std::strcmp(argv[1], "--expect-no-device") == 0;
  Driver driver;
  if (!driver.open()) return without_device(expect_no_device);
  if (expect_no_device) {
    std::puts("there is a device");
    return 1;
  }
  return with_device(driver);
}
