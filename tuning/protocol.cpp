#include "tuning/protocol.hpp"

#include <algorithm>

#include "support/error.hpp"

namespace softmax_dispatch::tuning {

std::string_view to_string(Protocol protocol) noexcept {
  return protocol == Protocol::graph ? "graph" : "published";
}

Protocol parse_protocol(std::string_view text) {
  for (const Protocol protocol : {Protocol::graph, Protocol::published})
    if (text == to_string(protocol)) return protocol;
  throw_error(StatusCode::invalid_argument, "unknown protocol '{}': take graph or published", text);
}

Timing summarize(std::vector<double> samples_us) {
  if (samples_us.empty()) return {};
  std::sort(samples_us.begin(), samples_us.end());
  const std::size_t n = samples_us.size();
  const auto middle = [&](std::size_t below, std::size_t above) { return (samples_us[below] + samples_us[above]) / 2; };
  return {middle((n - 1) / 2, n / 2), samples_us[(n - 1) / 4], samples_us[n - 1 - (n - 1) / 4], static_cast<int>(n)};
}

}  // namespace softmax_dispatch::tuning
