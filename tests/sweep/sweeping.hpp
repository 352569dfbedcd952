// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The digits network swept by the command line: data of any length, processes that are killed half-way.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "lastbit/io/npy.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"
#include "support/shell.hpp"

namespace lastbit::test {

/// Its folder holds data.npy: the digits over and over.
class Sweeping {
 public:
  explicit Sweeping(std::int64_t samples) {
    const Tensor digits = read_npy(source_directory() / "examples/digits/test_images.npy");
    Tensor data(digits.type(), {samples, 1, 8, 8, 1});
    for (std::size_t i = 0; i < data.bytes().size(); ++i) data.bytes()[i] = digits.bytes()[i % digits.bytes().size()];
    write_npy(shell.file("data.npy"), data);
  }

  static std::string arguments(const std::string& more) {
    return "sweep " + (source_directory() / "examples/digits/model.json").string() +
           " --input data.npy --backend tflite_double,tflite_single,vipnano_v8 --golden --events " + more;
  }

  /// Starts the shell command in the folder, in a process group of its own; what it prints is in the files out and err.
  [[nodiscard]] pid_t start(const std::string& command) const {
    const std::string all = "cd " + shell.file("").string() + " && exec " + command + " >out 2>err";
    const pid_t child = ::fork();
    if (child != 0) return child;
    ::setpgid(0, 0);
    ::execl("/bin/sh", "sh", "-c", all.c_str(), nullptr);  // NOLINT(cppcoreguidelines-pro-type-vararg): as POSIX has it
    ::_exit(127);
  }
  /// The exit status, or minus the signal.
  [[nodiscard]] static int wait(pid_t process) {
    int status = 0;
    ::waitpid(process, &status, 0);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  }

  /// How many samples the state file says are done; 0 where there is none.
  [[nodiscard]] std::int64_t samples_done(const std::string& state) const {
    const std::string text = shell.text(state);
    if (text.empty()) return 0;
    const nlohmann::json json = nlohmann::json::parse(text);
    std::int64_t done = 0;
    for (const auto& range : json["statistics"]["samples"]) done += range[1].get<std::int64_t>() - range[0].get<std::int64_t>();
    return done;
  }
  /// Waits until so many are done; false where that does not come about within two minutes.
  [[nodiscard]] bool wait_for(const std::string& state, std::int64_t samples) const {
    for (int i = 0; i < 24000; ++i) {
      if (samples_done(state) >= samples) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }

  Shell shell;
};

}  // namespace lastbit::test
