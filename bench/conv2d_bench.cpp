// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// One convolution layer, end to end: 8-bit tensor in, 8-bit tensor out. Where a layer is a plain matrix product and gemmlowp is
// installed, gemmlowp computes the same output, and `of_peer` is our speed divided by its speed in the same run.
#include <memory>

#include "bench_case.hpp"
#include "gemmlowp_peer.hpp"
#include "lastbit/arith/multiplier.hpp"
#include "lastbit/backends/tflite.hpp"
#include "lastbit/emulator.hpp"
#include "layers.hpp"

namespace lastbit::bench {
namespace {

struct Prepared {
  Model model;
  Tensor input;
  std::unique_ptr<Emulator> emulator;
};

#if defined(LASTBIT_HAS_GEMMLOWP)
std::vector<std::uint8_t> biased_by_128(const Tensor& tensor) {
  std::vector<std::uint8_t> values;
  for (const std::int8_t value : tensor.values<std::int8_t>()) values.push_back(static_cast<std::uint8_t>(value + 128));
  return values;
}

GemmlowpProduct product_of(const Prepared& prepared) {
  const ModelTensor& in = prepared.model.tensors[0];
  const ModelTensor& weights = prepared.model.tensors[1];
  const ModelTensor& out = prepared.model.tensors[3];
  const auto bias = prepared.model.tensors[2].constant->values<std::int32_t>();
  GemmlowpProduct product{.rows = static_cast<int>(in.shape[1] * in.shape[2]),
                          .depth = static_cast<int>(in.shape[3]),
                          .columns = static_cast<int>(out.shape[3]),
                          .input = biased_by_128(prepared.input),
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

/// Only the CPU's own arithmetic is gemmlowp's, and only its AVX2 code is a fair peer.
std::function<Tensor()> peer_of(const Layer& layer, std::string_view backend, const Prepared& prepared) {
  if (layer.kernel != 1 || layer.stride != 1 || backend != "tflite_double" || host_path() != "avx2") return {};
  return [product = product_of(prepared), shape = prepared.model.tensors[3].shape] { return by_gemmlowp(product, shape); };
}
#else
std::function<Tensor()> peer_of(const Layer&, std::string_view, const Prepared&) { return {}; }
#endif

std::vector<Case> make_cases() {
  std::vector<Case> cases;
  for (const char* backend : {"tflite_double", "tflite_single", "xnnpack", "vipnano_v8"}) {
    for (const Layer& layer : real_layers) {
      auto prepared = std::make_shared<Prepared>(Prepared{model_of(layer), {}, {}});
      prepared->input = random_values<std::int8_t>(prepared->model.tensors[0].shape, -128, 127, 3);
      prepared->emulator = std::make_unique<Emulator>(prepared->model, find_backend(backend).backend);
      cases.push_back({"conv2d/" + std::string(backend) + "/" + std::string(host_path()) + "/" + layer.name,
                       multiply_adds_of(prepared->model),
                       [prepared] {
                         return *prepared->emulator->run({&prepared->input, 1}).tensors[3];
                       },
                       peer_of(layer, backend, *prepared)});
    }
  }
  return cases;
}

}  // namespace
}  // namespace lastbit::bench

int main(int argc, char** argv) { return lastbit::bench::run_cases(argc, argv, lastbit::bench::make_cases); }
