// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "progress.hpp"

#include <unistd.h>

#include <iostream>
#include <utility>

namespace lastbit::tool {

using Clock = std::chrono::steady_clock;

Progress::Progress(std::string what)
    : what_(std::move(what)), start_(Clock::now()), last_(start_), terminal_(::isatty(STDERR_FILENO) != 0) {}

void Progress::show(std::size_t done, std::size_t all) {
  constexpr std::chrono::milliseconds quiet(2000), pause(100);
  const Clock::time_point now = Clock::now();
  if (!terminal_ || now - start_ < quiet || now - last_ < pause) return;
  constexpr std::size_t width = 40;
  const std::size_t full = all == 0 ? width : done * width / all;
  std::cerr << "\r" << what_ << " [" << std::string(full, '#') << std::string(width - full, ' ') << "] " << done << " of " << all
            << std::flush;
  last_ = now;
  shown_ = true;
}

void Progress::clear() {
  if (std::exchange(shown_, false)) std::cerr << "\r\033[K" << std::flush;
}

}  // namespace lastbit::tool
