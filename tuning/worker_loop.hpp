#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "tuning/worker.hpp"

namespace softmax_dispatch::tuning {

/// Opens the device that the settings name. The product's opens a GPU or simulates one; tests have a device of their
/// own.
using OpenDevice = std::function<std::unique_ptr<Device>(const WorkerSettings& settings)>;

/// worker_main() on any device. Messages, one JSON object a line. From the owner: {"op": ..., parameters}. From the
/// worker: first {"result": "ready"}; then for each request any number of {"at": what is about to run}, and {"result":
/// ...} or
/// {"error": {code, message}, "fatal": whether the worker ends with it}.
int run_worker(const Registry& registry, const jit::Sources& sources, const std::vector<std::string>& arguments,
               const OpenDevice& open_device);

}  // namespace softmax_dispatch::tuning
