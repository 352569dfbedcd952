// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Another program, run without a shell.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace lastbit::tool {

struct CommandResult {
  enum class End { exited, killed, timed_out, stopped };
  End end = End::exited;
  int status = 0;      ///< of exited: the exit status; of killed: the signal
  std::string output;  ///< the beginning of what it wrote to standard output and standard error
  [[nodiscard]] bool succeeded() const { return end == End::exited && status == 0; }
  /// "exit status 3: the first line that it wrote"; "killed by signal 11"; "no answer within 60 s".
  [[nodiscard]] std::string failure(double seconds) const;
};

/// The first word is a program, by its path or found as a shell finds it. It reads nothing, runs in this folder, and in a process group of its own
/// that is killed as a whole: after so many seconds, when `stop` says so, and what is left of it when it has ended. Throws Error where it
/// cannot be started.
[[nodiscard]] CommandResult run_command(const std::vector<std::string>& words, double seconds, const std::function<bool()>& stop);

}  // namespace lastbit::tool
