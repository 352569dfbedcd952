// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Hybrid layers: which devices have them, and what is refused.
#include "lastbit/dequantize.hpp"
#include "lastbit/error.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "support/catch.hpp"
#include "support/hybrid_layer.hpp"

namespace {

using namespace lastbit;
using namespace lastbit::test;
using Layer = HybridLayer;
using Made = MadeHybrid;
using enum OperationKind;

Made small(OperationKind kind) {
  if (kind == fully_connected) return made({.kind = kind, .input = {1, 4}, .weights = {2, 4}, .output = {1, 2}}, 3);
  if (kind == depthwise_conv2d)
    return made({.kind = kind, .input = {1, 3, 3, 2}, .weights = {1, 2, 2, 2}, .output = {1, 2, 2, 2}, .scales = 2}, 3);
  return made({.kind = kind, .input = {1, 3, 3, 2}, .weights = {2, 2, 2, 2}, .output = {1, 2, 2, 2}, .scales = 2}, 3);
}

TEST_CASE("the built-in kernels of TFLite have hybrid layers; every other device refuses them in one line") {
  for (const OperationKind kind : {conv2d, depthwise_conv2d, fully_connected}) {
    const Model model = small(kind).model;
    std::vector<std::string> with;
    for (const SpecSheet& sheet : builtin_backends()) {
      if (sheet.backend.domain == Domain::real) continue;
      INFO(sheet.name);
      const auto problems = check(model, sheet.backend);
      if (problems.empty()) with.push_back(sheet.name);
      else
        CHECK(problems[0].message ==
              "a hybrid layer (float32 data, int8 weights: dynamic range quantisation), which the backend does not have; --fallback "
              "tflite_builtin_double computes convolutions and fully connected layers of that kind, --backend float any in real numbers");
    }
    CHECK(with == std::vector<std::string>{"tflite_builtin_double", "tflite_builtin_single"});
  }
}

TEST_CASE("what a fallback computes is what its backend alone gives") {
  for (const OperationKind kind : {conv2d, depthwise_conv2d, fully_connected}) {
    const Made layer = small(kind);
    const SpecSheet& builtin = find_backend("tflite_builtin_double");
    Backend device = find_backend("tflite_double").backend;
    device.elsewhere = Placements({{builtin}});
    CHECK(outputs_of(layer, device) == outputs_of(layer, builtin.backend));
  }
}

TEST_CASE("on the golden path a hybrid layer is its network of real weights") {
  const Backend& golden = find_backend("float").backend;
  for (const OperationKind kind : {conv2d, depthwise_conv2d, fully_connected}) {
    INFO(name_of(kind));
    const Made layer = small(kind);
    Made real{dequantized(layer.model), layer.input};
    CHECK(real.model.tensors[1].type == ElementType::float32);
    const float first = real.model.tensors[1].constant->values<float>()[0];
    CHECK(first ==
          static_cast<float>(layer.model.tensors[1].quantization.scales[0] * layer.model.tensors[1].constant->values<std::int8_t>()[0]));
    CHECK(outputs_of(layer, golden) == outputs_of(real, golden));
    CHECK(outputs_of(layer, golden) != outputs_of(layer, find_backend("tflite_builtin_double").backend));
  }
}

TEST_CASE("matmul and transposed_conv2d of float32 data and int8 weights run on the golden path alone") {
  ModelBuilder builder;
  const auto x = builder.input({"x", ElementType::float32, {1, 2, 2, 3}});
  const auto w = builder.constant("w", Tensor(ElementType::int8, {4, 2, 2, 3}), {{0.3}, {0}, 0});
  const auto y = builder.operation(transposed_conv2d, {x, w}, {"y", ElementType::float32, {1, 3, 3, 4}});
  const auto m = builder.constant("m", Tensor(ElementType::int8, {4, 5}), {{0.1}, {0}, 0});
  const auto z = builder.operation(matmul, {y, m}, {"z", ElementType::float32, {1, 3, 3, 5}});
  const Model model = builder.finished({z});
  CHECK(check(model, find_backend("float").backend).empty());
  for (const char* const name : {"tflite_builtin_double", "vipnano_v8"}) {
    const auto problems = check(model, find_backend(name).backend);
    REQUIRE(problems.size() == 2);
    CHECK(problems[0].message.starts_with("a hybrid layer"));
  }
}

// What is refused as a model.

std::string refusal_of(const Model& model) {
  try {
    validate(model, "m");
  } catch (const Error& error) {
    return error.diagnostics()[0].message;
  }
  return "accepted";
}

TEST_CASE("weights of float32 data: int8 with zero point 0 and scales along the output channels") {
  const Made layer = small(conv2d);
  Model model = layer.model;
  CHECK(refusal_of(model) == "accepted");
  model.tensors[1].quantization.zero_points = {0, 3};
  CHECK(refusal_of(model) == "weights 'w' of float32 data need zero point 0");
  model = layer.model;
  model.tensors[1].quantization.axis = 3;
  CHECK(refusal_of(model) == "tensor 'w' has scales along axis 3; axis 0 is needed");
  model.tensors[1].quantization = {};
  CHECK(refusal_of(model) == "tensor 'w' needs a scale");
  model = layer.model;
  model.tensors[1].type = ElementType::uint8;
  model.tensors[1].constant = Tensor(ElementType::uint8, model.tensors[1].shape);
  CHECK(refusal_of(model) == "tensor 'w' is uint8; allowed: float32, int8");
  model = layer.model;
  model.tensors[2].type = ElementType::int32;
  model.tensors[2].constant = Tensor(ElementType::int32, model.tensors[2].shape);
  CHECK(refusal_of(model) == "tensor 'b' is int32; allowed: float32");
  model = layer.model;
  model.tensors[3].type = ElementType::int8;
  model.tensors[3].quantization = {{0.5}, {0}, 0};
  CHECK(refusal_of(model) == "tensor 'y' is int8; allowed: float32");
}

TEST_CASE("a zero point is asked for by hybrid layers alone") {
  Model model = small(fully_connected).model;
  std::get<FullyConnectedAttributes>(model.operations[0].attributes).asymmetric_inputs = true;
  CHECK(refusal_of(model) == "accepted");
  const Model real = dequantized(model);
  CHECK_FALSE(std::get<FullyConnectedAttributes>(real.operations[0].attributes).asymmetric_inputs);
  model = real;
  std::get<FullyConnectedAttributes>(model.operations[0].attributes).asymmetric_inputs = true;
  CHECK(refusal_of(model) == "asymmetric_inputs is for float32 data with integer weights");
}

TEST_CASE("grouped and depthwise layers need a scale per channel") {
  const Backend& backend = find_backend("tflite_builtin_double").backend;
  const Model depthwise = made({.kind = depthwise_conv2d, .input = {1, 3, 3, 1}, .weights = {1, 2, 2, 2}, .output = {1, 2, 2, 2}}, 3).model;
  const Model grouped = made({.input = {1, 3, 3, 2}, .weights = {2, 2, 2, 1}, .output = {1, 2, 2, 2}}, 3).model;
  for (const Model& model : {depthwise, grouped}) {
    const auto problems = check(model, backend);
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].message == "weights 'w' have one scale; a grouped or depthwise hybrid layer needs one per channel");
  }
}

}  // namespace
