// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Pairs with many samples: the few that a search goes by, and what a backend makes of all.
#pragma once

#include <deque>
#include <map>
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
  std::int64_t first = 0;            ///< sample with a value that differs, or that cannot be computed
  std::vector<std::int64_t> places;  ///< of outputs of this sample that differ, some
  [[nodiscard]] bool is_equal() const { return possible && differing == 0; }
};
[[nodiscard]] Judgement judge(const IdentifyPair& pair, const Backend& backend);

/// A pair of one sample, and those of its outputs that combinations are judged by.
struct FewValues {
  IdentifyPair pair;
  std::vector<std::int64_t> outputs;  ///< in order
  [[nodiscard]] bool is_whole() const { return std::ssize(outputs) == pair.output.element_count(); }
};

/// How large layers are made less of. some_outputs: a few outputs of every layer. some_layers: of those that only run as a whole the smallest.
enum class FewBy : std::uint8_t { some_outputs, some_layers };

/// Some samples of each pair, as pairs of one sample.
class FewSamples {
 public:
  /// The first samples, at least two.
  FewSamples(const std::vector<const IdentifyPair*>& pairs, FewBy by);

  [[nodiscard]] const std::deque<FewValues>& all() const { return few_; }
  /// What a sample showed is judged by as well. False where it is already.
  bool add(const IdentifyPair& pair, const Judgement& failed);

 private:
  FewValues& sample(const IdentifyPair& pair, std::int64_t number);
  void add_some_outputs(const std::vector<const IdentifyPair*>& pairs, std::int64_t samples, std::int64_t most);
  void add_some_layers(std::vector<const IdentifyPair*> pairs, std::int64_t samples);

  std::map<std::pair<const IdentifyPair*, std::int64_t>, FewValues*> known_;
  std::deque<FewValues> few_;
};

}  // namespace lastbit
