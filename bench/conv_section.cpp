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
#include "peaks.hpp"
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

void append(std::vector<Side>& sides, std::vector<Side> more) { sides.insert(sides.end(), more.begin(), more.end()); }

std::vector<Side> reference_sides(const TimedLayer& layer, const Types& types) {
  const auto model = [&layer, &types] { return model_of(layer, types.types); };
  const std::string_view backend = types.backend;
  std::vector<Side> sides{{"lastbit", [=] { return layer_trial(prepare_model(model(), find_backend(backend).backend)); }}};
  append(sides, onednn_sides([=] { return std::vector{model()}; }, types.with_onednn));
  if (backend == "xnnpack") append(sides, xnnpack_sides([=] { return std::vector{model()}; }, Comparison::output));
  if (layer.kernel == 1 && backend == "tflite_double") append(sides, gemmlowp_sides(model));
  if (backend == "onnxruntime" && types.types.output != ElementType::int32) append(sides, onnxruntime_layer(model));
  return sides;
}

/// One layer on a path of our choice.
Trial path_trial(const TimedLayer& layer, const kernels::Path& path) {
  const kernels::ScopedPath chosen(path);
  return layer_trial(prepare_model(model_of(layer, signed_types), find_backend("tflite_double").backend));
}

/// All convolutions of a network, one after the other; the output is the last one's.
Trial network_trial(const char* network, const char* backend) {
  std::vector<Trial> layers;
  for (const Model& model : convolutions_of(network)) layers.push_back(layer_trial(prepare_model(model, find_backend(backend).backend)));
  double work = 0;
  for (const Trial& layer : layers) work += layer.work;
  const auto output = layers.back().output;
  return {work,
          [layers = std::move(layers)] {
            for (const Trial& layer : layers) layer.run();
          },
          output};
}

std::vector<Side> network_sides(const char* network, const char* backend) {
  std::vector<Side> sides{{"lastbit", [=] { return network_trial(network, backend); }}};
  append(sides, onednn_sides([=] { return convolutions_of(network); }, Comparison::speed));
  if (backend == std::string_view("xnnpack")) append(sides, xnnpack_sides([=] { return convolutions_of(network); }, Comparison::speed));
  return sides;
}

}  // namespace

void add_convolutions(Cases& cases) {
  for (const Types& types : layer_types) {
    for (const TimedLayer& layer : reference_layers) {
      cases.push_back({"conv/" + std::string(types.backend) + "/" + types.name + "/" + name_of(layer), "MACs", peak::byte_dot_product,
                       reference_sides(layer, types)});
    }
  }
  for (const kernels::Path& path : kernels::paths()) {
    if (!path.available()) continue;
    cases.push_back({"path/" + std::string(path.name) + "/s8s8/" + name_of(reference_layers[0]),
                     "MACs",
                     peak::byte_dot_product,
                     {{"lastbit", [&path] { return path_trial(reference_layers[0], path); }}}});
  }
  for (const char* network : {"ic_resnet8_int8", "mobilenet_v2_224_int8"}) {
    for (const char* backend : {"tflite_double", "xnnpack", "vipnano_v8", "onnxruntime"}) {
      cases.push_back(
          {"conv/" + std::string(backend) + "/s8s8/all_of_" + network, "MACs", peak::byte_dot_product, network_sides(network, backend)});
    }
  }
}

}  // namespace lastbit::bench
