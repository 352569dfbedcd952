// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Layers whose accumulators saturate in every output: what the order of additions costs, beside the same layer where the proof holds.
#include <utility>

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

/// Pairs of codes that may saturate in 16 bits, beside the sums that a machine with VNNI makes of the same layer.
Trial pairs_trial(const char* with_pairs, const char* without, const TimedLayer& layer) {
  const LayerTypes types{ElementType::uint8, ElementType::int8, ElementType::uint8, 128, 128};
  return beside_proven(layer_trial(prepare_model(model_of(layer, types), find_backend(with_pairs).backend)),
                       layer_trial(prepare_model(model_of(layer, types), find_backend(without).backend)));
}

}  // namespace

void add_steps(Cases& cases) {
  for (const TimedLayer& layer : reference_layers) {
    cases.push_back({"saturating/tflite_double_16_bits/s8s8/" + name_of(layer), Unit::multiply_adds, Roof::none,
                     [&layer] { return narrow_trial(layer); }});
  }
  for (const auto& [with_pairs, without] :
       {std::pair{"pytorch_x86_avx2", "pytorch_x86"}, std::pair{"onnxruntime_avx2", "onnxruntime"}, std::pair{"fbgemm", "pytorch_x86"}}) {
    for (const TimedLayer& layer : reference_layers) {
      cases.push_back({"saturating/" + std::string(with_pairs) + "/u8s8/" + name_of(layer), Unit::multiply_adds, Roof::none,
                       [with_pairs = with_pairs, without = without, &layer] { return pairs_trial(with_pairs, without, layer); }});
    }
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
