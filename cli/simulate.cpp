#include "cli/simulate.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <random>
#include <system_error>
#include <vector>

#include "device/sim/open.hpp"
#include "device/workspace.hpp"
#include "support/elements.hpp"
#include "support/error.hpp"
#include "tuning/simulation.hpp"

namespace softmax_dispatch::cli {
namespace {

/// Elements of the matrix, and threads of the launch, up to which all blocks run: about a second.
constexpr std::int64_t kWholeElements = 1 << 24;

/// A matrix of any size in little memory: a few megabytes of random numbers, mapped again and again.
class RandomMatrix {
 public:
  RandomMatrix(std::int64_t elements, DType dtype) {
    constexpr std::size_t kPatternBytes = std::size_t{16} << 20;
    const std::size_t wanted = static_cast<std::size_t>(elements) * size_of(dtype);
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t pattern = std::min(kPatternBytes, (wanted + page - 1) / page * page);
    bytes_ = (wanted + pattern - 1) / pattern * pattern;
    fd_ = ::memfd_create("softmax-tune input", MFD_CLOEXEC);
    if (fd_ < 0 || ::ftruncate(fd_, static_cast<off_t>(pattern)) != 0) fail();
    void* all = ::mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED) fail();
    data_ = static_cast<std::byte*>(all);
    for (std::size_t at = 0; at < bytes_; at += pattern) {
      if (::mmap(data_ + at, pattern, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd_, 0) == MAP_FAILED) fail();
    }
    std::mt19937_64 random(42);
    std::uniform_real_distribution<float> uniform(-10, 10);
    std::vector<float> values(pattern / size_of(dtype));
    std::generate(values.begin(), values.end(), [&] { return uniform(random); });
    const std::vector<std::byte> input = to_elements(dtype, values);
    std::copy(input.begin(), input.end(), data_);
  }
  ~RandomMatrix() {
    if (data_) ::munmap(data_, bytes_);
    if (fd_ >= 0) ::close(fd_);
  }
  RandomMatrix(const RandomMatrix&) = delete;
  RandomMatrix& operator=(const RandomMatrix&) = delete;

  DevicePtr get() const noexcept { return reinterpret_cast<std::uintptr_t>(data_); }

 private:
  [[noreturn]] void fail() const {
    throw_error(StatusCode::device, "the host has no {} bytes of addresses for the input: {}; take a smaller problem",
                bytes_, std::generic_category().message(errno));
  }

  int fd_ = -1;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

sim::SimOptions options_for(const Problem& problem, const Geometry& geometry) {
  sim::SimOptions options;
  options.host_memory = true;
  const std::int64_t rows = kWholeElements / problem.N;
  if (problem.M <= rows && geometry.grid * geometry.block <= kWholeElements) options.sampled_blocks = 0;
  return options;
}

}  // namespace

Simulated simulate(const jit::Compiler& compiler, const Variant& variant, const Constants& constants,
                   const Problem& problem, const std::string& arch) {
  const std::string id(variant.id());
  const Macros macros = variant.macros(problem.dtype, constants);
  const jit::CompiledKernel compiled = compiler.compile(id, macros, arch);
  const Geometry geometry = variant.geometry(problem, constants);
  const sim::SimOptions options = options_for(problem, geometry);
  const auto device = sim::open(arch, options);
  const std::int64_t most = device->info().memory_bytes / 2 / static_cast<std::int64_t>(size_of(problem.dtype));
  if (problem.M > most / problem.N) {
    throw_error(StatusCode::unsupported, "input and output of {} do not fit the {:.1f} GB of the simulated {}",
                to_string(problem), static_cast<double>(device->info().memory_bytes) / 1e9, device->info().name);
  }
  const RandomMatrix x(problem.M * problem.N, problem.dtype);

  const auto kernel = device->load(compiled.image, compiled.entry, compiled.resources);
  const Buffer y(*device, static_cast<std::size_t>(problem.M * problem.N) * size_of(problem.dtype));
  Launch launch{kernel.get(), geometry, x.get(), y.get(), problem.M, problem.N};
  launch.element_bytes = static_cast<int>(size_of(problem.dtype));
  Workspace workspace(*device);
  launch.workspace = workspace.of(geometry);
  try {
    return {device->info(), device->count(launch), device->model(launch)};
  } catch (const sim::Fault&) {
    tuning::throw_with_line(
        compiler, id, macros, arch, compiled.resources,
        [&](sim::SimDevice& on, const LoadedKernel& of) {
          const Buffer out(on, y.bytes());
          Launch once_more = launch;
          once_more.kernel = &of;
          once_more.y = out.get();
          Workspace other(on);
          once_more.workspace = other.of(geometry);
          on.count(once_more);
        },
        options);
    throw;
  }
}

}  // namespace softmax_dispatch::cli
