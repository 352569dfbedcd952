// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "progress.hpp"

#include <unistd.h>

#include <cstdio>
#include <utility>

#include "lastbit/printable.hpp"

namespace lastbit::tool {

using Clock = std::chrono::steady_clock;

namespace {

/// Past std::cerr, which passes no control characters on (terminal.hpp).
void tell_terminal(const std::string& text) { std::fputs(text.c_str(), stderr); }

}  // namespace

Progress::Progress(const std::string& what)
    : what_(harmless(what)), start_(Clock::now()), last_(start_), terminal_(::isatty(STDERR_FILENO) != 0), stopwatch_(what_) {}

void Progress::show(std::size_t done, std::size_t all) {
  constexpr std::chrono::milliseconds quiet(2000), pause(100), line_pause(10000);
  const Clock::time_point now = Clock::now();
  if (now - last_ < (terminal_ ? pause : line_pause) || now - start_ < quiet) return;
  last_ = now;
  const std::string counts = std::to_string(done) + " of " + std::to_string(all);
  if (!terminal_) return log_note("progress: " + what_ + ": " + counts);
  constexpr std::size_t width = 40;
  const std::size_t full = all == 0 ? width : done * width / all;
  tell_terminal("\r" + what_ + " [" + std::string(full, '#') + std::string(width - full, ' ') + "] " + counts);
  shown_ = true;
}

void Progress::clear() {
  if (std::exchange(shown_, false)) tell_terminal("\r\033[K");
}

}  // namespace lastbit::tool
