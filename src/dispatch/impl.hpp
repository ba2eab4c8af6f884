#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <softmax_dispatch/dispatcher.hpp>
#include <span>
#include <string>
#include <vector>

#include "dispatch/backend.hpp"
#include "dispatch/decision_source.hpp"
#include "dispatch/device_kernels.hpp"
#include "support/config.hpp"

namespace softmax_dispatch {

/// The dispatcher itself. Its functions throw Error; Dispatcher's turn that into a Status.
struct [[gnu::visibility("hidden")]] Dispatcher::Impl {
  Impl(runtime::DecisionSource source, runtime::Backend & backend);

  void dispatch(const void* x, void* y, const Problem& problem, Stream stream);
  void prewarm(std::span<const Problem> problems);
  Config choice(const Problem& problem, const std::string& arch) const;

 private:
  /// Ordinals below this are served; a process sees far fewer GPUs.
  static constexpr int kMaxDevices = 64;

  static void launch(const runtime::DeviceKernels& kernels, const runtime::Choice& choice, const void* x, void* y,
                     const Problem& problem, Stream stream);
  void dispatch_cold(int ordinal, const void* x, void* y, const Problem& problem, Stream stream);
  /// Makes the first candidate ready that is not rejected; where it needs a workspace, and `with_substitute`, the
  /// first one that needs none as well.
  static runtime::Choice prepare(runtime::DeviceKernels & kernels, const Problem& problem, table::Alignment alignment,
                                 Stream stream, bool with_substitute);
  /// The first candidate that can be launched in a stream that is being captured. Throws Error(not_warmed).
  runtime::Choice take_while_capturing(int ordinal, const Problem& problem, table::Alignment alignment, Stream stream)
      const;
  /// Null before the first call on that device.
  runtime::DeviceKernels* find_device(int ordinal) const noexcept;
  runtime::DeviceKernels& get_device(int ordinal);

  runtime::Backend& backend_;
  runtime::DecisionSource source_;
  /// Null until the first call on that device; then never changed.
  std::array<std::atomic<runtime::DeviceKernels*>, kMaxDevices> devices_{};
  std::mutex mutex_;  ///< Guards owned_.
  std::vector<std::unique_ptr<runtime::DeviceKernels>> owned_;
};

}  // namespace softmax_dispatch
