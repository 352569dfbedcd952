// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// When a search has to end with what it has.
#pragma once

#include <chrono>
#include <optional>

namespace lastbit {

class Deadline {
 public:
  /// None.
  Deadline() = default;
  /// From now on; 0: none.
  explicit Deadline(double seconds) {
    if (seconds > 0) at_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }

  [[nodiscard]] bool passed() const { return at_ && Clock::now() >= *at_; }
  /// What is left, in as many equal parts: the end of the first one.
  [[nodiscard]] Deadline part_of(std::size_t parts) const {
    Deadline part;
    if (at_) part.at_ = Clock::now() + (*at_ - Clock::now()) / static_cast<Clock::rep>(parts);
    return part;
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::optional<Clock::time_point> at_;
};

}  // namespace lastbit
