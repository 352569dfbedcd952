// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The command line as a shell sees it: exit status, output, and the files it leaves behind.
#pragma once

#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
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
  /// Without the lines that a slow machine has more of.
  [[nodiscard]] std::string text(const std::string& name) const {
    std::ifstream in(file(name));
    std::string all{std::istreambuf_iterator<char>(in), {}};
    if (name != "err") return all;
    for (std::size_t at = 0; at < all.size();) {
      const std::size_t end = std::min(all.find('\n', at), all.size() - 1) + 1;
      if (all.compare(at, 10, "progress: ") == 0) all.erase(at, end - at);
      else at = end;
    }
    return all;
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(file(name)) << text; }

 private:
  Scratch folder_;
};

}  // namespace lastbit::test
