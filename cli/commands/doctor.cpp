#include <fmt/core.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/console.hpp"
#include "cli/json.hpp"
#include "cli/machine.hpp"
#include "cli/tables.hpp"
#include "device/sim/open.hpp"
#include "jit/cache.hpp"
#include "support/env.hpp"
#include "support/error.hpp"
#include "support/text.hpp"

namespace softmax_dispatch::cli {
namespace {

/// What was looked at: a line for people, the figures for programs, and what to do where something is missing.
struct Finding {
  std::string name, text;
  Json json;
  std::string advice;
};

Finding driver_finding(const Machine& machine) {
  if (!machine.driver_version) {
    return {"driver",
            "none",
            {{"found", false}},
            "driver: " + machine.why_none + "; without a GPU, a tune of an architecture that is simulated still works"};
  }
  const std::string version = version_text(*machine.driver_version);
  return {"driver", "CUDA " + version, {{"found", true}, {"cuda_version", version}}, {}};
}

Json gpu_json(const DeviceInfo& gpu) {
  return {{"name", gpu.name},
          {"arch", gpu.arch},
          {"sm_count", gpu.sm_count},
          {"l2_bytes", gpu.l2_bytes},
          {"memory_bytes", gpu.memory_bytes},
          {"memory_bus_bits", gpu.memory_bus_bits},
          {"dram_peak_gb_per_s", gpu.dram_peak_gb_per_s()}};
}

Finding gpus_finding(const Machine& machine) {
  Finding finding{"devices", "none", Json::array(), {}};
  if (machine.gpus.empty()) {
    if (machine.driver_version) finding.advice = "devices: " + machine.why_none;
    return finding;
  }
  finding.text.clear();
  for (const DeviceInfo& gpu : machine.gpus) {
    finding.text +=
        fmt::format("{}{}, {} SMs, {} MiB L2, {} MiB, DRAM peak {:.0f} GB/s", finding.text.empty() ? "" : "; ",
                    gpu_text(gpu), gpu.sm_count, gpu.l2_bytes >> 20, gpu.memory_bytes >> 20, gpu.dram_peak_gb_per_s());
    finding.json.push_back(gpu_json(gpu));
    finding.json.back()["ordinal"] = gpu.ordinal;
  }
  return finding;
}

std::string simulated_text() {
  std::vector<std::string> texts;
  for (const std::string& arch : sim::simulated_archs()) texts.push_back(gpu_text(*sim::simulated_info(arch)));
  return join(texts, ", ");
}

Finding simulated_finding() {
  Finding finding{"simulated", simulated_text(), Json::array(), {}};
  for (const std::string& arch : sim::simulated_archs()) finding.json.push_back(gpu_json(*sim::simulated_info(arch)));
  return finding;
}

Finding nvrtc_finding(const Machine& machine) {
  std::string why = "the newest found; there is no driver to match";
  if (env::nvrtc()) {
    why = "SOFTMAX_DISPATCH_NVRTC names it";
  } else if (machine.driver_version) {
    why = fmt::format("the newest found that is not of a later major version than the driver's CUDA {}",
                      version_text(*machine.driver_version));
  }
  try {
    const auto nvrtc = jit::Nvrtc::open({}, machine.driver_version.value_or(0) / 1000);
    return {"nvrtc",
            fmt::format("{} at {} ({})", nvrtc->build(), nvrtc->path(), why),
            {{"found", true}, {"build", nvrtc->build()}, {"path", nvrtc->path()}, {"why", why}},
            {}};
  } catch (const Error& error) {
    return {"nvrtc", "none", {{"found", false}}, std::string("nvrtc: ") + error.what()};
  }
}

/// Throws where the folder, or the one in which it would be made, takes no file.
void check_writable_folder(std::filesystem::path folder) {
  while (!std::filesystem::exists(folder) && folder.has_relative_path()) folder = folder.parent_path();
  check_writable(folder / "entry");
}

Finding cache_finding() {
  const auto cache = jit::Cache::user_default();
  if (!cache) {
    return {
        "cache",
        "off",
        {{"directory", nullptr}, {"entries", 0}, {"bytes", 0}},
        "cache: unset SOFTMAX_DISPATCH_CACHE=off, or set it to a folder, and kernels are not compiled anew in every "
        "process"};
  }
  const jit::Cache::Usage usage = cache->usage();
  Finding finding{"cache",
                  fmt::format("{}: {} entries, {:.1f} MiB", cache->directory().string(), usage.entries,
                              static_cast<double>(usage.bytes) / (1 << 20)),
                  {{"directory", cache->directory().string()}, {"entries", usage.entries}, {"bytes", usage.bytes}},
                  {}};
  const Status writable = guarded([&] { check_writable_folder(cache->directory()); });
  if (!writable.ok()) finding.advice = std::string("cache: ") + writable.message();
  return finding;
}

/// The table that a program on the first GPU would dispatch on.
Finding table_finding(const Machine& machine) {
  const std::string arch = machine.gpus.empty() ? "" : machine.gpus.front().arch;
  const std::string tune = fmt::format("softmax-tune --arch {} --out table.yaml", arch.empty() ? "sm_NN" : arch);
  if (const auto path = env::table()) {
    Finding finding{
        "table", fmt::format("{} (SOFTMAX_DISPATCH_TABLE)", *path), {{"source", "environment"}, {"path", *path}}, {}};
    const Status status = guarded([&] {
      const std::string made_for = load_table(*path).device.arch;
      if (!arch.empty() && made_for != arch) {
        throw_error(StatusCode::bad_table, "{} is for {}, but this GPU is {}: make one with `{}`", *path, made_for,
                    arch, tune);
      }
    });
    finding.json["valid"] = status.ok();
    if (!status.ok()) finding.advice = std::string("table: ") + status.message();
    return finding;
  }
  if (!arch.empty() && table::shipped(arch)) {
    return {"table", "shipped for " + arch, {{"source", "shipped"}, {"arch", arch}}, {}};
  }
  return {"table",
          "none: a rule chooses among verified kernels",
          {{"source", "rule"}},
          fmt::format("table: `{}` makes one; name it in SOFTMAX_DISPATCH_TABLE", tune)};
}

}  // namespace

int run(const DoctorOptions& options) {
  const Machine machine = look_at_machine();
  const std::vector<Finding> findings{driver_finding(machine), nvrtc_finding(machine), gpus_finding(machine),
                                      simulated_finding(),     cache_finding(),        table_finding(machine)};
  const bool has_nvrtc = findings[1].json["found"].get<bool>();
  const int code = machine.gpus.empty() ? kNoDevice : has_nvrtc ? kDone : kFailed;

  Json json = Json::object();
  Json advice = Json::array();
  TextTable table({"what", "found"});
  std::string advice_text;
  for (const Finding& finding : findings) {
    json[finding.name] = finding.json;
    table.add({finding.name, finding.text});
    if (finding.advice.empty()) continue;
    advice.push_back(finding.advice);
    advice_text += "- " + finding.advice + "\n";
  }
  json["advice"] = std::move(advice);
  json["ready"] = code == kDone;
  if (options.json) {
    print_json(json);
  } else {
    std::string verdict = code == kDone ? "ready to tune" : "not ready to tune";
    if (machine.gpus.empty() && has_nvrtc) verdict = "no GPU to tune: ready to tune for " + simulated_text();
    print(table.text() + "\n" + verdict + "\n" + advice_text);
  }
  return code;
}

}  // namespace softmax_dispatch::cli
