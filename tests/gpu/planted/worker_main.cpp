// A worker of the tuner whose registry holds the planted faults, or the product's with one mutation:
//   planted_worker [mutation=NAME] SETTINGS...
#include <string>
#include <string_view>
#include <vector>

#include "gpu/planted/mutations.hpp"
#include "gpu/planted/planted.hpp"
#include "tuning/worker.hpp"

int main(int argc, char** argv) {
  using namespace softmax_dispatch;
  constexpr std::string_view kMutation = "mutation=";
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.empty() || !arguments.front().starts_with(kMutation))
    return tuning::worker_main(planted::registry(), planted::sources(), arguments);
  const jit::Sources sources = planted::mutated(planted::mutation(arguments.front().substr(kMutation.size())));
  arguments.erase(arguments.begin());
  return tuning::worker_main(registry(), sources, arguments);
}
