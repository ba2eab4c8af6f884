# What the build needs. The CUDA Toolkit is needed for its headers alone: libcuda and libnvrtc are opened at run time.
find_package(CUDAToolkit QUIET)
if(NOT CUDAToolkit_FOUND)
  message(FATAL_ERROR
    "softmax_dispatch needs the headers of the CUDA Toolkit 12.0 or newer (cuda.h, cudaTypedefs.h, nvrtc.h): "
    "install the packages cuda-nvcc, cuda-cudart-dev and cuda-nvrtc-dev of a CUDA release, or set CUDAToolkit_ROOT to where it lies.")
endif()
if(CUDAToolkit_VERSION VERSION_LESS 12.0)
  message(FATAL_ERROR "softmax_dispatch needs the CUDA Toolkit 12.0 or newer; found ${CUDAToolkit_VERSION} in ${CUDAToolkit_INCLUDE_DIRS}.")
endif()
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(yaml-cpp REQUIRED)
find_path(SOFTMAX_DISPATCH_XXHASH_INCLUDE_DIR xxhash.h DOC "Folder of xxhash.h (Debian: libxxhash-dev)")
if(NOT SOFTMAX_DISPATCH_XXHASH_INCLUDE_DIR)
  message(FATAL_ERROR "softmax_dispatch needs xxhash.h: install libxxhash-dev, or set SOFTMAX_DISPATCH_XXHASH_INCLUDE_DIR.")
endif()
mark_as_advanced(SOFTMAX_DISPATCH_XXHASH_INCLUDE_DIR)

# yaml-cpp 0.7 exports a plain target, 0.8 a namespaced one.
if(NOT TARGET yaml-cpp::yaml-cpp)
  add_library(yaml-cpp::yaml-cpp INTERFACE IMPORTED)
  set_target_properties(yaml-cpp::yaml-cpp PROPERTIES INTERFACE_LINK_LIBRARIES yaml-cpp)
endif()

if(SOFTMAX_DISPATCH_BUILD_TUNE OR SOFTMAX_DISPATCH_BUILD_TESTS)
  find_package(CLI11 REQUIRED)
  find_package(nlohmann_json REQUIRED)
endif()
if(SOFTMAX_DISPATCH_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()
