#include "jit/compiler.hpp"

#include <chrono>
#include <optional>
#include <utility>

#include "jit/entry.hpp"
#include "support/error.hpp"
#include "support/hash.hpp"
#include "support/log.hpp"
#include "support/text.hpp"

namespace softmax_dispatch::jit {
namespace {

std::vector<std::string> options_of(const Macros& macros) {
  std::vector<std::string> options = Compiler::flags();
  for (const auto& [name, value] : macros.constants) options.push_back(fmt::format("-D{}={}", name, value));
  if (macros.type) options.push_back(fmt::format("-DTYPE={}", to_string(*macros.type)));
  return options;
}

void check_entry(const std::string& id, const std::string& log) {
  const std::vector<std::string> entries = parse_entries(log);
  if (entries.size() == 1 && entries.front() == id) return;
  throw_error(StatusCode::toolchain,
              "the source of kernel {} must have one extern \"C\" __global__ function, {}; it has {}", id, id,
              entries.empty() ? "none" : join(entries, ", "));
}

}  // namespace

Compiler::Compiler(std::shared_ptr<const Nvrtc> nvrtc, const Sources& sources, std::shared_ptr<Cache> cache,
                   Output output)
    : nvrtc_(std::move(nvrtc)), sources_(sources), cache_(std::move(cache)), output_(output) {}

const std::vector<std::string>& Compiler::flags() {
  // -v makes ptxas report the resources. The working directory, which NVRTC would search for headers, stays out of it.
  static const std::vector<std::string> all{"-std=c++17", "--ptxas-options=-v", "--no-source-include"};
  return all;
}

CompiledKernel Compiler::compile(const std::string& id, const Macros& macros, const std::string& arch) const {
  CompiledKernel kernel;
  kernel.entry = id;
  kernel.source_hash = sources_.hash(id);
  const std::vector<std::string> options = options_of(macros);
  Hasher key_of;
  key_of.add(id).add(kernel.source_hash).add(join(options, " ")).add(arch).add(nvrtc_->build());
  if (output_ == Output::ptx) key_of.add("ptx");
  const std::string key = key_of.hex();

  std::optional<Entry> entry;
  if (cache_) {
    if (const auto text = cache_->get(key)) entry = parse_entry(*text);
  }
  if (!entry) {
    const auto begin = std::chrono::steady_clock::now();
    NvrtcOutput output = nvrtc_->compile(id, sources_.text(id), sources_.headers(), arch, options);
    kernel.compile_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    log(LogLevel::debug, "compiled {} {} for {}: {}", id, to_string(macros), arch, output.log);
    check_entry(id, output.log);
    entry = Entry{parse_resources(output.log), hash_hex(output.image),
                  std::move(output_ == Output::ptx ? output.ptx : output.image)};
    if (cache_) cache_->put(key, to_text(*entry));
  }
  kernel.resources = entry->resources;
  kernel.image = std::move(entry->image);
  kernel.code_hash = std::move(entry->code_hash);
  return kernel;
}

std::string Compiler::compile_ptx(const std::string& id, const Macros& macros, const std::string& arch,
                                  bool line_information) const {
  constexpr std::string_view kReal = "sm_";
  const std::string target = arch.starts_with(kReal) ? "compute_" + arch.substr(kReal.size()) : arch;
  std::vector<std::string> options = options_of(macros);
  if (line_information) options.emplace_back("-lineinfo");
  return nvrtc_->compile(id, sources_.text(id), sources_.headers(), target, options).image;
}

}  // namespace softmax_dispatch::jit
