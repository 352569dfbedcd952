// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lastbit/emulator.hpp"
#include "lastbit/op/float16_steps.hpp"

namespace lastbit {

/// Counts the outputs for which a step left the finite values.
class OutputCounter {
 public:
  OutputCounter(Float16Rounder& rounder, Events* events) : rounder_(rounder), events_(events) {}
  void next() {
    const bool left = rounder_.take_left();
    if (events_ == nullptr) return;
    ++events_->outputs;
    events_->saturated_outputs += left ? 1 : 0;
  }
  /// Outputs that are known to be finite.
  void skip(std::size_t count) {
    if (events_ != nullptr) events_->outputs += static_cast<std::int64_t>(count);
  }

 private:
  Float16Rounder& rounder_;
  Events* events_;
};

}  // namespace lastbit
