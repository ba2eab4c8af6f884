#include "sim/model/fit.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>
#include <sstream>

#include "device/sim/model/physical_model.hpp"
#include "device/sim/open.hpp"
#include "support/yaml.hpp"

namespace softmax_dispatch::sim {

DeviceFile read_device_file(const std::string& name) {
  std::ifstream file(std::string(SOFTMAX_DISPATCH_SOURCE_DIR) + "/configs/devices/" + name);
  std::ostringstream text;
  text << file.rdbuf();
  return {parse_description(text.str(), name).info, read_constants(yaml::parse(text.str(), name).at("model"))};
}

double modelled_us(const Measured& point, const ModelConstants& constants) {
  return PhysicalModel(constants).launch(point.workload.launch()).time_us;
}

ModelConstants fit(std::span<const Measured> points, const ModelConstants& start,
                   std::span<const std::string_view> names) {
  std::vector<NamedConstant> chosen;
  for (const NamedConstant& one : named_constants())
    if (std::find(names.begin(), names.end(), one.name) != names.end()) chosen.push_back(one);
  // Logarithms: a constant stays positive, and a step is a share of it.
  const auto with = [&](const std::vector<double>& logs) {
    ModelConstants made = start;
    for (std::size_t i = 0; i < chosen.size(); ++i) made.*chosen[i].value = std::exp(logs[i]);
    return made;
  };
  const auto error = [&](const std::vector<double>& logs) {
    const ModelConstants constants = with(logs);
    double sum = 0;
    for (const Measured& one : points) {
      const double log_ratio = std::log(modelled_us(one, constants) / one.time_us);
      sum += one.weight * log_ratio * log_ratio;
    }
    return sum;
  };
  std::vector<double> logs;
  for (const NamedConstant& one : chosen) logs.push_back(std::log(start.*one.value));
  // From where it ends once more: a simplex can collapse before the least value.
  const int evaluations = 150 * static_cast<int>(chosen.size());
  for (int round = 0; round < 3; ++round) logs = minimise(error, logs, 0.1, evaluations);
  return with(logs);
}

std::vector<double> minimise(const std::function<double(const std::vector<double>&)>& function,
                             std::vector<double> start, double step, int evaluations) {
  using Point = std::vector<double>;
  const std::size_t n = start.size();
  std::vector<std::pair<double, Point>> simplex{{function(start), start}};
  for (std::size_t i = 0; i < n; ++i) {
    Point point = start;
    point[i] += step;
    simplex.emplace_back(function(point), point);
  }
  const auto by_value = [](const auto& a, const auto& b) { return a.first < b.first; };
  for (int used = static_cast<int>(n) + 1; used < evaluations;) {
    std::sort(simplex.begin(), simplex.end(), by_value);
    Point centre(n);
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t i = 0; i < n; ++i) centre[i] += simplex[k].second[i] / static_cast<double>(n);
    // The worst point, moved along the line through the centre of the others: 1 mirrors it, -0.5 draws it near.
    const auto moved = [&](double factor) {
      Point point(n);
      for (std::size_t i = 0; i < n; ++i) point[i] = centre[i] + factor * (centre[i] - simplex[n].second[i]);
      ++used;
      return std::pair(function(point), point);
    };
    auto mirrored = moved(1);
    if (mirrored.first < simplex[0].first) {
      auto farther = moved(2);
      simplex[n] = std::min(mirrored, farther, by_value);
    } else if (mirrored.first < simplex[n - 1].first) {
      simplex[n] = std::move(mirrored);
    } else if (auto nearer = moved(-0.5); nearer.first < simplex[n].first) {
      simplex[n] = std::move(nearer);
    } else {
      for (std::size_t k = 1; k <= n; ++k) {
        for (std::size_t i = 0; i < n; ++i) simplex[k].second[i] = (simplex[k].second[i] + simplex[0].second[i]) / 2;
        simplex[k].first = function(simplex[k].second);
        ++used;
      }
    }
  }
  return std::min_element(simplex.begin(), simplex.end(), by_value)->second;
}

}  // namespace softmax_dispatch::sim
