#pragma once

namespace softmax_dispatch {

/// What a compiled kernel takes, as ptxas reports it.
struct Resources {
  int registers = 0;  ///< Per thread; 0: not known.
  int stack_bytes = 0;
  int spill_store_bytes = 0;
  int spill_load_bytes = 0;
  int shared_bytes = 0;  ///< Static.

  /// A private array or spilled registers live in local memory, which is device memory: such a kernel is not eligible.
  bool uses_local_memory() const noexcept { return stack_bytes > 0 || spill_store_bytes > 0 || spill_load_bytes > 0; }
  friend bool operator==(const Resources&, const Resources&) = default;
};

}  // namespace softmax_dispatch
