// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// One convolution on two backends: a layer is a model of one operation, written as in docs/case-format.md.
#include <iostream>
#include <vector>

#include "lastbit/compare.hpp"
#include "lastbit/io/json_model.hpp"
#include "lastbit/registry.hpp"

using namespace lastbit;

constexpr std::string_view layer = R"({
  "format": "lastbit.model.v1", "name": "one convolution",
  "tensors": [
    {"name": "image", "type": "int8", "shape": [1, 48, 48, 1], "quantization": {"scale": [0.0235], "zero_point": [-5]}},
    {"name": "weights", "type": "int8", "shape": [2, 3, 3, 1], "quantization": {"scale": [0.0107]},
     "data": [12, -70, 33, 90, 127, -21, 5, -44, 61, -8, 25, -93, 110, 64, -17, -52, 39, 80]},
    {"name": "bias", "type": "int32", "shape": [2], "data": [350, -1200]},
    {"name": "out", "type": "int8", "shape": [1, 48, 48, 2], "quantization": {"scale": [0.0352], "zero_point": [-3]}}
  ],
  "operations": [{"op": "conv2d", "name": "conv", "inputs": ["image", "weights", "bias"], "outputs": ["out"], "attributes": {"padding": "same"}}],
  "inputs": ["image"], "outputs": ["out"]
})";

int main() {
  const Model model = parse_json_model(layer, ".", "layer");
  Tensor image(ElementType::int8, {1, 48, 48, 1});
  std::uint32_t state = 1;
  for (std::int8_t& pixel : image.values<std::int8_t>()) pixel = static_cast<std::int8_t>((state = state * 1664525 + 1013904223) >> 24);

  const CompareReport report = compare_backends(model, find_backend("tflite_double"), find_backend("vipnano_v8"), std::vector{image});
  std::cout << to_text(report, Detail::everything);

  // The same by hand, where the tensors themselves are wanted.
  const Trace cpu = run(model, find_backend("tflite_double").backend, std::vector{image});
  const Trace npu = run(model, find_backend("vipnano_v8").backend, std::vector{image});
  const auto out = static_cast<std::size_t>(model.outputs[0]);
  const TensorDifference d = difference(*cpu.tensors[out], {}, *npu.tensors[out], {});
  std::cout << "\n" << d.differing << " of " << d.values << " values differ\n";
  return report.layers.back().accumulated.differing == d.differing && d.differing > 0 ? 0 : 1;
}
