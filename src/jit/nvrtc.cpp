#include "jit/nvrtc.hpp"

#include <array>
#include <map>
#include <mutex>

#include "jit/nvrtc_library.hpp"
#include "support/env.hpp"
#include "support/error.hpp"
#include "support/text.hpp"

namespace softmax_dispatch::jit {
namespace {

/// Newest first. The second of each is where NVIDIA's installer puts it without telling the dynamic linker.
struct Candidate {
  int major;
  const char* name;
};
constexpr std::array<Candidate, 4> kCandidates{{
    {13, "libnvrtc.so.13"},
    {13, "/usr/local/cuda/lib64/libnvrtc.so.13"},
    {12, "libnvrtc.so.12"},
    {12, "/usr/local/cuda/lib64/libnvrtc.so.12"},
}};

/// Each library is opened and probed once in the process, and kept to its very end.
std::shared_ptr<const Nvrtc> open_once(const std::string& name) {
  static std::mutex mutex;
  static auto& opened = *new std::map<std::string, std::shared_ptr<const Nvrtc>>;
  const std::lock_guard lock(mutex);
  std::shared_ptr<const Nvrtc>& slot = opened[name];
  if (!slot) slot = std::make_shared<const NvrtcLibrary>(name);
  return slot;
}

std::string install_hint(int max_major) {
  const int major = max_major == 0 ? kCandidates.front().major : max_major;
  return fmt::format(
      "install NVRTC of CUDA {0} (Debian package cuda-nvrtc-{0}-x, or Python package nvidia-cuda-nvrtc), and set "
      "SOFTMAX_DISPATCH_NVRTC to the path of its libnvrtc.so.{0} where the dynamic linker does not find it",
      major);
}

bool too_new(int major, int max_major) {
  return max_major != 0 && major > max_major;
}

std::shared_ptr<const Nvrtc> open_named(const std::string& path, int max_major) {
  std::shared_ptr<const Nvrtc> nvrtc;
  try {
    nvrtc = open_once(path);
  } catch (const Error& error) {
    throw_error(StatusCode::toolchain,
                "cannot use '{}' as NVRTC: {}; name another libnvrtc, or none to have it searched", path, error.what());
  }
  if (too_new(nvrtc->major(), max_major)) {
    throw_error(StatusCode::toolchain, "{} is NVRTC {}, whose code the driver of CUDA {} does not load; {}", path,
                nvrtc->build(), max_major, install_hint(max_major));
  }
  return nvrtc;
}

}  // namespace

std::shared_ptr<const Nvrtc> Nvrtc::open(const std::string& path, int max_major) {
  if (!path.empty()) return open_named(path, max_major);
  if (const auto named = env::nvrtc()) return open_named(*named, max_major);
  std::vector<std::string> tried;
  for (const Candidate& candidate : kCandidates) {
    if (too_new(candidate.major, max_major)) {
      tried.push_back(fmt::format("{} (left out: newer than the driver's CUDA {})", candidate.name, max_major));
      continue;
    }
    try {
      return open_once(candidate.name);
    } catch (const Error& error) {
      tried.push_back(fmt::format("{} ({})", candidate.name, error.what()));
    }
  }
  throw_error(StatusCode::toolchain, "no NVRTC was found; tried {}. {}", join(tried, ", "), install_hint(max_major));
}

}  // namespace softmax_dispatch::jit
