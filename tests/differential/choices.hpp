// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Where a random layer takes its decisions from: a seed, or the bytes of a fuzzer.
#pragma once

#include <cstdint>
#include <random>
#include <span>

#include "model/decisions.hpp"

namespace lastbit::test {

class Choices : public Decisions<Choices> {
 public:
  explicit Choices(std::uint64_t seed) : random_(seed) {}
  /// Decisions out of the bytes while there are some, then as a seed of 0 has it.
  explicit Choices(std::span<const std::uint8_t> bytes) : bytes_(bytes), random_(0) {}

  std::uint64_t bits() {
    if (bytes_.empty()) return random_();
    const std::uint64_t value = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return value;
  }

  /// For values in bulk, which would use up a fuzzer's bytes.
  std::mt19937_64 generator() { return std::mt19937_64(bits()); }

 private:
  std::span<const std::uint8_t> bytes_;
  std::mt19937_64 random_;
};

}  // namespace lastbit::test
