// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/constant.hpp"

#include <atomic>
#include <utility>

namespace lastbit {

Constant::Constant(Tensor values) : values_(std::make_shared<Tensor>(std::move(values))) {}

const Tensor& Constant::value() const {
  if (!values_) throw std::bad_optional_access();
  return *values_;
}

Tensor& Constant::edit() {
  if (values_.use_count() > 1) values_ = std::make_shared<Tensor>(*values_);
  else std::atomic_thread_fence(std::memory_order_acquire);  // behind the last read of a copy that another thread has given up
  return *values_;
}

bool operator==(const Constant& a, const Constant& b) {
  if (a.values_ == b.values_) return true;
  return a.values_ && b.values_ && *a.values_ == *b.values_;
}

}  // namespace lastbit
