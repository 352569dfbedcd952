// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Hybrid layers, float32 data and int8 weights: read, written, and read again, as .tflite and as the JSON model format.
#include "formats/json_model.hpp"
#include "lastbit/io/json_model.hpp"
#include "lastbit/io/model_file.hpp"
#include "lastbit/io/tflite.hpp"
#include "lastbit/model_builder.hpp"
#include "lastbit/quantizer.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/same_network.hpp"
#include "support/scratch.hpp"
#include "support/tflite_file.hpp"

using namespace lastbit;
using namespace lastbit::test;

namespace {

using enum OperationKind;
using tflite_format::TensorType;

/// A convolution, a depthwise one and a fully connected layer, each with scales of its own.
Model network(bool asymmetric) {
  ModelBuilder builder("hybrid");
  const auto weights = [&](const char* name, const Shape& shape, std::size_t scales, std::int64_t axis) {
    Tensor values(ElementType::int8, shape);
    for (std::int8_t& value : values.values<std::int8_t>())
      value = static_cast<std::int8_t>(&value - values.values<std::int8_t>().data() - 7);
    Quantization quantization{{}, std::vector<std::int64_t>(scales, 0), axis};
    for (std::size_t i = 0; i < scales; ++i) quantization.scales.push_back(0.25 + 0.125 * static_cast<double>(i));
    return builder.constant(name, values, quantization);
  };
  const auto bias = [&](const char* name, std::int64_t count) { return builder.constant(name, Tensor(ElementType::float32, {count})); };
  const auto real = [](const char* name, const Shape& shape) { return TensorDescription{name, ElementType::float32, shape}; };
  const auto x = builder.input(real("x", {1, 4, 4, 2}));
  const auto a = builder.operation(conv2d, {x, weights("w1", {3, 2, 2, 2}, 3, 0), bias("b1", 3)}, real("a", {1, 3, 3, 3}),
                                   Conv2dAttributes{.padding = {}, .bounds = {Activation::relu}});
  const auto b = builder.operation(depthwise_conv2d, {a, weights("w2", {1, 3, 3, 3}, 3, 3), bias("b2", 3)}, real("b", {1, 1, 1, 3}));
  FullyConnectedAttributes attributes;
  attributes.asymmetric_inputs = asymmetric;
  const auto y = builder.operation(fully_connected, {b, weights("w3", {2, 3}, 1, 0), bias("b3", 2)}, real("y", {1, 2}), attributes);
  return builder.finished({y});
}

/// A fully connected layer whose options ask for a zero point.
TfliteFile file_of(TensorType weights) {
  TfliteFile file;
  const bool real = weights == TensorType::FLOAT32;
  file.tensors = {{.shape = {1, 4}, .type = TensorType::FLOAT32, .scale = {}, .zero_point = {}, .name = "x"},
                  {.shape = {2, 4}, .type = weights, .data = std::vector<std::uint8_t>(real ? 32 : 8, 0), .name = "w"},
                  {.shape = {1, 2}, .type = TensorType::FLOAT32, .scale = {}, .zero_point = {}, .name = "y"}};
  file.op_inputs = {0, 1};
  file.op_outputs = {2};
  file.inputs = {0};
  file.outputs = {2};
  file.code = tflite_format::BuiltinOperator::FULLY_CONNECTED;
  file.options_type = tflite_format::BuiltinOptions::FullyConnectedOptions;
  file.options = [](flatbuffers::FlatBufferBuilder& builder) {
    using namespace tflite_format;
    return CreateFullyConnectedOptions(builder, ActivationFunctionType::NONE, WeightsFormat::DEFAULT, false, true).Union();
  };
  return file;
}

bool asks_for_zero_point(const Model& model) {
  return std::get<FullyConnectedAttributes>(model.operations.back().attributes).asymmetric_inputs;
}

}  // namespace

TEST_CASE("a hybrid network is written and read again, as both formats") {
  for (const bool asymmetric : {false, true}) {
    const Model model = network(asymmetric);
    const Model tflite = parse_tflite(tflite_bytes(model, "x.tflite"), "x.tflite");
    CHECK(differences(model, tflite) == "");
    CHECK(asks_for_zero_point(tflite) == asymmetric);
    const Scratch scratch;
    write_json_model(scratch.path() / "m.json", model);
    const Model json = read_model(scratch.path() / "m.json");
    CHECK(differences(model, json) == "");
    CHECK(asks_for_zero_point(json) == asymmetric);
    CHECK(is_hybrid(json, json.operations[0]));
  }
}

TEST_CASE("what a file asks of its fully connected layer is read where the layer is hybrid") {
  const Model hybrid = parse_tflite(file_of(TensorType::INT8).bytes(), "x.tflite");
  CHECK(is_hybrid(hybrid, hybrid.operations[0]));
  CHECK(asks_for_zero_point(hybrid));
  const Model real = parse_tflite(file_of(TensorType::FLOAT32).bytes(), "x.tflite");
  CHECK_FALSE(is_hybrid(real, real.operations[0]));
  CHECK_FALSE(asks_for_zero_point(real));
}

TEST_CASE("weights of another type, or with a zero point, are refused by name") {
  const auto is_refused = [](const TfliteFile& file, const char* reason) {
    const auto refused = refusal_of([&] { (void)parse_tflite(file.bytes(), "x.tflite"); });
    return refused && refused->is_one_line() && refused->says(reason);
  };
  CHECK(is_refused(file_of(TensorType::UINT8), "tensor 'w' is uint8; allowed: float32, int8"));
  TfliteFile file = file_of(TensorType::INT8);
  file.tensors[1].zero_point = {5};
  CHECK(is_refused(file, "weights 'w' of float32 data need zero point 0"));
}

TEST_CASE("a quantiser starts from the real weights of a hybrid network") {
  const Model real = float_network(network(true));
  for (const ModelTensor& tensor : real.tensors) CHECK(tensor.type == ElementType::float32);
  const Tensor& weights = *real.tensor(real.operations[0].inputs[1]).constant;
  CHECK(weights.values<float>()[0] == 0.25F * -7);
  CHECK(weights.values<float>()[8] == 0.375F * 1);  // the second channel's first
  CHECK_FALSE(asks_for_zero_point(real));
}
