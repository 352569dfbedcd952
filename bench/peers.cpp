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
#if defined(LASTBIT_HAS_XNNPACK)
#include "xnnpack_peer.hpp"
#endif

namespace lastbit::bench {

namespace {

/// A peer's convolutions of these layers, which are made when it first runs: by then the process has chosen its instruction set.
template <class Convolution>
[[maybe_unused]] Trial peer_trial(const std::vector<Model>& layers, Comparison comparison) {
  const auto made = std::make_shared<std::vector<std::unique_ptr<Convolution>>>();
  const auto run = [layers, made] {
    if (made->empty()) {
      for (const Model& layer : layers)
        made->push_back(std::make_unique<Convolution>(
            layer, random_tensor(layer.tensor(layer.inputs[0]).type, layer.tensor(layer.inputs[0]).shape, 3)));
    }
    for (const auto& convolution : *made) convolution->run();
  };
  double work = 0;
  for (const Model& layer : layers) work += static_cast<double>(multiply_adds_of(layer));
  Trial trial{work, run};
  if (comparison == Comparison::output)
    trial.output = [run, made] {
      run();
      return made->back()->output();
    };
  return trial;
}

}  // namespace

#if defined(LASTBIT_HAS_ONEDNN)
std::vector<Side> onednn_sides(const std::function<std::vector<Model>()>& layers, Comparison comparison) {
  const auto trial = [=] { return peer_trial<OnednnConvolution>(layers(), comparison); };
  return {{"onednn_vnni", trial}, {"onednn_uncapped", trial, Clock::thread, "ONEDNN_MAX_CPU_ISA=DEFAULT"}};
}
#else
std::vector<Side> onednn_sides(const std::function<std::vector<Model>()>&, Comparison) { return {}; }
#endif

#if defined(LASTBIT_HAS_XNNPACK)
std::vector<Side> xnnpack_sides(const std::function<std::vector<Model>()>& layers, Comparison comparison) {
  return {{"xnnpack", [=] { return peer_trial<XnnpackConvolution>(layers(), comparison); }}};
}
#else
std::vector<Side> xnnpack_sides(const std::function<std::vector<Model>()>&, Comparison) { return {}; }
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

std::vector<Side> gemmlowp_sides(const std::function<Model()>& layer) {
  return {{"gemmlowp_avx2", [layer] {
             const Model model = layer();
             const auto product = std::make_shared<const GemmlowpProduct>(product_of(model));
             const Shape shape = model.tensors[3].shape;
             const auto result = std::make_shared<std::vector<std::uint8_t>>(static_cast<std::size_t>(shape.element_count()));
             return Trial{static_cast<double>(multiply_adds_of(model)),
                          [product, result] { multiply_with_gemmlowp(*product, result->data()); },
                          [product, shape] { return by_gemmlowp(*product, shape); }};
           }}};
}
#else
std::vector<Side> gemmlowp_sides(const std::function<Model()>&) { return {}; }
#endif

}  // namespace lastbit::bench
