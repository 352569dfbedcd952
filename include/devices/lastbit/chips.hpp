// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Chips by the names that users have for them, and the backends that compute what they compute.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lastbit {

/// A chip, a board or a family of processors. Of one backend it is another name, wherever a backend is named.
struct Chip {
  std::string_view name;                   ///< in lower case, without spaces and signs
  std::string_view unit;                   ///< what computes there: "its NPU, a VeriSilicon VIPNano V8"
  std::vector<std::string_view> backends;  ///< none: no backend computes it; several: which one it is depends on what `note` says
  std::string_view machine = {};           ///< of its CPU, a word of RuntimeCase::words, if it has one that runs networks
  std::string_view note = {};              ///< what is not certain; without a backend: what is nearest, and how it differs
  std::string_view source = {};            ///< where it is said
};

[[nodiscard]] const std::vector<Chip>& chips();

/// Whatever their case and signs.
[[nodiscard]] bool is_same_name(std::string_view a, std::string_view b);

/// By name, whatever its case: "i.MX 8M Plus" has none, "i.MX8MP", "imx-8mp" and "imx8mp" are one. Or nullptr.
[[nodiscard]] const Chip* find_chip(std::string_view name);

/// "imx8mp: its NPU, a VeriSilicon VIPNano V8, computed by vipnano_v8"; of no or several backends which are near, or which there are.
[[nodiscard]] std::string chip_line(const Chip& chip);

}  // namespace lastbit
