// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>

namespace lastbit {

/// FNV-1a, 64 bits: enough to notice a change, not to withstand a forger.
class Checksum {
 public:
  void add(std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes) state_ = (state_ ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001B3U;
  }
  void add(const std::string& text) {
    add(static_cast<std::int64_t>(text.size()));
    add(std::as_bytes(std::span(text)));
  }
  void add(std::int64_t number) {
    for (int shift = 0; shift < 64; shift += 8) {
      const std::array byte{static_cast<std::byte>(static_cast<std::uint64_t>(number) >> shift)};
      add(std::span<const std::byte>(byte));
    }
  }
  [[nodiscard]] std::string text() const {
    std::array<char, 32> digits{};
    std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(state_));
    return std::string("fnv1a64:") + digits.data();
  }

 private:
  std::uint64_t state_ = 0xCBF29CE484222325U;
};

}  // namespace lastbit
