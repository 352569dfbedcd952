// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A bar on stderr for work that takes more than two seconds; where stderr is no terminal, a line every ten seconds, "progress: …".
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "log.hpp"

namespace lastbit::tool {

class Progress {
 public:
  explicit Progress(const std::string& what);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(std::size_t done, std::size_t all);
  /// Removes the bar, before anything is printed.
  void clear();

 private:
  std::string what_;
  std::chrono::steady_clock::time_point start_, last_;
  bool terminal_ = false, shown_ = false;
  Stopwatch stopwatch_;
};

}  // namespace lastbit::tool
