// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A bar on the terminal for work that takes longer than two seconds.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>

namespace lastbit::tool {

class ProgressBar {
 public:
  explicit ProgressBar(std::string title) : title_(std::move(title)) {}
  ~ProgressBar() {
    if (shown_) std::fprintf(stderr, "\r\033[K");
  }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void operator()(double share) {
    if (!terminal_ || std::chrono::steady_clock::now() - start_ < std::chrono::seconds(2)) return;
    constexpr int width = 30;
    const int full = static_cast<int>(share * width);
    const std::string bar = std::string(static_cast<std::size_t>(full), '#') + std::string(static_cast<std::size_t>(width - full), '.');
    std::fprintf(stderr, "\r%s [%s] %3d%%", title_.c_str(), bar.c_str(), static_cast<int>(share * 100));
    std::fflush(stderr);
    shown_ = true;
  }

 private:
  std::string title_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  bool terminal_ = isatty(STDERR_FILENO) != 0;
  bool shown_ = false;
};

}  // namespace lastbit::tool
