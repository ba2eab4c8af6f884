#include "unit/dispatch/allocations.hpp"

#include <cstdlib>
#include <new>

namespace {

thread_local std::int64_t count = 0;

void* counted(std::size_t bytes) {
  ++count;
  if (void* memory = std::malloc(bytes ? bytes : 1)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t bytes) {
  return counted(bytes);
}
void* operator new[](std::size_t bytes) {
  return counted(bytes);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace softmax_dispatch::testing {

std::int64_t allocations() noexcept {
  return count;
}

}  // namespace softmax_dispatch::testing
