#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace softmax_dispatch::tuning {

/// A JSON object as a line of the journal: `{"sum":"<hash of the rest>",<rest>`, still one JSON object. No line end.
std::string journal_line(std::string_view object);

/// The JSON object of a line with its sum in front; nullopt where the line is cut short or its sum is wrong.
std::optional<std::string_view> checked_journal_line(std::string_view line);

}  // namespace softmax_dispatch::tuning
