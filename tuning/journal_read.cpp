#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "support/error.hpp"
#include "support/files.hpp"
#include "support/hash.hpp"
#include "tuning/journal.hpp"
#include "tuning/journal_line.hpp"
#include "tuning/json.hpp"

namespace softmax_dispatch::tuning {
namespace {

constexpr std::string_view kBegin = "{\"sum\":\"";
constexpr std::string_view kEnd = "\",";
constexpr std::size_t kHashDigits = 32;
constexpr std::size_t kRest = kBegin.size() + kHashDigits + kEnd.size();

void add(Journal& journal, const nlohmann::json& line) {
  const auto kind = line.at("event").get<std::string>();
  const auto& data = line.at("data");
  if (kind == "run") {
    if (journal.run) throw Error(StatusCode::bad_table, "a second run");
    journal.run = decode<RunEvent>(data);
  } else if (kind == "compile") {
    journal.compiles.push_back(decode<CompileEvent>(data));
  } else if (kind == "verify") {
    journal.verifications.push_back(decode<VerifyEvent>(data));
  } else if (kind == "measure") {
    journal.measurements.push_back(decode<MeasureEvent>(data));
  } else if (kind == "quarantine") {
    journal.quarantines.push_back(decode<QuarantineEvent>(data));
  } else if (kind == "end") {
    journal.end = decode<EndEvent>(data);
  } else {
    throw_error(StatusCode::bad_table, "an event of unknown kind '{}'", kind);
  }
}

}  // namespace

std::string journal_line(std::string_view object) {
  const std::string_view rest = object.substr(1);
  return fmt::format("{}{}{}{}", kBegin, hash_hex(rest), kEnd, rest);
}

std::optional<std::string_view> checked_journal_line(std::string_view line) {
  if (line.size() <= kRest || line.substr(0, kBegin.size()) != kBegin) return std::nullopt;
  if (line.substr(kBegin.size() + kHashDigits, kEnd.size()) != kEnd) return std::nullopt;
  if (hash_hex(line.substr(kRest)) != line.substr(kBegin.size(), kHashDigits)) return std::nullopt;
  return line;
}

Journal read_journal(const std::filesystem::path& path) {
  const std::string text = read_file(path);
  Journal journal;
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t newline = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, newline - begin);
    begin = newline + 1;
    ++number;
    if (!checked_journal_line(line)) {
      ++journal.damaged_lines;
      continue;
    }
    try {
      add(journal, nlohmann::json::parse(line));
    } catch (const std::exception& error) {
      throw_error(StatusCode::bad_table, "{}:{}: not an event that this version knows: {}; tune again", path.string(),
                  number, error.what());
    }
    if (!journal.run) break;
  }
  if (!journal.run)
    throw_error(StatusCode::bad_table,
                "{}: the first line is no run of softmax-tune: this is no journal, or its start "
                "is lost; tune again",
                path.string());
  return journal;
}

}  // namespace softmax_dispatch::tuning
