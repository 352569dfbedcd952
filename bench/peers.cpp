// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "peers.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "gemmlowp_peer.hpp"
#include "lastbit/arith/multiplier.hpp"
#include "lastbit/backends/tflite.hpp"
#include "layers.hpp"
#if defined(LASTBIT_HAS_ONEDNN)
#include "onednn_peer.hpp"
#endif

namespace lastbit::bench {

#if defined(LASTBIT_HAS_ONEDNN)
namespace {

using Convolutions = std::vector<std::unique_ptr<OnednnConvolution>>;

/// Made when it first runs: by then the process has chosen its instruction set.
std::function<Convolutions&()> made_once(const std::vector<Model>& layers) {
  return [layers, made = std::make_shared<Convolutions>()]() -> Convolutions& {
    if (made->empty()) {
      for (const Model& layer : layers)
        made->push_back(std::make_unique<OnednnConvolution>(
            layer, random_tensor(layer.tensors[static_cast<std::size_t>(layer.inputs[0])].type, layer.tensor(layer.inputs[0]).shape, 3)));
    }
    return *made;
  };
}

}  // namespace

std::vector<Peer> onednn_peers(const std::vector<Model>& layers, Comparison comparison) {
  const auto convolutions = made_once(layers);
  const auto run = [convolutions] {
    for (const auto& convolution : convolutions()) convolution->run();
  };
  std::vector<Peer> peers{{"oneDNN, AVX-512 VNNI", run}, {"oneDNN, uncapped", run, {}, {}, {{"ONEDNN_MAX_CPU_ISA", "DEFAULT"}}}};
  if (comparison == Comparison::output) peers[0].output = [convolutions] { return convolutions()[0]->output(); };
  return peers;
}
#else
std::vector<Peer> onednn_peers(const std::vector<Model>&, Comparison) { return {}; }
#endif

void hold_peers_to_our_instructions() { setenv("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_VNNI", 0); }

#if defined(LASTBIT_HAS_GEMMLOWP)
namespace {

std::vector<std::uint8_t> biased_by_128(const Tensor& tensor) {
  std::vector<std::uint8_t> values;
  for (const std::int8_t value : tensor.values<std::int8_t>()) values.push_back(static_cast<std::uint8_t>(value + 128));
  return values;
}

GemmlowpProduct product_of(const Model& model) {
  const ModelTensor& in = model.tensors[0];
  const ModelTensor& weights = model.tensors[1];
  const ModelTensor& out = model.tensors[3];
  const auto bias = model.tensors[2].constant->values<std::int32_t>();
  GemmlowpProduct product{.rows = static_cast<int>(in.shape[1] * in.shape[2]),
                          .depth = static_cast<int>(in.shape[3]),
                          .columns = static_cast<int>(out.shape[3]),
                          .input = biased_by_128(random_tensor(in.type, in.shape, 3)),
                          .weights = biased_by_128(*weights.constant),
                          .input_zero_point = static_cast<std::int32_t>(in.quantization.zero_point() + 128),
                          .weight_zero_point = 128,
                          .output_zero_point = static_cast<std::int32_t>(out.quantization.zero_point() + 128),
                          .bias = {bias.begin(), bias.end()},
                          .multiplier = {},
                          .exponent = {}};
  for (const double scale : weights.quantization.scales) {
    const EncodedScale encoded =
        encode(tflite::multiplier_q31, effective_scale(ScaleArithmetic::f64, in.quantization.scale(), scale, out.quantization.scale()));
    product.multiplier.push_back(static_cast<std::int32_t>(encoded.multiplier));
    product.exponent.push_back(encoded.exponent);
  }
  return product;
}

Tensor by_gemmlowp(const GemmlowpProduct& product, const Shape& shape) {
  Tensor biased(ElementType::uint8, shape);
  multiply_with_gemmlowp(product, biased.values<std::uint8_t>().data());
  Tensor output(ElementType::int8, shape);
  const auto from = biased.values<std::uint8_t>();
  std::transform(from.begin(), from.end(), output.values<std::int8_t>().begin(),
                 [](std::uint8_t value) { return static_cast<std::int8_t>(value - 128); });
  return output;
}

}  // namespace

std::vector<Peer> gemmlowp_peers(const Model& layer) {
  const auto product = std::make_shared<const GemmlowpProduct>(product_of(layer));
  const Shape shape = layer.tensors[3].shape;
  const auto result = std::make_shared<std::vector<std::uint8_t>>(static_cast<std::size_t>(shape.element_count()));
  return {{"gemmlowp, AVX2", [product, result] { multiply_with_gemmlowp(*product, result->data()); },
           [product, shape] { return by_gemmlowp(*product, shape); }}};
}
#else
std::vector<Peer> gemmlowp_peers(const Model&) { return {}; }
#endif

}  // namespace lastbit::bench
