#include "tuning/worker.hpp"

#include "cli/commands/commands.hpp"
#include "cli/console.hpp"

namespace softmax_dispatch::cli {

int run(const WorkerOptions& options) {
  return tuning::worker_main(registry(), jit::Sources::product(), options.arguments);
}

int run(const PrintText& options) {
  print(options.text);
  return kDone;
}

}  // namespace softmax_dispatch::cli
