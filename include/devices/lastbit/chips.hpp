// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Chips by the names that users have for them, and the backends that compute what they compute.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace lastbit {

/// The names of at most five backends.
class BackendNames {
 public:
  constexpr BackendNames(std::initializer_list<std::string_view> names) {
    if (names.size() > names_.size()) throw std::length_error("a chip has at most five backends");
    for (const std::string_view name : names) names_[size_++] = name;
  }
  [[nodiscard]] constexpr const std::string_view* begin() const { return names_.data(); }
  [[nodiscard]] constexpr const std::string_view* end() const { return names_.data() + size_; }
  [[nodiscard]] constexpr std::size_t size() const { return size_; }
  [[nodiscard]] constexpr bool empty() const { return size_ == 0; }
  [[nodiscard]] constexpr std::string_view operator[](std::size_t i) const { return names_[i]; }

 private:
  std::array<std::string_view, 5> names_{};
  std::size_t size_ = 0;
};

/// A chip, a board or a family of processors. Of one backend it is another name, wherever a backend is named.
struct Chip {
  std::string_view name;          ///< in lower case, without spaces and signs
  std::string_view unit;          ///< what computes there: "its NPU, a VeriSilicon VIPNano V8"
  BackendNames backends;          ///< none: no backend computes it; several: which one it is depends on what `note` says
  std::string_view machine = {};  ///< of its CPU, a word of RuntimeCase::words, if it has one that runs networks
  std::string_view note = {};     ///< what is not certain
  std::string_view source = {};   ///< where it is said
  std::string_view nearest = {};  ///< where no backend computes it: the one whose sheet has open points of `program`
  std::string_view program = {};
};

/// What is not certain of a chip; without a backend, how it differs from the nearest.
[[nodiscard]] std::string note_of(const Chip& chip);

[[nodiscard]] std::span<const Chip> chips();

/// Whatever their case and signs.
[[nodiscard]] bool is_same_name(std::string_view a, std::string_view b);

/// By name, whatever its case: "i.MX 8M Plus" has none, "i.MX8MP", "imx-8mp" and "imx8mp" are one. Or nullptr.
[[nodiscard]] const Chip* find_chip(std::string_view name);

/// "imx8mp: its NPU, a VeriSilicon VIPNano V8, computed by vipnano_v8"; of no or several backends which are near, or which there are.
[[nodiscard]] std::string chip_line(const Chip& chip);

}  // namespace lastbit
