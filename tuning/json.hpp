#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

/// What the journal and the worker's messages are made of, to JSON and back. Instantiated in json.cpp for the events of
/// journal.hpp, for Config, Problem, Depth, TimingPlan, DeviceInfo, Outcome, CompileResult and TimeResult, for lists of
/// Config and TimeResult, and for double and string.
namespace softmax_dispatch::tuning {

template <typename T>
nlohmann::json encode(const T& value);

/// Throws nlohmann::json::exception for what is missing or of another type, and Error for a text that does not parse.
template <typename T>
T decode(const nlohmann::json& json);

/// One line without a line end. Bytes that are not UTF-8 (a compiler's log, a dying worker's last words) are replaced.
std::string to_line(const nlohmann::json& json);

}  // namespace softmax_dispatch::tuning
