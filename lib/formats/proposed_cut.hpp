// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which cut of a network leaves out what cannot be read.
#pragma once

#include <functional>
#include <string>

#include "formats/kept_part.hpp"

namespace lastbit {

/// What comes of reading a part.
struct Trial {
  bool is_read = false;
  std::vector<std::string> open{};  ///< its inputs of which no shape is known; whether it can be read shows when the user states them
};
using ReadPart = std::function<Trial(const Cut&)>;

/// "--from x --to a --to b keeps 120 of 130 operators": the part that keeps the most of what is supported, and can be read; else the largest one
/// whose inputs need shapes, which it asks for. Empty where there is none, or it would have to name very many values.
[[nodiscard]] std::string proposed_cut(const GraphOutline& graph, const ReadPart& read);

}  // namespace lastbit
