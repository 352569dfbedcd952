// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The command line as a shell sees it: exit status, output, and the files it leaves behind.
#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "support/scratch.hpp"

namespace lastbit::test {

/// A fresh working folder, gone afterwards, in which the tool runs.
class Shell {
 public:
  /// Of `lastbit ARGUMENTS`; what it prints is in the files out and err, unless it is sent elsewhere.
  [[nodiscard]] int status(const std::string& arguments, const std::string& output = ">out") const {
    const std::string command = "cd " + folder_.path().string() + " && " + LASTBIT_TOOL + " " + arguments + " " + output + " 2>err";
    return WEXITSTATUS(std::system(command.c_str()));  // NOLINT(cert-env33-c): a test of the command line
  }
  [[nodiscard]] std::filesystem::path file(const std::string& name) const { return folder_.path() / name; }
  [[nodiscard]] std::string text(const std::string& name) const {
    std::ifstream in(file(name));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(file(name)) << text; }

 private:
  Scratch folder_;
};

}  // namespace lastbit::test
