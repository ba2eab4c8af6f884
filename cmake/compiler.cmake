# Warnings and sanitizers, shared by every target of the project.
add_library(softmax_dispatch_compiler INTERFACE)
target_compile_options(softmax_dispatch_compiler INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor -Woverloaded-virtual -Wold-style-cast)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # NOTE: at -O3 g++ 12 takes "text" + std::string for an overlapping copy.
  target_compile_options(softmax_dispatch_compiler INTERFACE $<$<CONFIG:Release>:-Wno-restrict>)
endif()
if(SOFTMAX_DISPATCH_WERROR)
  target_compile_options(softmax_dispatch_compiler INTERFACE -Werror)
endif()
if(SOFTMAX_DISPATCH_SANITIZE)
  # NOTE: g++ 12 sees uninitialised members in <regex> once AddressSanitizer is on.
  target_compile_options(softmax_dispatch_compiler INTERFACE -Wno-maybe-uninitialized)
  # NOTE: g++ warns that ThreadSanitizer does not follow atomic_thread_fence, by which the simulator executes PTX's fences.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(softmax_dispatch_compiler INTERFACE $<$<STREQUAL:${SOFTMAX_DISPATCH_SANITIZE},thread>:-Wno-tsan>)
  endif()
  target_compile_options(softmax_dispatch_compiler INTERFACE -fsanitize=${SOFTMAX_DISPATCH_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(softmax_dispatch_compiler INTERFACE -fsanitize=${SOFTMAX_DISPATCH_SANITIZE})
endif()
