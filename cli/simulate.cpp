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
#include "support/error.hpp"
#include "tuning/simulation.hpp"

namespace softmax_dispatch::cli {
namespace {

/// Elements of the matrix, and threads of the launch, up to which all blocks run: about a second.
constexpr std::int64_t kWholeElements = 1 << 24;

/// A matrix of any size in little memory: a few megabytes of random numbers, mapped again and again.
class RandomMatrix {
 public:
  explicit RandomMatrix(std::int64_t elements) {
    constexpr std::size_t kPatternBytes = std::size_t{16} << 20;
    const std::size_t wanted = static_cast<std::size_t>(elements) * sizeof(float);
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
    auto* values = reinterpret_cast<float*>(data_);
    std::generate(values, values + pattern / sizeof(float), [&] { return uniform(random); });
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
  const std::int64_t most = device->info().memory_bytes / 2 / static_cast<std::int64_t>(sizeof(float));
  if (problem.M > most / problem.N) {
    throw_error(StatusCode::unsupported, "input and output of {} do not fit the {:.1f} GB of the simulated {}",
                to_string(problem), static_cast<double>(device->info().memory_bytes) / 1e9, device->info().name);
  }
  const RandomMatrix x(problem.M * problem.N);

  const auto kernel = device->load(compiled.image, compiled.entry, compiled.resources);
  const Buffer y(*device, static_cast<std::size_t>(problem.M * problem.N) * sizeof(float));
  const Launch launch{kernel.get(), geometry, x.get(), y.get(), problem.M, problem.N};
  try {
    return {device->info(), device->count(launch), device->model(launch)};
  } catch (const sim::Fault&) {
    tuning::throw_with_line(
        compiler, id, macros, arch, compiled.resources,
        [&](sim::SimDevice& on, const LoadedKernel& of) {
          const Buffer out(on, y.bytes());
          on.count({&of, geometry, x.get(), out.get(), problem.M, problem.N});
        },
        options);
    throw;
  }
}

}  // namespace softmax_dispatch::cli
