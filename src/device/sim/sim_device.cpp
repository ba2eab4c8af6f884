#include "device/sim/sim_device.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "device/sim/exec/workspace_check.hpp"
#include "device/sim/sim_kernel.hpp"
#include "support/error.hpp"

namespace softmax_dispatch::sim {
namespace {

const SimKernel& kernel_of(const Launch& launch) {
  const auto* const kernel = dynamic_cast<const SimKernel*>(launch.kernel);
  if (kernel == nullptr) throw_error(StatusCode::internal, "a launch of a kernel that no simulated device has loaded");
  return *kernel;
}

std::int64_t shared_bytes(const SimKernel& kernel, const Geometry& geometry) {
  return kernel.program()->shared_static_bytes + geometry.shared_bytes;
}

std::vector<std::byte> parameters_of(const Launch& launch, int phase) {
  const std::int64_t wide[]{static_cast<std::int64_t>(launch.x), static_cast<std::int64_t>(launch.y), launch.M,
                            launch.N, static_cast<std::int64_t>(launch.workspace)};
  const std::int32_t narrow[]{phase, launch.geometry.parts};
  std::vector<std::byte> bytes(sizeof wide + sizeof narrow);
  std::memcpy(bytes.data(), wide, sizeof wide);
  std::memcpy(bytes.data() + sizeof wide, narrow, sizeof narrow);
  return bytes;
}

/// Of x or y.
std::int64_t matrix_bytes(const Launch& launch) {
  return launch.M * launch.N * launch.element_bytes;
}

/// A launch with a workspace of its own, zeroed: one that is sampled leaves it in a state that no other may find.
class OwnWorkspace {
 public:
  OwnWorkspace(Memory& memory, const Launch& launch) : memory_(memory), launch_(launch) {
    const std::int64_t bytes = launch.geometry.workspace_bytes;
    if (bytes == 0) return;
    launch_.workspace = memory.allocate(static_cast<std::size_t>(bytes), "workspace");
    memory.fill(launch_.workspace, 0, static_cast<std::size_t>(bytes));
    owns_ = true;
  }
  ~OwnWorkspace() {
    if (owns_) memory_.release(launch_.workspace);
  }
  OwnWorkspace(const OwnWorkspace&) = delete;
  OwnWorkspace& operator=(const OwnWorkspace&) = delete;
  const Launch& launch() const noexcept { return launch_; }

 private:
  Memory& memory_;
  Launch launch_;
  bool owns_ = false;
};

/// What phases take that run one after the other.
void add(ModelledTime& time, const ModelledTime& next) {
  time.time_us += next.time_us;
  for (std::size_t i = 0; i < time.terms.size() && i < next.terms.size(); ++i)
    time.terms[i].time_us += next.terms[i].time_us;
  const auto less = [](const TimeTerm& a, const TimeTerm& b) { return a.time_us < b.time_us; };
  const auto most = std::max_element(time.terms.begin(), time.terms.end(), less);
  if (most != time.terms.end()) time.bound = most->name;
}

}  // namespace

/// Times come from the model, so a replay has nothing to run after the first.
class SimDevice::LaunchBatch : public Batch {
 public:
  LaunchBatch(SimDevice& device, std::span<const Launch> launches)
      : device_(device), launches_(launches.begin(), launches.end()) {
    std::set<std::pair<DevicePtr, std::int64_t>> buffers;
    for (const Launch& one : launches_) {
      buffers.emplace(one.x, matrix_bytes(one));
      buffers.emplace(one.y, matrix_bytes(one));
    }
    for (const auto& [start, bytes] : buffers) bytes_ += bytes;
  }

  double replay_us() override {
    if (!time_us_) {
      double total = 0;
      for (const Launch& one : launches_) total += device_.model(one, bytes_).time_us;
      time_us_ = launches_.empty() ? 0 : total / static_cast<double>(launches_.size());
    }
    device_.throw_if_lost();
    return *time_us_;
  }

 private:
  SimDevice& device_;
  std::vector<Launch> launches_;
  std::int64_t bytes_ = 0;  ///< Of all different buffers.
  std::optional<double> time_us_;
};

class SimDevice::CopyBatch : public Batch {
 public:
  CopyBatch(SimDevice& device, std::span<const Copy> copies) : device_(device) {
    device.throw_if_lost();
    std::set<std::pair<DevicePtr, std::size_t>> buffers;
    for (const Copy& one : copies) {
      device.memory_->copy(one.y, one.x, one.bytes);
      buffers.emplace(one.x, one.bytes);
      buffers.emplace(one.y, one.bytes);
    }
    std::int64_t distinct = 0;
    for (const auto& [start, bytes] : buffers) distinct += static_cast<std::int64_t>(bytes);
    for (const Copy& one : copies) time_us_ += device.model_->copy_us(device.info_, one.bytes, distinct);
    if (!copies.empty()) time_us_ /= static_cast<double>(copies.size());
  }

  double replay_us() override {
    device_.throw_if_lost();
    return time_us_;
  }

 private:
  SimDevice& device_;
  double time_us_ = 0;
};

SimDevice::SimDevice(DeviceInfo info, std::shared_ptr<const TimingModel> model, const SimOptions& options)
    : info_(std::move(info)),
      model_(std::move(model)),
      options_(options),
      memory_(std::make_shared<Memory>(info_.memory_bytes)) {
  info_.simulated = true;
  if (options_.host_threads == 0) options_.host_threads = std::max(1u, std::thread::hardware_concurrency());
}

SimDevice::~SimDevice() = default;

void SimDevice::throw_if_lost() const {
  const std::lock_guard lock(mutex_);
  if (lost_) std::rethrow_exception(lost_);
}

DevicePtr SimDevice::allocate(std::size_t bytes) {
  throw_if_lost();
  return memory_->allocate(bytes);
}

void SimDevice::release(DevicePtr pointer) noexcept {
  memory_->release(pointer);
}

void SimDevice::upload(DevicePtr to, const void* from, std::size_t bytes) {
  throw_if_lost();
  memory_->upload(to, from, bytes);
}

void SimDevice::download(void* to, DevicePtr from, std::size_t bytes) {
  throw_if_lost();
  memory_->download(to, from, bytes);
}

void SimDevice::fill(DevicePtr to, unsigned char byte, std::size_t bytes) {
  throw_if_lost();
  memory_->fill(to, byte, bytes);
}

std::shared_ptr<const LoadedKernel> SimDevice::load(std::string_view image, const std::string& entry,
                                                    const Resources& resources) {
  throw_if_lost();
  return std::make_shared<const SimKernel>(memory_, image, entry, resources);
}

std::int64_t SimDevice::resident_blocks(const LoadedKernel& kernel, const Geometry& geometry) {
  if (geometry.cluster > 1) return 0;
  const auto& loaded = dynamic_cast<const SimKernel&>(kernel);
  const int per_sm =
      blocks_per_sm(info_.limits, geometry.block, loaded.resources().registers, shared_bytes(loaded, geometry));
  return std::int64_t{per_sm} * std::max(1, info_.sm_count);
}

/// Throws Error(device) for a launch that the device cannot make, Error(unsupported) for one that is not simulated.
void SimDevice::check_launch(const SimKernel& kernel, const Geometry& geometry) {
  const Program& program = *kernel.program();
  const ArchLimits& limits = info_.limits;
  const auto refuse = [&](const std::string& why, StatusCode code = StatusCode::device) {
    throw_error(code, "cannot launch kernel {} on the simulated {}: {}", program.name, info_.name, why);
  };
  if (geometry.grid < 1 || geometry.grid > std::numeric_limits<std::int32_t>::max())
    refuse(fmt::format("{} blocks; a grid has 1 to {}", geometry.grid, std::numeric_limits<std::int32_t>::max()));
  if (geometry.cluster > 1)
    refuse(fmt::format("clusters of {} blocks are not simulated", geometry.cluster), StatusCode::unsupported);
  const int most = program.max_threads > 0
                       ? std::min<int>(limits.max_threads_per_block, static_cast<int>(program.max_threads))
                       : limits.max_threads_per_block;
  if (geometry.block < 1 || geometry.block > most)
    refuse(fmt::format("{} threads in a block; it can have 1 to {}", geometry.block, most));
  const std::int64_t bytes = shared_bytes(kernel, geometry);
  if (geometry.shared_bytes < 0 || bytes > limits.shared_bytes_per_block_optin)
    refuse(fmt::format("{} bytes of shared memory in a block; it can have {}", bytes,
                       limits.shared_bytes_per_block_optin));
  const std::int64_t resident = resident_blocks(kernel, geometry);
  if (resident == 0) {
    refuse(fmt::format("{} threads of {} registers do not fit the {} registers of an SM", geometry.block,
                       kernel.resources().registers, limits.registers_per_sm));
  }
  if (geometry.together() > resident) {
    refuse(fmt::format("a cooperative grid of {} blocks; all of them must be on the device at once, which holds {}",
                       geometry.grid, resident));
  }
}

/// What the launch may access.
std::shared_ptr<const Allocations> SimDevice::memory_of(const Launch& launch) const {
  std::shared_ptr<const Allocations> allocated = memory_->snapshot();
  if (!options_.host_memory) return allocated;
  auto all = std::make_shared<Allocations>(*allocated);
  const auto add = [&](DevicePtr matrix, const char* name) {
    if (Memory::is_device_address(matrix)) return;
    const auto bytes = static_cast<std::size_t>(matrix_bytes(launch));
    insert(*all, std::make_shared<Allocation>(reinterpret_cast<std::byte*>(matrix), bytes, name));
  };
  add(launch.x, "matrix x");
  if (launch.y != launch.x) add(launch.y, "matrix y");
  return all;
}

LaunchCounts SimDevice::execute(const Launch& launch, int phase, RunOptions run_options) {
  throw_if_lost();
  const SimKernel& kernel = kernel_of(launch);
  check_launch(kernel, launch.geometry);
  run_options.resident_blocks = static_cast<std::uint64_t>(resident_blocks(kernel, launch.geometry));
  run_options.host_threads = options_.host_threads;
  run_options.seed += options_.seed;
  GridLaunch grid;
  grid.program = kernel.program();
  grid.grid = static_cast<std::uint64_t>(launch.geometry.grid);
  grid.block = static_cast<std::uint32_t>(launch.geometry.block);
  grid.dynamic_shared_bytes = static_cast<std::uint32_t>(launch.geometry.shared_bytes);
  grid.parameters = parameters_of(launch, phase);
  grid.sm_count = static_cast<std::uint32_t>(std::max(1, info_.sm_count));
  grid.together = launch.geometry.together() > 1;
  grid.overlaps = launch.geometry.overlaps && info_.limits.major >= 9;
  // Phases and blocks that talk through a workspace differ in more than the bytes that they read.
  const std::int64_t workspace_bytes = launch.geometry.workspace_bytes;
  std::optional<WorkspaceCheck> check;
  if (workspace_bytes > 0) run_options.repeat = false;
  if (workspace_bytes > 0 && run_options.checks && grid.grid <= WorkspaceCheck::kMostBlocks)
    grid.workspace_check = &check.emplace(launch.workspace, workspace_bytes, grid.grid);
  const auto memory = memory_of(launch);
  try {
    return run(grid, *memory, run_options);
  } catch (const Error& error) {
    if (error.code() != StatusCode::device) throw;
    const Fault fault(error.what());
    const std::lock_guard lock(mutex_);
    if (options_.sticky_faults && !lost_) lost_ = std::make_exception_ptr(fault);
    throw fault;
  }
}

void SimDevice::launch(const Launch& launch, Stream /*stream*/) {
  std::unique_lock<std::mutex> alone(workspace_mutex_, std::defer_lock);
  if (launch.geometry.workspace_bytes > 0) alone.lock();
  for (int phase = 0; phase < launch.geometry.phases; ++phase) {
    // Blocks in another order each time: what depends on it shows as other bits in a second run.
    execute(launch, phase, {.checks = options_.checks, .seed = kernel_of(launch).count_launch()});
  }
}

void SimDevice::synchronize() {
  throw_if_lost();
}

LaunchCounts SimDevice::count(const Launch& launch) {
  const OwnWorkspace own(*memory_, launch);
  RunOptions sampled{.checks = false, .sampled_blocks = options_.sampled_blocks};
  const auto of_row = static_cast<std::uint64_t>(blocks_of_row(launch));
  sampled.sample_group = (sampled.sample_group + of_row - 1) / of_row * of_row;
  LaunchCounts counts = execute(own.launch(), 0, sampled);
  for (int phase = 1; phase < launch.geometry.phases; ++phase) counts.add(execute(own.launch(), phase, sampled));
  return counts;
}

ModelledTime SimDevice::model(const Launch& launch) {
  return model(launch, (launch.x == launch.y ? 1 : 2) * matrix_bytes(launch));
}

ModelledTime SimDevice::model(const Launch& launch, std::int64_t bytes_between_uses) {
  throw_if_lost();
  const SimKernel& kernel = kernel_of(launch);
  // Where the buffers lie matters to what a sector or a vector holds, not which they are.
  constexpr DevicePtr kAlign = 256;
  const TimeKey key{
      kernel.id(), launch.geometry.grid, launch.geometry.block, launch.geometry.shared_bytes, launch.M,
      launch.N,    launch.x % kAlign,    launch.y % kAlign,     launch.x == launch.y,         bytes_between_uses};
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = times_.find(key); known != times_.end()) return known->second;
  }
  const OwnWorkspace own(*memory_, launch);
  ModelledTime time = model_phase(own.launch(), 0, bytes_between_uses);
  for (int phase = 1; phase < launch.geometry.phases; ++phase)
    add(time, model_phase(own.launch(), phase, bytes_between_uses));
  const std::lock_guard lock(mutex_);
  return times_.emplace(key, time).first->second;
}

ModelledTime SimDevice::model_phase(const Launch& launch, int phase, std::int64_t bytes_between_uses) {
  const SimKernel& kernel = kernel_of(launch);
  const Schedule& schedule = kernel.schedule(model_->costs());
  const auto run = [&](const Launch& part, std::uint64_t blocks, std::uint64_t group) {
    return execute(part, phase,
                   {.checks = false, .sampled_blocks = blocks, .sample_group = group, .schedule = &schedule});
  };
  const auto counts = counts_.of(kernel.id(), phase, launch, run);
  return model_->launch({info_, *counts, kernel.resources(), launch.geometry, shared_bytes(kernel, launch.geometry),
                         launch.M, launch.N, bytes_between_uses, launch.element_bytes});
}

std::unique_ptr<Batch> SimDevice::record(std::span<const Launch> launches) {
  throw_if_lost();
  return std::make_unique<LaunchBatch>(*this, launches);
}

std::unique_ptr<Batch> SimDevice::record(std::span<const Copy> copies) {
  return std::make_unique<CopyBatch>(*this, copies);
}

double SimDevice::time_stream_us(const Launch& launch, int /*warmups*/, int launches) {
  if (launches < 1) throw_error(StatusCode::internal, "a time needs at least one launch");
  return model(launch).time_us;
}

}  // namespace softmax_dispatch::sim
