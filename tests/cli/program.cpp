#include "tests/cli/program.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

extern char** environ;

namespace softmax_dispatch::testing {
namespace {

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> environment_words(const Environment& changes) {
  Environment all;
  for (char** word = environ; *word; ++word) {
    const std::string text = *word;
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) all[text.substr(0, equals)] = text.substr(equals + 1);
  }
  for (const char* name : {"SOFTMAX_DISPATCH_TABLE", "SOFTMAX_DISPATCH_LOG"}) all.erase(name);
  all["SOFTMAX_DISPATCH_CACHE"] = SOFTMAX_DISPATCH_BINARY_DIR "/cli_test_cache";
  for (const auto& [name, value] : changes) all[name] = value;
  std::vector<std::string> words;
  for (const auto& [name, value] : all) words.push_back(name + "=" + value);
  return words;
}

}  // namespace

Program::Program(const std::vector<std::string>& arguments, const Environment& environment) {
  const std::string out = folder_.path() / "out", err = folder_.path() / "err";
  std::vector<std::string> words{SOFTMAX_DISPATCH_BINARY_DIR "/softmax-tune"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> environment_text = environment_words(environment);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, out.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, err.c_str(), O_WRONLY | O_CREAT, 0600);
  const int error = posix_spawn(&pid_, words.front().c_str(), &files, nullptr, pointers(words).data(),
                                pointers(environment_text).data());
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) throw std::runtime_error(words.front() + ": " + std::strerror(error));
}

void Program::send(int signal) const {
  kill(pid_, signal);
}

Finished Program::wait() {
  int status = 0;
  if (waitpid(pid_, &status, 0) != pid_) throw std::runtime_error("waitpid failed");
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), contents(folder_.path() / "out"),
          contents(folder_.path() / "err")};
}

Finished run(const std::vector<std::string>& arguments, Environment environment) {
  environment.emplace("CUDA_VISIBLE_DEVICES", "-1");
  return Program(arguments, environment).wait();
}

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace softmax_dispatch::testing
