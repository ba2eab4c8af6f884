# shellcheck shell=bash disable=SC2034
# Set-up shared by ./quickstart and ./run-tests, which source it from the repository's root. Each function ends the script
# with exit 1 and a sentence on stderr where it cannot do its work.

say() { printf '%s\n' "$*" >&2; }
die() {
  say "$@"
  exit 1
}

# Debian packages whose presence shows as a program, and those that only dpkg knows of.
BUILD_TOOLS=(g++:g++ cmake:cmake ninja:ninja-build)
BUILD_LIBRARIES=(libfmt-dev libspdlog-dev libyaml-cpp-dev libcli11-dev nlohmann-json3-dev libxxhash-dev)
TEST_TOOLS=(clang-format:clang-format readelf:binutils python3:python3)
TEST_LIBRARIES=(libgtest-dev libgmock-dev)

# missing_packages TOOL:PACKAGE ... LIBRARY ... prints what is not installed.
missing_packages() {
  local entry
  for entry in "$@"; do
    case $entry in
      *:*) command -v "${entry%%:*}" >/dev/null || printf '%s\n' "${entry#*:}" ;;
      *) dpkg-query --show --showformat='${db:Status-Status}' "$entry" 2>/dev/null | grep -qx installed || printf '%s\n' "$entry" ;;
    esac
  done
}

# install_packages TOOL:PACKAGE ... LIBRARY ... installs what is missing.
install_packages() {
  if ! command -v apt-get >/dev/null; then
    say "This machine has no apt-get. Install these, under the names your distribution gives them: ${*##*:}"
    command -v g++ >/dev/null && command -v cmake >/dev/null && command -v ninja >/dev/null || exit 1
    return 0  # CMake names what it does not find.
  fi
  local missing
  mapfile -t missing < <(missing_packages "$@")
  [[ ${#missing[@]} -gt 0 ]] || return 0

  local root=()
  if [[ $(id -u) -ne 0 ]]; then
    command -v sudo >/dev/null || die "Missing Debian packages, and no sudo to install them: run 'apt-get install ${missing[*]}' as root."
    root=(sudo)
  fi
  say "Installing the Debian packages that are missing: ${missing[*]}"
  local apt=("${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300)
  "${apt[@]}" update >&2 || say "'apt-get update' failed; going on with the package lists there are."
  "${apt[@]}" install --yes --no-install-recommends "${missing[@]}" >&2 ||
    die "Could not install ${missing[*]}: install them by hand (apt-get install ${missing[*]}), then start this again."
}

# The build needs headers of the CUDA Toolkit; libcuda and libnvrtc are opened at run time.
require_cuda_headers() {
  local nvcc root
  nvcc=$(command -v nvcc) && nvcc=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
  for root in "${CUDAToolkit_ROOT:-}" "${CUDA_PATH:-}" "$nvcc" /usr/local/cuda /usr; do
    if [[ -n $root && -f $root/include/cuda.h && -f $root/include/cudaTypedefs.h && -f $root/include/nvrtc.h ]]; then
      return 0
    fi
  done
  die "The headers of the CUDA Toolkit (cuda.h, cudaTypedefs.h, nvrtc.h) were not found: install NVIDIA's CUDA Toolkit 12.0 or newer" \
    "(its packages cuda-nvcc, cuda-cudart-dev and cuda-nvrtc-dev are enough), or set CUDAToolkit_ROOT to where it lies."
}

# Jobs that cores and memory allow: a compilation takes up to 1.5 GB.
build_jobs() {
  local cores by_memory
  cores=$(nproc)
  by_memory=$(awk '/^MemAvailable:/ {print int($2 / 1500000)}' /proc/meminfo)
  local jobs=$((by_memory < cores ? by_memory : cores))
  printf '%s\n' $((jobs > 1 ? jobs : 1))
}

# configure PRESET [CMAKE ARGUMENTS ...]
configure() {
  local preset=$1 launcher=()
  shift
  # What ccache asks of users of precompiled headers, which the tests are.
  local ccache='env;CCACHE_SLOPPINESS=pch_defines,time_macros;ccache'
  command -v ccache >/dev/null && launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache "-DCMAKE_CXX_COMPILER_LAUNCHER=$ccache")
  cmake --preset "$preset" "${launcher[@]}" "$@" >&2 || die "CMake could not configure build/$preset: see its message above."
}

# build PRESET [CMAKE --build ARGUMENTS ...]
build() {
  local preset=$1
  shift
  cmake --build --preset "$preset" --parallel "$(build_jobs)" "$@" >&2 || die "The build in build/$preset failed: see the first error above."
}
