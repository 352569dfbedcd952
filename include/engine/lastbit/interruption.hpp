// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Long work that its caller may end, as Ctrl-C does.
#pragma once

#include <functional>

namespace lastbit {

/// While it lives, whatever this thread computes asks `question` before each operation of each sample. One that throws ends the work, and the exception
/// arrives where the work was begun. Threads that help are not asked; they end with it.
class Interruptible {
 public:
  explicit Interruptible(std::function<void()> question);
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;
  ~Interruptible();

 private:
  std::function<void()> question_;
  const std::function<void()>* outer_;
};

/// Asks the innermost Interruptible of this thread, if there is one.
void ask_interruption();

}  // namespace lastbit
