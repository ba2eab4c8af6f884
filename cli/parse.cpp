#include <softmax_dispatch/version.h>

#include <CLI/CLI.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "cli/options.hpp"
#include "cli/values.hpp"
#include "support/arch.hpp"
#include "support/error.hpp"
#include "support/text.hpp"
#include "variants/registry.hpp"

namespace softmax_dispatch::cli {
namespace {

/// Options arrive as text: CLI11 reads numbers as the process's locale writes them, and knows nothing of ranges or
/// problems.
struct Texts {
  std::string arch, out, device = "auto", effort = "standard", dtype = "f32", M, N, seed = "42", budget;
  std::string protocol = "graph", table, variant, problem, bytes = "64M";
  std::vector<std::string> problems, lengths, constants;
  bool resources = false, all_variants = false, reduce_once = false, json = false, quiet = false;
};

/// A command: how its options are declared, and how their texts become its struct.
struct Spec {
  std::string_view name;
  const char* summary;
  const char* example;
  void (*declare)(CLI::App&, Texts&);
  Command (*read)(const Texts&);
};

void add_arch(CLI::App& app, Texts& texts, const char* help) {
  app.add_option("--arch", texts.arch, help)->type_name("sm_NN");
}
void add_device(CLI::App& app, Texts& texts) {
  app.add_option("--device", texts.device,
                 "auto (a GPU of the architecture, else the simulated one), cuda:K or sim [auto]")
      ->type_name("DEVICE");
}
void add_seed(CLI::App& app, Texts& texts) {
  app.add_option("--seed", texts.seed, "Seed of the inputs and of the order [42]")->type_name("NUMBER");
}
void add_protocol(CLI::App& app, Texts& texts) {
  app.add_option("--protocol", texts.protocol,
                 "How times are taken: graph (CUDA graphs over rotating buffers, medians) or published (100 warm-ups, "
                 "1000 launches, warm buffers, mean) [graph]")
      ->type_name("NAME");
}
void add_table(CLI::App& app, Texts& texts, bool required) {
  app.add_option("TABLE", texts.table, "Decision table written by softmax-tune")->required(required)->type_name("FILE");
}
void add_problem(CLI::App& app, Texts& texts) {
  app.add_option("PROBLEM", texts.problem, "DTYPE:MxN, e.g. f32:1025x257")->required()->type_name("");
}
void add_json(CLI::App& app, Texts& texts) {
  app.add_flag("--json", texts.json, "JSON on stdout");
}
void add_quiet(CLI::App& app, Texts& texts) {
  app.add_flag("--quiet", texts.quiet, "No progress on stderr");
}

/// The values of --arch, where the command cannot do without it.
std::string required_arch(const Texts& texts) {
  if (texts.arch.empty()) {
    throw_error(StatusCode::invalid_argument, "--arch is missing: name the target, one of {}; see softmax-tune --help",
                join(known_archs(), ", "));
  }
  return arch_limits(texts.arch).arch;
}

void declare_tune(CLI::App& app, Texts& texts) {
  add_arch(app, texts, "The architecture to tune for, e.g. sm_75");
  app.add_option("--out", texts.out, "The decision table to write; the journal lies beside it")->type_name("FILE");
  add_device(app, texts);
  app.add_option("--effort", texts.effort, "Which sweep: quick, standard or full [standard]")->type_name("NAME");
  app.add_option("--dtype", texts.dtype, "Element types, with commas between them [f32]")->type_name("LIST");
  app.add_option("--M", texts.M, "Only rows in this range")->type_name("LO:HI");
  app.add_option("--N", texts.N, "Only row lengths in this range")->type_name("LO:HI");
  add_seed(app, texts);
  app.add_option("--budget", texts.budget, "Stop measuring after this time; the table is marked partial")
      ->type_name("SECONDS");
  add_protocol(app, texts);
  add_quiet(app, texts);
}

Command read_tune(const Texts& texts) {
  TuneOptions options;
  options.arch = required_arch(texts);
  if (texts.out.empty()) throw_error(StatusCode::invalid_argument, "--out is missing: name the table to write");
  options.out = texts.out;
  options.device = parse_device(texts.device);
  options.dtypes = parse_dtypes(texts.dtype);
  options.seed = parse_seed(texts.seed);
  options.protocol = tuning::parse_protocol(texts.protocol);
  if (!texts.budget.empty()) options.budget_s = parse_seconds("--budget", texts.budget);
  std::optional<tuning::Range> M, N;
  if (!texts.M.empty()) M = parse_range("--M", texts.M);
  if (!texts.N.empty()) N = parse_range("--N", texts.N);
  options.sweep = tuning::restrict(tuning::load_sweep(texts.effort), M, N);
  if (tuning::shapes(options.sweep, options.dtypes.front()).empty()) {
    throw_error(StatusCode::invalid_argument,
                "--M and --N leave nothing to measure: the sweep {} goes up to {} elements, so ask for smaller shapes",
                texts.effort, options.sweep.max_elements);
  }
  options.quiet = texts.quiet;
  return options;
}

void declare_list(CLI::App& app, Texts& texts) {
  add_arch(app, texts, "With --resources: the architecture to compile for");
  app.add_option("--variant", texts.variant, "Only this variant")->type_name("ID");
  app.add_flag("--resources", texts.resources, "Compile every configuration and show what it takes (needs no GPU)");
  add_json(app, texts);
  add_quiet(app, texts);
}

Command read_list(const Texts& texts) {
  if (!texts.resources && !texts.arch.empty()) {
    throw_error(StatusCode::invalid_argument, "--arch {} without --resources: give both or neither", texts.arch);
  }
  ListOptions options;
  if (texts.resources) options.arch = required_arch(texts);
  if (!texts.variant.empty()) options.variant = registry().at(texts.variant).id();
  options.resources = texts.resources;
  options.json = texts.json;
  options.quiet = texts.quiet;
  return options;
}

void declare_show(CLI::App& app, Texts& texts) {
  add_table(app, texts, true);
  add_json(app, texts);
}

Command read_show(const Texts& texts) {
  return ShowOptions{texts.table, texts.json};
}

void declare_explain(CLI::App& app, Texts& texts) {
  add_table(app, texts, true);
  add_problem(app, texts);
  add_json(app, texts);
}

Command read_explain(const Texts& texts) {
  return ExplainOptions{texts.table, parse_one_problem(texts.problem), texts.json};
}

void declare_bench(CLI::App& app, Texts& texts) {
  add_table(app, texts, false);
  app.add_option("--problem", texts.problems,
                 "DTYPE:MxN, several or repeated; core (or f16:core) stands for 38 shapes in common use")
      ->type_name("P ...");
  CLI::Option* const lengths =
      app.add_option("--N", texts.lengths, "Every row length in these ranges, with as many rows as --bytes holds")
          ->type_name("LO:HI ...");
  app.add_option("--bytes", texts.bytes, "With --N: size of the matrix, with K, M or G for 2^10, 2^20 or 2^30 [64M]")
      ->type_name("SIZE")
      ->needs(lengths);
  app.add_option("--dtype", texts.dtype, "With --N: element types, with commas between them [f32]")
      ->type_name("LIST")
      ->needs(lengths);
  app.add_flag("--all-variants", texts.all_variants, "Time every configuration of the sweep beside the chosen one");
  app.add_flag("--reduce-once", texts.reduce_once,
               "Time a kernel that loads, reduces once in the same launch and stores beside it");
  add_device(app, texts);
  add_seed(app, texts);
  add_protocol(app, texts);
  add_json(app, texts);
  add_quiet(app, texts);
}

Command read_bench(const Texts& texts) {
  BenchOptions options;
  if (!texts.table.empty()) options.table = texts.table;
  if (texts.problems.empty() && texts.lengths.empty())
    throw_error(StatusCode::invalid_argument, "--problem is missing, and so is --N: name what is to be timed");
  options.problems = parse_problems(texts.problems);
  const std::vector<Problem> rows = problems_of_size(parse_size("--bytes", texts.bytes),
                                                     parse_ranges("--N", texts.lengths), parse_dtypes(texts.dtype));
  options.problems.insert(options.problems.end(), rows.begin(), rows.end());
  options.device = parse_device(texts.device);
  options.seed = parse_seed(texts.seed);
  options.protocol = tuning::parse_protocol(texts.protocol);
  options.all_variants = texts.all_variants;
  options.reduce_once = texts.reduce_once;
  options.json = texts.json;
  options.quiet = texts.quiet;
  return options;
}

void declare_verify(CLI::App& app, Texts& texts) {
  add_table(app, texts, true);
  add_device(app, texts);
  add_json(app, texts);
  add_quiet(app, texts);
}

Command read_verify(const Texts& texts) {
  return VerifyOptions{texts.table, parse_device(texts.device), texts.json, texts.quiet};
}

void declare_profile(CLI::App& app, Texts& texts) {
  add_arch(app, texts, "The architecture to compile for (needs no GPU)");
  app.add_option("--variant", texts.variant, "A variant of `softmax-tune list`")->required()->type_name("ID");
  app.add_option("--problem", texts.problem, "DTYPE:MxN, e.g. f32:1025x257")->required()->type_name("P");
  app.add_option("--set", texts.constants, "A constant; those that are not set follow from the problem")
      ->type_name("NAME=value ...");
  add_device(app, texts);
  add_json(app, texts);
}

Command read_profile(const Texts& texts) {
  ProfileOptions options;
  options.arch = required_arch(texts);
  options.variant = registry().at(texts.variant).id();
  options.problem = parse_one_problem(texts.problem);
  options.constants = parse_constants(texts.constants);
  options.device = parse_device(texts.device);
  options.json = texts.json;
  return options;
}

Command read_doctor(const Texts& texts) {
  return DoctorOptions{texts.json};
}

constexpr Spec kSpecs[] = {
    {"tune",
     "Time the variants on a GPU, or a simulated one, and write its decision table (what runs where no command is "
     "named)",
     "softmax-tune --arch sm_75 --out t4.yaml --effort quick", declare_tune, read_tune},
    {"list", "The variants, and with --resources what each configuration takes",
     "softmax-tune list --arch sm_75 --resources", declare_list, read_list},
    {"show", "The thresholds of a table, with margins", "softmax-tune show t4.yaml", declare_show, read_show},
    {"explain", "Why a table chooses what it does for a problem", "softmax-tune explain t4.yaml f32:1025x257",
     declare_explain, read_explain},
    {"bench", "Time the chosen configuration against a copy of the same bytes",
     "softmax-tune bench t4.yaml --problem f32:1024x4096 f32:16x128256 --all-variants", declare_bench, read_bench},
    {"verify", "Verify every kernel of a table again, on this device", "softmax-tune verify t4.yaml", declare_verify,
     read_verify},
    {"profile",
     "Compile one configuration and show what it takes, how it is launched, and what a simulated launch executes",
     "softmax-tune profile --arch sm_75 --variant v7 --problem f32:1025x257 --set THREADS=256", declare_profile,
     read_profile},
    {"doctor", "What this machine has and lacks: driver, NVRTC, GPUs, cache, table", "softmax-tune doctor", add_json,
     read_doctor},
};

constexpr const Spec& kTune = kSpecs[0];

std::string example_footer(const Spec& spec) {
  return std::string("Example: ") + spec.example;
}

/// A word in the place of a command that is none.
void refuse_unknown_command(int argc, const char* const* argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::vector<std::string> names;
  for (const Spec& spec : kSpecs) {
    if (spec.name == argv[1]) return;
    names.emplace_back(spec.name);
  }
  throw_error(StatusCode::invalid_argument, "there is no command '{}': there are {}; see softmax-tune --help", argv[1],
              join(names, ", "));
}

}  // namespace

Command parse(int argc, const char* const* argv) {
  if (argc > 1 && std::string_view(argv[1]) == "worker") return WorkerOptions{{argv + 2, argv + argc}};
  refuse_unknown_command(argc, argv);

  CLI::App app{"Finds the fastest verified softmax kernel for every shape on a GPU, and writes the decision table.",
               "softmax-tune"};
  Texts texts;
  app.set_version_flag("--version", "softmax-tune " SOFTMAX_DISPATCH_VERSION);
  app.require_subcommand(0, 1);
  app.footer(example_footer(kTune) + "\nExit codes: 0 done, 1 failed, 2 usage, 3 no such device, 4 partial result.");
  kTune.declare(app, texts);
  for (const Spec& spec : kSpecs) {
    CLI::App* command = app.add_subcommand(std::string(spec.name), spec.summary);
    spec.declare(*command, texts);
    command->footer(example_footer(spec));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return PrintText{app.help()};
  } catch (const CLI::CallForVersion& version) {
    return PrintText{std::string(version.what()) + "\n"};
  } catch (const CLI::ParseError& error) {
    throw_error(StatusCode::invalid_argument, "{}; see softmax-tune{} --help", error.what(),
                app.get_subcommands().empty() ? "" : " " + app.get_subcommands().front()->get_name());
  }
  const auto chosen = app.get_subcommands();
  if (chosen.empty()) return kTune.read(texts);
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() > 0) {
      throw_error(StatusCode::invalid_argument, "{} stands before the command {}: write it after the command",
                  option->get_name(), chosen.front()->get_name());
    }
  }
  for (const Spec& spec : kSpecs) {
    if (spec.name == chosen.front()->get_name()) return spec.read(texts);
  }
  throw_error(StatusCode::internal, "the command {} has no reader", chosen.front()->get_name());
}

}  // namespace softmax_dispatch::cli
