#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <softmax_dispatch/status.hpp>
#include <string>
#include <vector>

#include "dispatch/backend.hpp"
#include "dispatch/decisions.hpp"
#include "dispatch/outcomes.hpp"
#include "dispatch/residency.hpp"
#include "dispatch/workspaces.hpp"

namespace softmax_dispatch::runtime {

/// A kernel to launch for a problem, with all that its launch needs.
struct Choice {
  const LoadedKernel* kernel = nullptr;  ///< Null: none.
  Geometry geometry;
  DevicePtr workspace = 0;
};

/// The candidates of a Decisions on one device. Each is cold, ready, or rejected for good: because it uses local
/// memory, or failed its verification on this device. Reading the state takes no lock; making a candidate ready
/// compiles it once however many threads ask.
class DeviceKernels {
 public:
  DeviceKernels(Backend& backend, Device& device, std::shared_ptr<const Decisions> decisions);

  const Decisions& decisions() const noexcept { return *decisions_; }
  Device& device() const noexcept { return device_; }

  /// The loaded kernel of a candidate that is ready, else null.
  const LoadedKernel* ready(int index) const noexcept {
    const LoadedKernel* kernel = slot(index).state.load(std::memory_order_acquire);
    return kernel == &kRejected ? nullptr : kernel;
  }
  bool rejected(int index) const noexcept { return slot(index).state.load(std::memory_order_acquire) == &kRejected; }

  enum class State : std::uint8_t {
    ready,    ///< `choice` can be launched.
    cold,     ///< Cold work would tell.
    useless,  ///< It is rejected, or the device cannot hold what must be on it together, or has no workspace for it.
  };
  /// Takes no lock and allocates nothing; throws Error(device).
  State take(int index, const Problem& problem, Stream stream, Choice& choice);

  /// Cold work for one problem in a stream that is not captured: prepare(), and what of the launch is not known or not
  /// reserved yet. Whether the candidate can be launched; if not, why.
  Support prepare(int index, const Problem& problem, Stream stream, Choice& choice);

  /// Cold work: compiles, loads and, where no record covers the code on this device, verifies. Returns the kernel, or
  /// null where the candidate is (or has been) rejected. Throws what may be gone at the next try: Error(toolchain),
  /// (device).
  const LoadedKernel* prepare(int index);

  /// Why a candidate is rejected.
  std::string rejection(int index) const;

 private:
  struct Slot {
    std::atomic<const LoadedKernel*> state{nullptr};  ///< Null: cold.
    std::atomic<unsigned> failures{0};                ///< Attempts that threw.
    mutable std::mutex mutex;                         ///< Guards what follows, and is held by the thread at work.
    std::shared_ptr<const LoadedKernel> kernel;
    Status last_failure;
    std::string rejection;
    Residency residency;  ///< Noted under the mutex.
  };

  Slot& slot(int index) noexcept { return slots_[static_cast<std::size_t>(index)]; }
  const Slot& slot(int index) const noexcept { return slots_[static_cast<std::size_t>(index)]; }
  const LoadedKernel* make_ready(const Candidate& candidate, Slot& slot);
  Geometry geometry_of(int index, const Problem& problem) const;
  Support fits(int index, const LoadedKernel& kernel, const Geometry& geometry);
  bool has_record(const Candidate& candidate, const std::string& code_hash) const;
  Outcomes::Verdict verify(const Candidate& candidate, const LoadedKernel& kernel, const std::string& code_hash);

  static const LoadedKernel kRejected;

  Backend& backend_;
  Device& device_;
  std::shared_ptr<const Decisions> decisions_;
  Outcomes outcomes_;
  std::vector<Slot> slots_;
  Workspaces workspaces_;
};

}  // namespace softmax_dispatch::runtime
