// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Layers whose accumulators saturate in every output: what the order of additions costs, beside the same layer where the proof holds.
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "word_layers.hpp"

namespace lastbit::bench {
namespace {

Trial beside_proven(Trial saturating, Trial proven) {
  saturating.peers = {{"lastbit, proven", std::move(proven.run)}};
  return saturating;
}

/// TFLite's convolution with an accumulator so narrow that every sum leaves it.
Trial narrow_trial(const TimedLayer& layer) {
  const Backend ordinary = find_backend("tflite_double").backend;
  Backend narrow = ordinary;
  set_rule(narrow, "conv.i8.accumulator.bits", "16");
  set_rule(narrow, "conv.i8.accumulator.overflow", "saturate");
  return beside_proven(layer_trial(prepare_model(model_of(layer, {}), narrow)), layer_trial(prepare_model(model_of(layer, {}), ordinary)));
}

}  // namespace

void add_steps(Cases& cases) {
  for (const TimedLayer& layer : reference_layers) {
    cases.push_back({"saturating/tflite_double_16_bits/s8s8/" + name_of(layer), Unit::multiply_adds, Roof::none,
                     [&layer] { return narrow_trial(layer); }});
  }
  for (const WordLayer& layer : word_layers) {
    if (layer.weights != ElementType::int16) continue;
    cases.push_back({"saturating/" + std::string(layer.backend) + "/" + layer.name, Unit::multiply_adds, Roof::none, [&layer] {
                       return beside_proven(layer_trial(prepare_word_layer(layer, Sums::saturating)),
                                            layer_trial(prepare_word_layer(layer, Sums::proven)));
                     }});
  }
}

}  // namespace lastbit::bench
