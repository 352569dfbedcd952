// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A folder for what a test writes.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>

namespace lastbit::test {

/// An empty folder that is gone afterwards; its name is the process's own, so that two builds may be tested at a time.
class Scratch {
 public:
  Scratch() : path_(std::filesystem::temp_directory_path() / ("lastbit_test_" + std::to_string(::getpid()))) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directory(path_);
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace lastbit::test
