#include "jit/sources.hpp"

#include "support/embedded.hpp"
#include "support/error.hpp"
#include "support/hash.hpp"

namespace softmax_dispatch::jit {
namespace {

constexpr std::string_view kHeaders = "common/", kBench = "bench/", kKernelSuffix = ".cu";

/// "copy" of "bench/copy.cu".
std::string id_of(std::string_view name) {
  if (name.starts_with(kBench)) name.remove_prefix(kBench.size());
  if (!name.ends_with(kKernelSuffix) || name.find('/') != std::string_view::npos) {
    throw_error(StatusCode::internal, "the embedded file '{}' is neither a kernel nor a header", name);
  }
  return std::string(name.substr(0, name.size() - kKernelSuffix.size()));
}

}  // namespace

const Sources& Sources::product() {
  static const Sources sources = [] {
    Sources made;
    for (const EmbeddedFile& file : embedded_kernels()) {
      if (file.name.starts_with(kHeaders)) {
        made.headers_.emplace(file.name, file.text);
      } else {
        made.add(id_of(file.name), std::string(file.text));
      }
    }
    return made;
  }();
  return sources;
}

void Sources::add(std::string id, std::string text) {
  kernels_.insert_or_assign(std::move(id), std::move(text));
}

bool Sources::has(std::string_view id) const {
  return kernels_.contains(id);
}

std::vector<std::string> Sources::ids() const {
  std::vector<std::string> names;
  for (const auto& [id, text] : kernels_) names.push_back(id);
  return names;
}

const std::string& Sources::text(std::string_view id) const {
  const auto found = kernels_.find(id);
  if (found == kernels_.end()) throw_error(StatusCode::internal, "there is no kernel source '{}'", id);
  return found->second;
}

std::string Sources::hash(std::string_view id) const {
  Hasher hasher;
  hasher.add(text(id));
  for (const auto& [name, header] : headers_) hasher.add(name).add(header);
  return hasher.hex();
}

std::vector<Header> Sources::headers() const {
  std::vector<Header> all;
  for (const auto& [name, header] : headers_) all.push_back({name, header});
  return all;
}

}  // namespace softmax_dispatch::jit
