// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// One operation from arrays: layouts, types, scales, output shapes.
#include "lastbit/layer.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "lastbit/emulator.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/registry.hpp"
#include "support/catch.hpp"
#include "support/scratch.hpp"

using namespace lastbit;

namespace {

const SpecSheet& tflite() {
  static const SpecSheet sheet = find_backend("tflite_double");
  return sheet;
}

Layer layer_of(const std::string& json) {
  return make_layer(parse_layer(R"({"format": "lastbit.layer.v1", )" + json + "}", {}, "layer"), tflite().backend);
}

Tensor output_of(const Layer& layer, const char* backend = "tflite_double") {
  const Trace trace = run(layer.model, find_backend(backend).backend, layer.inputs);
  return in_users_layout(layer, *trace.tensors[static_cast<std::size_t>(layer.model.outputs[0])]);
}

std::vector<std::int64_t> integers_of(const Tensor& tensor) {
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < tensor.element_count(); ++i) values.push_back(tensor.integer_at(i));
  return values;
}

/// 0, 1, 2, … as int8 in a file.
std::string counting(const test::Scratch& scratch, const std::string& name, const Shape& shape) {
  Tensor tensor(ElementType::int8, shape);
  std::iota(tensor.values<std::int8_t>().begin(), tensor.values<std::int8_t>().end(), std::int8_t{0});
  write_npy(scratch.path() / name, tensor);
  return (scratch.path() / name).string();
}

std::string message_of(const std::string& json) {
  try {
    static_cast<void>(layer_of(json));
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("permuted: axis i of the result is axis permutation[i]") {
  const std::vector<std::int8_t> values{0, 1, 2, 3, 4, 5};
  const Tensor tensor = Tensor::from<std::int8_t>({1, 2, 3}, values);
  const Tensor result = permuted(tensor, {2, 0, 1});
  CHECK(result.shape() == Shape{3, 1, 2});
  CHECK(integers_of(result) == std::vector<std::int64_t>{0, 3, 1, 4, 2, 5});
}

TEST_CASE("a convolution: one-dimensional, without samples, in either layout, gives the same numbers") {
  // Two channels, five places; one filter of two taps, w[tap][channel] = {{1, 2}, {3, 4}}; stride 2.
  const std::vector<std::int64_t> expected{1 * 1 + 2 * 6 + 3 * 2 + 4 * 7, 1 * 3 + 2 * 8 + 3 * 4 + 4 * 9};
  const std::string type = R"("type": "int8")";
  const std::string last = R"("op": "conv1d", "attributes": {"stride": 2}, "inputs": [{"data": [[1,6],[2,7],[3,8],[4,9],[5,10]], )" + type +
                           R"(}], "weights": {"data": [[[1,2],[3,4]]], )" + type + "}";
  const Tensor output = output_of(layer_of(last));
  CHECK(output.type() == ElementType::int32);
  CHECK(output.shape() == Shape{2, 1});
  CHECK(integers_of(output) == expected);

  const std::string first =
      R"("op": "conv2d", "layout": "nchw", "attributes": {"stride": [2]}, "inputs": [{"data": [[[1,2,3,4,5],[6,7,8,9,10]]], )" + type +
      R"(}], "weights": {"data": [[[1,3],[2,4]]], )" + type + "}";
  const Tensor channels_first = output_of(layer_of(first));
  CHECK(channels_first.shape() == Shape{1, 1, 2});
  CHECK(integers_of(channels_first) == expected);
}

TEST_CASE("channels first: images and weights of a convolution, a depthwise and a transposed one") {
  const test::Scratch scratch;
  const std::string input = R"("inputs": [")" + counting(scratch, "x.npy", {1, 2, 4, 3}) + "\"], ";
  const auto shape_with = [&](const std::string& op, const Shape& weights) {
    return layer_of(R"("op": ")" + op + R"(", "layout": "nchw", )" + input + R"("weights": ")" + counting(scratch, "w.npy", weights) +
                    "\"");
  };
  const Layer convolution = shape_with("conv2d", {5, 2, 2, 1});
  CHECK(convolution.model.tensor(1).shape == Shape{5, 2, 1, 2});
  CHECK(output_of(convolution).shape() == Shape{1, 5, 3, 3});
  const Layer depthwise = shape_with("depthwise", {4, 1, 2, 1});
  CHECK(depthwise.model.tensor(1).shape == Shape{1, 2, 1, 4});
  CHECK(output_of(depthwise).shape() == Shape{1, 4, 3, 3});
  const Layer transposed = shape_with("transposed_conv2d", {2, 5, 2, 1});
  CHECK(transposed.model.tensor(1).shape == Shape{5, 2, 1, 2});
  CHECK(output_of(transposed).shape() == Shape{1, 5, 5, 3});
}

TEST_CASE("a diagonal layer multiplies element by element") {
  const Layer layer = layer_of(R"("op": "diagonal", "inputs": [{"data": [[1,2,3],[4,5,6]], "type": "int16"}],
                                  "weights": {"data": [10,20,30], "type": "int16"}, "bias": {"data": [1,2,3], "type": "int32"})");
  const Tensor output = output_of(layer, "gna3_0");
  CHECK(output.shape() == Shape{2, 3});
  CHECK(integers_of(output) == std::vector<std::int64_t>{11, 42, 93, 41, 102, 183});
}

TEST_CASE("real values become integers by the backend's rule, a bias by the product of the scales") {
  const Layer layer = layer_of(R"("op": "fully_connected", "inputs": [{"data": [[0.25, -0.75]], "type": "int8", "scale": 0.5}],
                                  "weights": {"data": [[0.5, 1.5], [-2.5, 4.0]], "type": "int8", "scale": ["1/2", 0.25]},
                                  "bias": {"data": [0.375, 2.5]})");
  CHECK(integers_of(layer.inputs[0]) == std::vector<std::int64_t>{1, -2});  // half away from zero
  CHECK(integers_of(*layer.model.tensor(1).constant) == std::vector<std::int64_t>{1, 3, -10, 16});
  CHECK(layer.model.tensor(1).quantization.axis == 0);
  CHECK(layer.model.tensor(2).type == ElementType::int32);
  CHECK(integers_of(*layer.model.tensor(2).constant) == std::vector<std::int64_t>{2, 20});  // by 1/4 and 1/8: 1.5 and 20
  CHECK(integers_of(output_of(layer)) == std::vector<std::int64_t>{1 - 6 + 2, -10 - 32 + 20});
}

TEST_CASE("the shape of the output follows from the inputs") {
  const test::Scratch scratch;
  const auto shape_of = [&](const std::string& op, const Shape& shape, const std::string& rest) {
    const std::string operand = R"({"file": ")" + counting(scratch, "x.npy", shape) + R"(", "scale": 0.5})";
    const Layer layer = layer_of(R"("op": ")" + op + R"(", "inputs": [)" + operand + "]" + rest);
    CHECK(output_of(layer).element_count() == layer.model.tensor(layer.model.outputs[0]).shape.element_count());
    return layer.output_shape.value_or(layer.model.tensor(layer.model.outputs[0]).shape);
  };
  CHECK(shape_of("max_pool2d", {1, 5, 7, 2}, R"(, "attributes": {"filter": 2, "stride": 2, "padding": "same"})") == Shape{1, 3, 4, 2});
  CHECK(shape_of("max_pool2d", {5, 7, 2}, R"(, "attributes": {"filter": [2, 3]})") == Shape{4, 5, 2});
  CHECK(shape_of("average_pool2d", {1, 6, 2}, R"(, "attributes": {"filter": 3, "stride": 3})") == Shape{1, 2, 2});
  CHECK(shape_of("global_average_pool", {2, 3, 4, 5}, "") == Shape{2, 1, 1, 5});
  CHECK(shape_of("mean", {2, 3, 4}, R"(, "attributes": {"axes": [1]})") == Shape{2, 4});
  CHECK(shape_of("pad", {2, 3}, R"(, "attributes": {"paddings": [[1, 0], [0, 2]]})") == Shape{3, 5});
  CHECK(shape_of("transpose", {2, 3, 4}, R"(, "attributes": {"permutation": [2, 0, 1]})") == Shape{4, 2, 3});
  CHECK(shape_of("split", {2, 6}, R"(, "attributes": {"axis": 1}, "output": {"count": 3})") == Shape{2, 2});
  CHECK(shape_of("reshape", {2, 6}, R"(, "output": {"shape": [3, 4]})") == Shape{3, 4});
  CHECK(shape_of("squeeze", {2, 1, 6}, "") == Shape{2, 6});
  CHECK(shape_of("relu", {2, 3}, "") == Shape{2, 3});
}

TEST_CASE("two inputs broadcast, join and multiply") {
  const auto shape_of = [](const std::string& op, const std::string& a, const std::string& b, const std::string& rest = "") {
    const std::string tail = R"(, "type": "int8", "scale": 0.5})";
    const Layer layer = layer_of(R"("op": ")" + op + R"(", "inputs": [{"data": )" + a + tail + R"(, {"data": )" + b + tail + "]" + rest);
    return layer.model.tensor(layer.model.outputs[0]).shape;
  };
  CHECK(shape_of("add", "[[1,2],[3,4]]", "[5,6]") == Shape{2, 2});
  CHECK(shape_of("concat", "[[1,2],[3,4]]", "[[5],[6]]", R"(, "attributes": {"axis": 1})") == Shape{2, 3});
  CHECK(shape_of("matmul", "[[1,2],[3,4]]", "[[1,2],[3,4],[5,6]]", R"(, "attributes": {"transpose_b": true})") == Shape{2, 3});
}

TEST_CASE("layers of GNA: recurrent, with a table, with a table and a pool") {
  const SpecSheet gna = find_backend("gna3_0");
  const auto output = [&](const std::string& json) {
    const Layer layer = make_layer(parse_layer(R"({"format": "lastbit.layer.v1", )" + json + "}", {}, "layer"), gna.backend);
    const Trace trace = run(layer.model, gna.backend, layer.inputs);
    return in_users_layout(layer, *trace.tensors[static_cast<std::size_t>(layer.model.outputs[0])]);
  };
  const std::string table = R"("table": {"data": [[-1000, -1000, 256]], "type": "int32"})";  // y = x from -1000 on
  const Tensor recurrent = output(R"("op": "recurrent", "inputs": [{"data": [[1], [2], [3]], "type": "int16"}], "output": {"count": 2},
      "weights": {"data": [[10, 1]], "type": "int16"}, "feedback": {"data": [[5]], "type": "int16"}, )" +
                                  table);
  CHECK(recurrent.type() == ElementType::int16);
  CHECK(integers_of(recurrent) == std::vector<std::int64_t>{10 + 5, 20 + 15, 30 + 35});
  const Tensor activated = output(R"("op": "pwl", "inputs": [{"data": [[-2000, 7]], "type": "int32"}], )" + table);
  CHECK(activated.type() == ElementType::int16);
  CHECK(integers_of(activated) == std::vector<std::int64_t>{-1000, 7});
  const Tensor pooled = output(R"("op": "fused_conv2d", "inputs": [{"data": [[1], [2], [3], [4], [5]], "type": "int16"}],
      "weights": {"data": [[[2]]], "type": "int16"}, "bias": {"data": [-5], "type": "int32"},
      "attributes": {"pool": {"kind": "max", "filter": 2, "stride": 2}}, )" +
                               table);
  CHECK(pooled.shape() == Shape{3, 1});
  CHECK(integers_of(pooled) == std::vector<std::int64_t>{-1, 3, 5});
}

TEST_CASE("every mistake is one message that names its place") {
  const std::string input = R"("inputs": [{"data": [[1, 2]], "type": "int8"}])";
  CHECK(message_of(R"("op": "convolution", )" + input).find("layer.op: unknown operation 'convolution'; known: conv2d") == 0);
  CHECK(message_of(R"("op": "relu", "inputs": [])") == "layer.inputs: an input is needed");
  CHECK(message_of(R"("op": "relu", "inputs": [{"data": [[1, 2], [3]], "type": "int8"}])") ==
        "layer.inputs[0].data[1]: lists of unequal length");
  CHECK(message_of(R"("op": "relu", "inputs": [{"data": [300], "type": "int8"}])") == "'input': 300 is outside int8");
  CHECK(message_of(R"("op": "relu", "inputs": [{"data": [1], "zero_point": 3}])") ==
        "layer.inputs[0].zero_point: a zero point without a scale");
  CHECK(message_of(R"("op": "relu", "inputs": [{"data": [0.5], "type": "int8"}])") ==
        "'input': real values become integers by a scale, which is missing");
  CHECK(message_of(R"("op": "relu", "inputs": [{"data": [1], "scale": "1/0"}])") == "layer.inputs[0].scale: '1/0' is not a finite number");
  CHECK(message_of(R"("op": "relu", "attributes": {"slope": 1}, )" + input) ==
        "layer.attributes: unknown key 'slope'; there are none here");
  CHECK(message_of(R"("op": "relu", "stride": 1, )" + input).find("layer: unknown key 'stride'; known: format, op") == 0);
  CHECK(message_of(R"("op": "relu", )" + input) == "layer: relu 'relu' (operation 0): tensor 'input' needs a scale");
  CHECK(
      message_of(R"("op": "recurrent", "weights": {"data": [[1, 2, 3], [3, 4, 5]], "type": "int8"}, )" + input).find("needs 'feedback'") !=
      std::string::npos);
  CHECK(message_of(R"("op": "pwl", )" + input).find("pwl needs 'table'") != std::string::npos);
  CHECK(message_of(R"("op": "fully_connected", "weights": {"data": [[1, 2], [3, 4]], "type": "int8", "scale": [1, 2, 3]}, )" + input) ==
        "'weights': 3 scales and 0 zero points for 2 channels");
  CHECK(message_of(R"("op": "fully_connected", "weights": {"data": [[0.5, 2]]}, )" + input) ==
        "'weights': holds real values where the layer's data are integers: give its scale");
  CHECK(message_of(R"("op": "conv2d", "weights": {"data": [[1]], "type": "int8"}, )" + input).find("is not an image of 4 dimensions") !=
        std::string::npos);
  CHECK(message_of(R"("op": "add", )" + input) == "add: input 1 is missing");
  CHECK(message_of(R"("op": "conv2d", "table": {"data": [1]}, )" + input) == "layer.table: conv2d has none");
  CHECK(message_of(R"("op": "relu", "output": {"shape": [0]}, )" + input).find("layer.output.shape: ") == 0);
}
