// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The layers of a dump against the float path, each fed with the dump's own tensors, in codes: units of the tensor's scale.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "lastbit/emulator.hpp"
#include "lastbit/trace.hpp"

namespace lastbit {

/// The values of a tensor, of every sample that is looked at, one after the other.
using Codes = std::vector<float>;

/// How codes lie beside those that are expected.
struct LineFit {
  double correlation = 0;   ///< 0 where one of the two is constant
  double offset = 0;        ///< mean of codes - expected within the bounds of the type
  double error = 0;         ///< root mean square of codes - expected
  double spread = 0;        ///< standard deviation of that
  std::int64_t inside = 0;  ///< values that are within the bounds on both sides
  double slope = 1;         ///< of the line that the codes lie on
  double at_zero = 0;       ///< where that line is at 0
  double deviation = 0;     ///< standard deviation of those that are expected
  double beside_slope = 0;  ///< standard deviation of the codes around that line
  bool tells = false;       ///< the expected values differ among each other

  /// Of the codes' variance, the share that the expected ones do not explain.
  [[nodiscard]] double unexplained() const { return correlation > 0 ? 1 - correlation * correlation : 1; }
};
[[nodiscard]] LineFit fit_of(const Codes& expected, const Codes& codes, const IntegerRange& range);

/// A layer whose inputs and output the dump holds.
struct DumpedLayer {
  std::size_t operation = 0;
  std::vector<std::int32_t> inputs;  ///< by their index in the model, each once
  std::int32_t output = 0;
};

class GoldenLayers {
 public:
  /// `model` and `dump` must outlive it.
  GoldenLayers(const Model& model, const NamedTrace& dump);

  [[nodiscard]] const Model& model() const { return model_; }
  [[nodiscard]] const std::vector<DumpedLayer>& layers() const { return layers_; }
  [[nodiscard]] std::int64_t samples() const { return samples_; }
  /// Every tensor that is an input or an output of a layer.
  [[nodiscard]] const std::map<std::int32_t, Codes>& codes() const { return codes_; }
  [[nodiscard]] const Codes& codes(std::int32_t tensor) const { return codes_.at(tensor); }
  /// What the layer makes of the dump's inputs, but for those that are replaced.
  [[nodiscard]] Codes expected(const DumpedLayer& layer, const std::map<std::int32_t, Codes>& replaced = {}) const;
  [[nodiscard]] LineFit fit(const DumpedLayer& layer, const Codes& expected, const Codes& output) const;

 private:
  [[nodiscard]] std::optional<DumpedLayer> layer_of(std::size_t operation, const NamedTrace& dump) const;
  void add_codes(std::int32_t tensor, const NamedTrace& dump);

  const Model& model_;
  std::optional<Emulator> golden_;
  std::vector<DumpedLayer> layers_;
  std::map<std::int32_t, Codes> codes_;
  std::int64_t samples_ = 0;
};

}  // namespace lastbit
