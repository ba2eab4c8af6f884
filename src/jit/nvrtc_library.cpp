#include "jit/nvrtc_library.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "support/dynamic_library.hpp"
#include "support/error.hpp"
#include "support/text.hpp"

namespace softmax_dispatch::jit {
namespace {

constexpr int kLeastMajor = 12;
constexpr std::string_view kReal = "sm_", kVirtual = "compute_";

/// "13.0.88" from the comment "// Cuda compilation tools, release 13.0, V13.0.88" in the PTX; empty where there is
/// none.
std::string build_of(std::string_view ptx) {
  constexpr std::string_view kBefore = "Cuda compilation tools, release ";
  const auto line = ptx.find(kBefore);
  if (line == std::string_view::npos) return {};
  std::string_view rest = ptx.substr(line, ptx.find('\n', line) - line);
  const auto version = rest.rfind('V');
  if (version == std::string_view::npos) return {};
  return std::string(trim(rest.substr(version + 1)));
}

}  // namespace

NvrtcLibrary::NvrtcLibrary(const std::string& name) {
  resolve_functions(name);
  check(Version_(&major_, &minor_), "tell the version", "itself");
  build_ = fmt::format("{}.{}", major_, minor_);
  if (major_ < kLeastMajor) {
    throw_error(StatusCode::toolchain, "{} is NVRTC {}, and {}.0 is the oldest that works", path_, build_, kLeastMajor);
  }
  open_builtins();
  read_archs();
  const NvrtcOutput probe =
      compile("probe", "extern \"C\" __global__ void probe() {}", {}, fmt::format("compute_{}", archs_.front()), {});
  if (std::string build = build_of(probe.image); !build.empty()) build_ = std::move(build);
}

void NvrtcLibrary::resolve_functions(const std::string& file) {
  const DynamicLibrary library(file);
  if (!library.ok()) throw_error(StatusCode::toolchain, "{}", library.error());
  path_ = library.path();
#define SOFTMAX_DISPATCH_RESOLVE(name)                                                                \
  name##_ = library.function<decltype(name##_)>("nvrtc" #name);                                       \
  if (!name##_) {                                                                                     \
    throw_error(StatusCode::toolchain, "{} is no NVRTC 12.0 or newer: it has no nvrtc" #name, path_); \
  }
  SOFTMAX_DISPATCH_NVRTC_FUNCTIONS(SOFTMAX_DISPATCH_RESOLVE)
#undef SOFTMAX_DISPATCH_RESOLVE
}

void NvrtcLibrary::open_builtins() const {
  // NVRTC asks for its builtins by name at the first compilation. Opened by path, its folder is not where they are
  // looked for, but a library of that name that is already open is taken.
  const auto beside =
      std::filesystem::path(path_).parent_path() / fmt::format("libnvrtc-builtins.so.{}.{}", major_, minor_);
  const DynamicLibrary builtins(beside.string());
}

void NvrtcLibrary::read_archs() {
  int count = 0;
  check(GetNumSupportedArchs_(&count), "list the architectures", "itself");
  archs_.resize(static_cast<std::size_t>(count));
  check(GetSupportedArchs_(archs_.data()), "list the architectures", "itself");
  std::sort(archs_.begin(), archs_.end());
  if (archs_.empty()) throw_error(StatusCode::toolchain, "{} supports no architecture", path_);
}

void NvrtcLibrary::check_arch(const std::string& arch) const {
  const std::string_view prefix = arch.starts_with(kVirtual) ? kVirtual : kReal;
  const auto number = arch.starts_with(prefix) ? parse_int(std::string_view(arch).substr(prefix.size())) : std::nullopt;
  if (number && std::find(archs_.begin(), archs_.end(), *number) != archs_.end()) return;
  std::vector<std::string> names;
  for (const int one : archs_) names.push_back(fmt::format("sm_{}", one));
  throw_error(StatusCode::toolchain, "NVRTC {} does not compile for '{}'; it compiles for {}", build_, arch,
              join(names, ", "));
}

void NvrtcLibrary::check(nvrtcResult result, const char* what, const std::string& of) const {
  if (result == NVRTC_SUCCESS) return;
  throw_error(StatusCode::toolchain, "{} cannot {} of {}: {} ({})", path_, what, of, GetErrorString_(result),
              static_cast<int>(result));
}

/// A source under compilation.
class NvrtcLibrary::Program {
 public:
  Program(const NvrtcLibrary& library, std::string name, std::string_view source, std::span<const Header> headers)
      : library_(library), name_(std::move(name)) {
    std::vector<std::string> texts, names;
    for (const Header& header : headers) {
      texts.emplace_back(header.text);
      names.emplace_back(header.name);
    }
    check(library_.CreateProgram_(&handle_, std::string(source).c_str(), (name_ + ".cu").c_str(),
                                  static_cast<int>(headers.size()), pointers(texts).data(), pointers(names).data()),
          "take the source");
  }
  ~Program() { library_.DestroyProgram_(&handle_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  nvrtcResult compile(const std::vector<std::string>& options) {
    return library_.CompileProgram_(handle_, static_cast<int>(options.size()), pointers(options).data());
  }
  std::string log() const {
    return std::string(trim(text(library_.GetProgramLogSize_, library_.GetProgramLog_, "give the log")));
  }
  std::string cubin() const { return bytes(library_.GetCUBINSize_, library_.GetCUBIN_, "give the cubin"); }
  std::string ptx() const { return text(library_.GetPTXSize_, library_.GetPTX_, "give the PTX"); }

 private:
  using SizeOf = nvrtcResult (*)(nvrtcProgram, std::size_t*);
  using Read = nvrtcResult (*)(nvrtcProgram, char*);

  static std::vector<const char*> pointers(const std::vector<std::string>& strings) {
    std::vector<const char*> all;
    all.reserve(strings.size());
    for (const std::string& one : strings) all.push_back(one.c_str());
    return all;
  }
  void check(nvrtcResult result, const char* what) const { library_.check(result, what, name_); }
  std::string bytes(SizeOf size_of, Read read, const char* what) const {
    std::size_t size = 0;
    check(size_of(handle_, &size), what);
    std::string content(size, '\0');
    check(read(handle_, content.data()), what);
    return content;
  }
  /// Without the null character that NVRTC counts with.
  std::string text(SizeOf size_of, Read read, const char* what) const {
    std::string content = bytes(size_of, read, what);
    content.resize(std::min(content.find('\0'), content.size()));
    return content;
  }

  const NvrtcLibrary& library_;
  std::string name_;
  nvrtcProgram handle_ = nullptr;
};

NvrtcOutput NvrtcLibrary::compile(const std::string& name, std::string_view source, std::span<const Header> headers,
                                  const std::string& arch, const std::vector<std::string>& options) const {
  check_arch(arch);
  Program program(*this, name, source, headers);
  std::vector<std::string> all{"--gpu-architecture=" + arch};
  // Where a driver is present, NVRTC from 12.9 on takes a kernel it has seen from the driver's cache, without the
  // report of ptxas that tells its resources.
  if (std::pair(major_, minor_) >= std::pair(12, 9)) all.emplace_back("--no-cache");
  all.insert(all.end(), options.begin(), options.end());
  const nvrtcResult result = program.compile(all);
  NvrtcOutput output;
  output.log = program.log();
  if (result != NVRTC_SUCCESS) {
    throw_error(StatusCode::toolchain, "NVRTC {} refused kernel {} with {}: {} ({})\n{}", build_, name, join(all, " "),
                GetErrorString_(result), static_cast<int>(result), output.log);
  }
  if (arch.starts_with(kVirtual)) {
    output.image = program.ptx();
  } else {
    output.image = program.cubin();
    output.ptx = program.ptx();
  }
  return output;
}

}  // namespace softmax_dispatch::jit
