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

/// The layer that saturates, and beside it one that does not.
std::vector<Side> beside_proven(std::function<Trial()> saturating, const std::function<Trial()>& proven) {
  return {{"lastbit", std::move(saturating)}, {"proven", [proven] { return only_timed(proven()); }}};
}

Trial trial_of(const TimedLayer& layer, const LayerTypes& types, const Backend& backend) {
  return layer_trial(prepare_model(model_of(layer, types), backend));
}

/// TFLite's convolution with an accumulator so narrow that every sum leaves it.
Backend narrow_tflite() {
  Backend narrow = find_backend("tflite_double").backend;
  set_rule(narrow, "conv.i8.accumulator.bits", "16");
  set_rule(narrow, "conv.i8.accumulator.overflow", "saturate");
  return narrow;
}

/// Pairs of codes that may saturate in 16 bits, and a backend that sums the same layer as a machine with VNNI does.
constexpr std::pair<const char*, const char*> pairs_backends[] = {{"pytorch_x86_avx2", "pytorch_x86"}, {"onnxruntime_avx2", "onnxruntime"}};
constexpr LayerTypes pairs_types{ElementType::uint8, ElementType::int8, ElementType::uint8, 128, 128};

}  // namespace

void add_steps(Cases& cases) {
  const auto add = [&](const std::string& name, std::function<Trial()> saturating, const std::function<Trial()>& proven) {
    cases.push_back({"saturating/" + name, "MACs", nullptr, beside_proven(std::move(saturating), proven)});
  };
  for (const TimedLayer& layer : reference_layers) {
    add(
        "tflite_double_16_bits/s8s8/" + name_of(layer), [&layer] { return trial_of(layer, {}, narrow_tflite()); },
        [&layer] { return trial_of(layer, {}, find_backend("tflite_double").backend); });
  }
  for (const auto& [with_pairs, without] : pairs_backends) {
    for (const TimedLayer& layer : reference_layers) {
      const auto on = [&layer](const char* backend) {
        return [&layer, backend] { return trial_of(layer, pairs_types, find_backend(backend).backend); };
      };
      add(std::string(with_pairs) + "/u8s8/" + name_of(layer), on(with_pairs), on(without));
    }
  }
  for (const WordLayer& layer : word_layers) {
    if (layer.weights != ElementType::int16) continue;
    const auto with = [&layer](Sums sums) { return [&layer, sums] { return layer_trial(prepare_word_layer(layer, sums)); }; };
    add(std::string(layer.backend) + "/" + layer.name, with(Sums::saturating), with(Sums::proven));
  }
}

}  // namespace lastbit::bench
