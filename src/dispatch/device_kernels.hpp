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

namespace softmax_dispatch::runtime {

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
  };

  Slot& slot(int index) noexcept { return slots_[static_cast<std::size_t>(index)]; }
  const Slot& slot(int index) const noexcept { return slots_[static_cast<std::size_t>(index)]; }
  const LoadedKernel* make_ready(const Candidate& candidate, Slot& slot);
  bool has_record(const Candidate& candidate, const std::string& code_hash) const;
  Outcomes::Verdict verify(const Candidate& candidate, const LoadedKernel& kernel, const std::string& code_hash);

  static const LoadedKernel kRejected;

  Backend& backend_;
  Device& device_;
  std::shared_ptr<const Decisions> decisions_;
  Outcomes outcomes_;
  std::vector<Slot> slots_;
};

}  // namespace softmax_dispatch::runtime
