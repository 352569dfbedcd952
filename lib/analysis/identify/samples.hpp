// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Pairs with many samples: the few that a search goes by, and what a backend makes of all.
#pragma once

#include <deque>
#include <set>
#include <vector>

#include "lastbit/identify.hpp"

namespace lastbit {

/// 0 where the tensors do not hold whole samples of the layer's shapes, all the same number.
[[nodiscard]] std::int64_t samples_of(const IdentifyPair& pair);
[[nodiscard]] IdentifyPair sample_of(const IdentifyPair& pair, std::int64_t sample);

/// What a backend makes of a pair.
struct Judgement {
  bool possible = false;  ///< the backend can run the layer
  std::int64_t differing = 0;
  std::int64_t first = 0;  ///< sample with a value that differs
};
[[nodiscard]] Judgement judge(const IdentifyPair& pair, const Backend& backend);

/// Some samples of each pair, as pairs of one sample.
class FewSamples {
 public:
  /// The first ones.
  explicit FewSamples(const std::vector<const IdentifyPair*>& pairs);

  [[nodiscard]] std::vector<const IdentifyPair*> pairs() const;
  /// False where it is among them already.
  bool add(const IdentifyPair& pair, std::int64_t sample);

 private:
  std::set<std::pair<const IdentifyPair*, std::int64_t>> known_;
  std::deque<IdentifyPair> samples_;
};

}  // namespace lastbit
