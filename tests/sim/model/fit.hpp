#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/sim/model/constants.hpp"
#include "sim/model/workload.hpp"

namespace softmax_dispatch::sim {

/// The section `model:` and the device of a file of configs/devices.
struct DeviceFile {
  DeviceInfo info;
  ModelConstants constants;
};
DeviceFile read_device_file(const std::string& name);

/// A workload with its measured time.
struct Measured {
  Config config;
  Workload workload;
  double time_us = 0;
  double weight = 1;
};

double modelled_us(const Measured& point, const ModelConstants& constants);

/// Changes the named constants so that the weighted sum of the squares of log(modelled / measured) is least. Latencies
/// of memory are part of the workloads and cannot be among them.
ModelConstants fit(std::span<const Measured> points, const ModelConstants& start,
                   std::span<const std::string_view> names);

/// Nelder and Mead's search for the least value of a function, from `start` with steps of `step`.
std::vector<double> minimise(const std::function<double(const std::vector<double>&)>& function,
                             std::vector<double> start, double step, int evaluations);

}  // namespace softmax_dispatch::sim
