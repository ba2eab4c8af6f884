// Softmax without a GPU: a simulated one runs the kernels on matrices in the program's own memory. The same program on
// a GPU names no device, and passes device pointers.
#include <cstdint>
#include <cstdio>
#include <softmax_dispatch/softmax_dispatch.hpp>
#include <vector>

int main() {
  softmax_dispatch::DispatcherOptions options;
  options.device = "sim";  // or SOFTMAX_DISPATCH_DEVICE=sim in the environment
  softmax_dispatch::Dispatcher dispatcher;
  softmax_dispatch::Status status = softmax_dispatch::Dispatcher::create(options, dispatcher);

  const std::int64_t M = 4, N = 257;
  const std::vector<float> x(static_cast<std::size_t>(M * N), 1.0f);
  std::vector<float> y(x.size());
  if (status.ok()) status = dispatcher.dispatch(x.data(), y.data(), M, N);
  if (!status.ok()) {
    std::fprintf(stderr, "%s: %s\n", to_string(status.code()), status.message());
    return 1;
  }
  std::printf("y[0][0] = %.8f, and 1/%d = %.8f\n", static_cast<double>(y[0]), static_cast<int>(N),
              1.0 / static_cast<double>(N));
  return 0;
}
