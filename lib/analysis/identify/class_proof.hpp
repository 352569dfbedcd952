// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Combinations of rules that data cannot tell apart, over every accumulator that the layers can have: those whose staircases are the same on each channel's
// whole interval are one device on these layers, whatever the input; of the others it is known where they differ.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analysis/identify/conv_search.hpp"

namespace lastbit {

/// An accumulator of a layer, its bias counted in, at which two parts differ.
struct TellingSum {
  std::size_t layer = 0;  ///< position among those given
  std::int64_t channel = 0;
  std::int64_t sum = 0;
  std::int64_t a = 0, b = 0;  ///< what two combinations make of it
  Combination first, second;  ///< these
  bool any_channel = false;   ///< all channels of the layer have one scale: then `channel` is 0
};

struct PartedClass {
  std::vector<std::vector<Block>> parts;  ///< combinations that are one device on these layers; different parts differ
  std::int64_t open = 0;                  ///< combinations that are in none of them
  std::string why_open;                   ///< of most of them
  std::vector<TellingSum> telling;        ///< at most most_telling

  static constexpr std::size_t most_telling = 4096;
  [[nodiscard]] bool is_one() const { return parts.size() == 1 && open == 0; }
};

/// `blocks`: combinations that are the same on the data of the layers. What is not decided at the deadline, or by so many outputs of chains, is open.
[[nodiscard]] PartedClass parted(const ConvSpace& space, const std::vector<Block>& blocks, std::span<const IdentifyPair* const> layers,
                                 const Deadline& deadline = {}, std::int64_t most_outputs = IdentifyOptions{}.most_proof_outputs);

/// "last rounding half_up against half_away"
[[nodiscard]] std::string rules_apart(const ConvSpace& space, const Combination& a, const Combination& b);

}  // namespace lastbit
