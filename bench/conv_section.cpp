// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Convolutions of 8-bit data, end to end: tensor in, finished tensor out.
#include "case.hpp"
#include "engine/kernels/kernels.hpp"
#include "lastbit/backend.hpp"
#include "lastbit/registry.hpp"
#include "layers.hpp"
#include "networks.hpp"
#include "onnxruntime_peer.hpp"
#include "peers.hpp"

namespace lastbit::bench {
namespace {

struct Types {
  const char* backend;
  const char* name;
  LayerTypes types;
  Comparison with_onednn;
};

constexpr LayerTypes signed_types{};
constexpr LayerTypes unsigned_types{ElementType::uint8, ElementType::int8, ElementType::uint8, 0, 0};
constexpr LayerTypes unsigned_sums{ElementType::uint8, ElementType::int8, ElementType::int32, 0, 0};

constexpr Types layer_types[] = {
    {"tflite_double", "s8s8", signed_types, Comparison::speed},     {"tflite_single", "s8s8", signed_types, Comparison::speed},
    {"xnnpack", "s8s8", signed_types, Comparison::speed},           {"vipnano_v8", "s8s8", signed_types, Comparison::speed},
    {"onnxruntime", "s8s8", signed_types, Comparison::speed},       {"onnxruntime", "u8s8", unsigned_types, Comparison::output},
    {"onnxruntime", "u8s8_sums", unsigned_sums, Comparison::output}};

Trial reference_trial(const TimedLayer& layer, const Types& types) {
  const Model model = model_of(layer, types.types);
  Trial trial = layer_trial(prepare_model(model, find_backend(types.backend).backend));
  trial.peers = onednn_peers({model}, types.with_onednn);
  if (layer.kernel == 1 && std::string_view(types.backend) == "tflite_double") {
    for (Peer& peer : gemmlowp_peers(model)) trial.peers.push_back(std::move(peer));
  }
  if (std::string_view(types.backend) == "onnxruntime" && types.types.output != ElementType::int32) {
    for (Peer& peer : onnxruntime_peers(model)) trial.peers.push_back(std::move(peer));
  }
  return trial;
}

/// One layer on a path of our choice.
Trial path_trial(const TimedLayer& layer, const kernels::Path& path) {
  const kernels::ScopedPath chosen(path);
  return layer_trial(prepare_model(model_of(layer, signed_types), find_backend("tflite_double").backend));
}

/// All convolutions of a network, one after the other; the output is the last one's.
Trial network_trial(const char* network, const char* backend) {
  const std::vector<Model> models = convolutions_of(network);
  std::vector<Trial> layers;
  for (const Model& model : models) layers.push_back(layer_trial(prepare_model(model, find_backend(backend).backend)));
  Trial all{0,
            [layers] {
              for (const Trial& layer : layers) layer.run();
            },
            layers.back().output};
  for (const Trial& layer : layers) all.work += layer.work;
  all.peers = onednn_peers(models, Comparison::speed);
  return all;
}

}  // namespace

void add_convolutions(Cases& cases) {
  for (const Types& types : layer_types) {
    for (const TimedLayer& layer : reference_layers) {
      cases.push_back({"conv/" + std::string(types.backend) + "/" + types.name + "/" + name_of(layer), Unit::multiply_adds,
                       Roof::byte_dot_product, [&layer, &types] { return reference_trial(layer, types); }});
    }
  }
  for (const kernels::Path& path : kernels::paths()) {
    if (!path.available()) continue;
    cases.push_back({"path/" + std::string(path.name) + "/s8s8/" + name_of(reference_layers[0]), Unit::multiply_adds,
                     Roof::byte_dot_product, [&path] { return path_trial(reference_layers[0], path); }});
  }
  for (const char* network : {"ic_resnet8_int8", "mobilenet_v2_224_int8"}) {
    for (const char* backend : {"tflite_double", "xnnpack", "vipnano_v8", "onnxruntime"}) {
      cases.push_back({"conv/" + std::string(backend) + "/s8s8/all_of_" + network, Unit::multiply_adds, Roof::byte_dot_product,
                       [=] { return network_trial(network, backend); }});
    }
  }
}

}  // namespace lastbit::bench
