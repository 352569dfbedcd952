// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What enters the chains of an operation, and whether a stage of them can leave its width: the values that reach it are those of both ends of every
// piece on which the stages before never turn round (analysis/staircase/pieces.hpp), so each end of their range belongs to a value that enters.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/prove/sums.hpp"
#include "lastbit/prove.hpp"

namespace lastbit {

/// A chain with operands, and what enters it.
struct ChainUse {
  std::string part;  ///< of an operation with several chains: "operand 1"
  Chain chain;
  RescaleOperands operands;
  IntegerRange values;
  std::int64_t channel = 0;
  IntegerRange bounds;            ///< of what is delivered
  bool saturation_counts = true;  ///< beyond the bounds of what is delivered; of operands it is the rule's own clipping
  /// The operation's data inputs by which this value enters. Empty: by those of a sum, or not known.
  std::function<std::vector<Tensor>(std::int64_t value)> place{};
};

/// `sums`: those of the operation; `results`: what the first of them can come to, channel by channel. Nothing where the operation's chains are not
/// followed although one of their stages wraps.
[[nodiscard]] std::optional<std::vector<ChainUse>> chains_of(const Model& model, const Operation& operation, const Backend& backend,
                                                             const TensorRanges& ranges, const Sums* sums,
                                                             std::span<const IntegerRange> results);

/// The first stage that wraps a value, or saturates one so that another is delivered. Its `operation` and `name` are not filled in.
struct StageFound {
  std::optional<StageProof> proof;
  bool followed = true;  ///< all stages
};
[[nodiscard]] StageFound leaving_stage(const ChainUse& use);

}  // namespace lastbit
