// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "own_process.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "lastbit/error.hpp"

namespace lastbit::bench {

double number_from_process(const std::vector<std::string>& command, const Environment& environment) {
  int ends[2];
  if (pipe(ends) != 0) throw Error(ErrorCode::bad_input, "benchmark", "no pipe to a process of its own");
  const pid_t child = fork();
  if (child == 0) {
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    std::vector<char*> argv;
    for (const std::string& argument : command) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    execvp(argv[0], argv.data());
    _exit(1);
  }
  close(ends[1]);
  std::string text;
  char buffer[64];
  for (ssize_t count = 0; (count = read(ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<std::size_t>(count));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0 || text.empty()) throw Error(ErrorCode::bad_input, command[0], "gave no number");
  return std::stod(text);
}

double number_from_own_process(std::vector<std::string> arguments, const Environment& environment) {
  arguments.insert(arguments.begin(), "/proc/self/exe");
  return number_from_process(arguments, environment);
}

// Not ru_maxrss: that counts what the process held before it became this program.
double peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double kilobytes = 0;
    if (word == "VmHWM:" && status >> kilobytes) return kilobytes * 1024;
  }
  throw Error(ErrorCode::unreadable_file, "/proc/self/status", "has no VmHWM");
}

}  // namespace lastbit::bench
