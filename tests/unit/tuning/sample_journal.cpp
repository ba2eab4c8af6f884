#include "unit/tuning/sample_journal.hpp"

#include "support/hash.hpp"

namespace softmax_dispatch::tuning::testing {

RunEvent sample_run() {
  RunEvent run;
  run.device = {"imagined GPU", "sm_90", 132, 50 << 20, 6144, false};
  run.toolchain = {"13.0.88", {"-std=c++17", "--ptxas-options=-v"}, "13.0"};
  run.sweep.effort = "quick";
  run.sweep.protocol = "graph";
  run.sweep.buffers = "cold";
  run.sweep.seed = 42;
  run.sweep.M = {1, 1024};
  run.sweep.N = {8, 4096};
  run.sweep.configs = 3;
  run.library_version = "0.1.0";
  return run;
}

CompileEvent compiled(const Config& config) {
  CompileEvent event;
  event.config = config;
  event.source_hash = hash_hex(config.variant);
  event.code_hash = hash_hex(to_string(config));
  event.resources.registers = 32;
  return event;
}

VerifyEvent verified(const Config& config) {
  VerifyEvent event;
  event.config = config;
  event.code_hash = hash_hex(to_string(config));
  event.outcome.passed = true;
  event.outcome.cases = 100;
  event.outcome.N_to = registry().at(config.variant).accurate_N(config.dtype, config.constants);
  event.outcome.worst_error = 0.25;
  return event;
}

MeasureEvent measured(const Config& config, std::int64_t M, std::int64_t N, double median_us) {
  return {config, {config.dtype, M, N}, {median_us, median_us * 0.99, median_us * 1.01, 7}, false};
}

Journal sample_journal(const std::vector<Config>& configs) {
  Journal journal;
  journal.run = sample_run();
  for (const Config& config : configs) {
    journal.compiles.push_back(compiled(config));
    journal.verifications.push_back(verified(config));
  }
  journal.end = EndEvent{12.5, false};
  return journal;
}

Journal sample_journal(const std::vector<std::string>& configs) {
  std::vector<Config> parsed;
  for (const std::string& text : configs) parsed.push_back(parse_config(text));
  return sample_journal(parsed);
}

}  // namespace softmax_dispatch::tuning::testing
