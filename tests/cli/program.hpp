#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/files.hpp"

namespace softmax_dispatch::testing {

/// What softmax-tune did.
struct Finished {
  int code = -1;  ///< Exit code; 128 + signal where one ended it.
  std::string out, err;

  /// stdout as JSON. Throws nlohmann::json::exception where it is none.
  nlohmann::json json() const { return nlohmann::json::parse(out); }
};

using Environment = std::map<std::string, std::string>;

/// softmax-tune as a process of its own, with a cache folder of the tests' own.
class Program {
 public:
  /// `environment` is added to the tests' environment.
  Program(const std::vector<std::string>& arguments, const Environment& environment);
  void send(int signal) const;
  Finished wait();

 private:
  TemporaryDirectory folder_;
  pid_t pid_ = -1;
};

/// Runs it to its end; no GPU is visible to it unless `environment` says otherwise.
Finished run(const std::vector<std::string>& arguments, Environment environment = {});

std::string contents(const std::filesystem::path& path);
void write(const std::filesystem::path& path, const std::string& text);

}  // namespace softmax_dispatch::testing
