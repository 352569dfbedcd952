// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the command line says beside its results, on standard error: by spdlog, line by line, from the level on that the user asks for.
#pragma once

#include <chrono>
#include <string>

#include "command_line.hpp"

namespace lastbit::tool {

/// Before anything is said: to std::cerr, and so through what stands before it (terminal.hpp).
void start_log();
/// `-v`, `-q`, `--log-level` and `--color` of a command, or of the program.
void add_log_options(Command& command);

void log_error(const std::string& text);  ///< why it ends with status 2
void log_warning(const std::string& text);
void log_note(const std::string& text);    ///< told unless -q
void log_detail(const std::string& text);  ///< told with -v

/// Tells, with -v, how long a stage took.
class Stopwatch {
 public:
  explicit Stopwatch(std::string stage) : stage_(std::move(stage)), start_(std::chrono::steady_clock::now()) {}
  ~Stopwatch();
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  std::string stage_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace lastbit::tool
