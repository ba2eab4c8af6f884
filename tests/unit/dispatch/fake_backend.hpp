#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dispatch/backend.hpp"
#include "support/config.hpp"
#include "support/fake_device.hpp"

namespace softmax_dispatch::testing {

/// A fake device with an ordinal and a name of its own.
class NamedDevice : public FakeDevice {
 public:
  NamedDevice(int ordinal, const std::string& name, const std::string& arch) : FakeDevice(arch) {
    named_ = FakeDevice::info();
    named_.ordinal = ordinal;
    named_.name = name;
  }
  const DeviceInfo& info() const override { return named_; }
  DeviceInfo& mutable_info() { return named_; }

 private:
  DeviceInfo named_;
};

inline verify::Outcome pass() {
  verify::Outcome outcome;
  outcome.passed = true;
  return outcome;
}
inline verify::Outcome fail(const std::string& reason) {
  verify::Outcome outcome;
  outcome.reason = reason;
  return outcome;
}

/// A graph that is being captured, and what it calls when a test destroys it.
struct FakeGraph {
  std::vector<std::pair<void (*)(void*), void*>> on_destruction;
  void destroy() {
    for (const auto& [f, argument] : std::exchange(on_destruction, {})) f(argument);
  }
};
/// The capture of a thread.
struct ThreadCapture {
  std::uint64_t id = 0;
  FakeGraph graph;
};

/// Devices and a compiler that count what is asked of them. What the hooks return can be changed by a test before it
/// makes calls.
class FakeBackend : public runtime::Backend {
 public:
  explicit FakeBackend(const std::vector<std::string>& archs = {"sm_90"}) {
    for (std::size_t i = 0; i < archs.size(); ++i) {
      devices_.push_back(std::make_unique<NamedDevice>(static_cast<int>(i), "fake GPU " + std::to_string(i), archs[i]));
    }
  }

  /// The code hash that compile() gives a configuration: the text that a table's record must hold to match.
  static std::string code_hash(const std::string& id, const Macros& macros) {
    return "code of " + to_string(Config{id, macros.constants, macros.type.value_or(DType::f32)});
  }

  std::function<jit::CompiledKernel(jit::CompiledKernel)> on_compile = [](jit::CompiledKernel k) { return k; };
  std::function<verify::Outcome(const Config&)> on_verify = [](const Config&) { return pass(); };
  std::set<Stream> capturing;
  using Graph = FakeGraph;
  std::uint64_t capture_id = 1;
  Graph* graph_under_way = nullptr;
  /// With graph_of_thread every thread captures into a graph of its own.
  static inline thread_local ThreadCapture thread_capture;
  bool graph_of_thread = false;
  std::uint64_t context = 1;
  std::shared_ptr<jit::Cache> disk;

  std::atomic<int> compiles{0}, loads{0}, verifications{0}, cold_runs{0}, allocations{0}, device_queries{0};
  /// The device that the calling thread's calls go to.
  static inline thread_local int current = 0;

  NamedDevice& named(int ordinal) { return *devices_.at(static_cast<std::size_t>(ordinal)); }
  std::int64_t launches() const {
    std::int64_t total = 0;
    for (const auto& device : devices_) total += device->launches();
    return total;
  }

  int current_device() override {
    ++device_queries;
    return current;
  }
  Device& device(int ordinal) override { return named(ordinal); }
  bool is_capturing(Stream stream) override { return capturing.contains(stream); }
  StreamUse stream_use(Stream stream) override {
    StreamUse use;
    use.stream = reinterpret_cast<std::uintptr_t>(stream);
    if (!capturing.contains(stream)) return use;
    use.capture = graph_of_thread ? thread_capture.id : capture_id;
    use.graph = graph_of_thread ? &thread_capture.graph : graph_under_way;
    return use;
  }
  std::uint64_t current_context() override { return context; }
  void when_destroyed(void* of, void (*f)(void*), void* argument) override {
    const std::lock_guard lock(graph_mutex_);
    static_cast<Graph*>(of)->on_destruction.emplace_back(f, argument);
  }
  DevicePtr allocate_zeroed(Device& device, std::size_t bytes) override {
    ++allocations;
    const std::lock_guard lock(device_mutex_);
    const DevicePtr made = device.allocate(bytes);
    device.fill(made, 0, bytes);
    return made;
  }
  void release(Device& device, DevicePtr pointer) override {
    const std::lock_guard lock(device_mutex_);
    device.release(pointer);
  }
  void run_cold(const std::function<void()>& work) override {
    ++cold_runs;
    work();
  }
  jit::CompiledKernel compile(const std::string& id, const Macros& macros, const std::string&) override {
    ++compiles;
    return on_compile(
        {.entry = id, .image = "image", .code_hash = code_hash(id, macros), .source_hash = "", .resources = {}});
  }
  std::shared_ptr<const LoadedKernel> load(Device& device, const jit::CompiledKernel& compiled) override {
    ++loads;
    const std::lock_guard lock(device_mutex_);
    return device.load(compiled.image, compiled.entry, compiled.resources);
  }
  verify::Outcome verify(Device&, const Variant& variant, DType dtype, const Constants& constants,
                         const LoadedKernel&) override {
    ++verifications;
    return on_verify(Config{std::string(variant.id()), constants, dtype});
  }
  std::shared_ptr<jit::Cache> cache() override { return disk; }

 private:
  std::vector<std::unique_ptr<NamedDevice>> devices_;
  std::mutex device_mutex_, graph_mutex_;
};

}  // namespace softmax_dispatch::testing
