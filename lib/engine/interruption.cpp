// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/interruption.hpp"

#include <utility>

namespace lastbit {
namespace {

thread_local const std::function<void()>* innermost = nullptr;

}  // namespace

Interruptible::Interruptible(std::function<void()> question)
    : question_(std::move(question)), outer_(std::exchange(innermost, &question_)) {}

Interruptible::~Interruptible() { innermost = outer_; }

void ask_interruption() {
  if (innermost != nullptr) (*innermost)();
}

}  // namespace lastbit
