// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What tests ask of the whole process for a while, because their layers are small.
#pragma once

#include <atomic>

namespace lastbit {

/// One for each Tag: any() says whether one lives.
template <class Tag>
class ScopedWish {
 public:
  ScopedWish() { ++living; }
  ScopedWish(const ScopedWish&) = delete;
  ScopedWish& operator=(const ScopedWish&) = delete;
  ~ScopedWish() { --living; }
  [[nodiscard]] static bool any() { return living > 0; }

 private:
  static inline std::atomic<int> living = 0;
};

}  // namespace lastbit
