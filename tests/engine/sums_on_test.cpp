// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Whose sums a network's are: of floats alone no device of codes has a part in what comes out.
#include "lastbit/sums_on.hpp"

#include <string>
#include <utility>
#include <vector>

#include "lastbit/model_builder.hpp"
#include "lastbit/registry.hpp"
#include "support/catch.hpp"

namespace {

using namespace lastbit;
using enum ElementType;
using enum OperationKind;

const Shape row{1, 2}, square{2, 2};

TensorDescription floats(const std::string& name) { return {name, float32, row}; }
TensorDescription halves(const std::string& name) { return {name, float16, row}; }
TensorDescription codes(const std::string& name) { return {name, int8, row, {{0.5}, {0}}}; }

std::int32_t float_weights(ModelBuilder& net) {
  return net.constant<float>("w" + std::to_string(net.model.tensors.size()), square, {1, 2, 3, 4});
}
std::int32_t code_weights(ModelBuilder& net) {
  return net.constant<std::int8_t>("w" + std::to_string(net.model.tensors.size()), square, {1, 2, 3, 4}, {{0.25}, {0}});
}

/// x -dense-> y, of floats.
Model float_dense() {
  ModelBuilder net;
  const auto x = net.input(floats("x"));
  return net.finished({net.operation(fully_connected, {x, float_weights(net), absent_tensor}, floats("y"))});
}

/// x -quantize-> q -dense-> c -dequantize-> y: the ends are floats, the sum is of codes.
Model codes_between_floats() {
  ModelBuilder net;
  const auto x = net.input(floats("x"));
  const auto q = net.operation(quantize, {x}, codes("q"));
  const auto c = net.operation(fully_connected, {q, code_weights(net), absent_tensor}, codes("c"));
  return net.finished({net.operation(dequantize, {c}, floats("y"))});
}

/// x -quantize-> q -dequantize-> r -dense-> y: codes at the ends alone, the sum is of floats.
Model floats_between_codes() {
  ModelBuilder net;
  const auto x = net.input(floats("x"));
  const auto q = net.operation(quantize, {x}, codes("q"));
  const auto r = net.operation(dequantize, {q}, floats("r"));
  return net.finished({net.operation(fully_connected, {r, float_weights(net), absent_tensor}, floats("y"))});
}

/// Weights alone are codes, which become floats before they are summed.
Model weights_alone() {
  ModelBuilder net;
  const auto x = net.input(floats("x"));
  const auto w = net.operation(dequantize, {code_weights(net)}, {"real w", float32, square});
  return net.finished({net.operation(fully_connected, {x, w, absent_tensor}, floats("y"))});
}

/// Data are floats, weights codes: summed as codes ("dynamic range").
Model hybrid() {
  ModelBuilder net;
  const auto x = net.input(floats("x"));
  return net.finished({net.operation(fully_connected, {x, code_weights(net), absent_tensor}, floats("y"))});
}

/// A sum of codes, then one of floats.
Model float_head() {
  ModelBuilder net;
  const auto q = net.input(codes("q"));
  const auto c = net.operation(fully_connected, {q, code_weights(net), absent_tensor}, codes("c"));
  const auto r = net.operation(dequantize, {c}, floats("r"));
  return net.finished({net.operation(fully_connected, {r, float_weights(net), absent_tensor}, floats("y"))});
}

Model half_dense() {
  ModelBuilder net;
  const auto x = net.input(halves("x"));
  const auto w = net.constant("w", Tensor(float16, square));
  return net.finished({net.operation(fully_connected, {x, w, absent_tensor}, halves("y"))});
}

/// One sum in float16, one in float32.
Model half_and_whole() {
  ModelBuilder net;
  const auto x = net.input(halves("x"));
  const auto y = net.operation(fully_connected, {x, net.constant("w", Tensor(float16, square)), absent_tensor}, halves("y"));
  const auto z = net.operation(cast, {y}, floats("z"));
  return net.finished({net.operation(fully_connected, {z, float_weights(net), absent_tensor}, floats("o"))});
}

/// Without any sum of products.
Model one(OperationKind kind, TensorDescription from, TensorDescription to) {
  ModelBuilder net;
  const auto x = net.input(std::move(from));
  return net.finished({net.operation(kind, {x}, std::move(to))});
}

Model codes_dense() {
  ModelBuilder net;
  const auto q = net.input(codes("q"));
  return net.finished({net.operation(fully_connected, {q, code_weights(net), absent_tensor}, codes("c"))});
}

SumsOf on(const Model& model, const std::string& backend, const std::vector<std::string>& fallbacks = {}) {
  Backend device = find_backend(backend).backend;
  std::vector<Placement> placements;
  for (const std::string& name : fallbacks) placements.push_back({find_backend(name), {}});
  device.elsewhere = Placements(std::move(placements));
  return sums_on(model, device).what;
}

}  // namespace

TEST_CASE("a network is one of floats where every sum is; without a sum, where everything that computes is") {
  CHECK(is_float_network(float_dense()));
  CHECK(is_float_network(half_dense()));
  CHECK(is_float_network(floats_between_codes()));
  CHECK(is_float_network(weights_alone()));
  CHECK(is_float_network(one(OperationKind::relu, floats("x"), floats("y"))));
  CHECK_FALSE(is_float_network(codes_between_floats()));
  CHECK_FALSE(is_float_network(hybrid()));
  CHECK_FALSE(is_float_network(float_head()));
  CHECK_FALSE(is_float_network(one(OperationKind::relu, codes("x"), codes("y"))));
  CHECK_FALSE(is_float_network(one(quantize, floats("x"), codes("y"))));
  CHECK_FALSE(is_float_network(one(dequantize, codes("x"), floats("y"))));
  CHECK_FALSE(is_float_network(one(reshape, floats("x"), {"y", float32, {2, 1}})));
}

TEST_CASE("the sheet says whether a device has sums of floats: float16, or float32 in its own order, but not the golden path") {
  for (const std::string device : {"vipnano_v8", "tflite_double", "gna2", "n2d2_single_shift", "bernoulli2"}) {
    CAPTURE(device);
    CHECK(on(float_dense(), device) == SumsOf::no_device);
    CHECK(on(weights_alone(), device) == SumsOf::no_device);
    CHECK(on(float_head(), device) == SumsOf::codes);
    CHECK(on(codes_between_floats(), device) == SumsOf::codes);
  }
  for (const std::string device : {"ascend310", "ascend910b", "onnxruntime", "onnxruntime_unfused"}) {
    CAPTURE(device);
    CHECK(on(float_dense(), device) == SumsOf::device_floats);
    CHECK(on(codes_dense(), device) == SumsOf::codes);
  }
  // A reference is asked nothing.
  CHECK(on(float_dense(), "float") == SumsOf::codes);
  CHECK(on(float_dense(), "float_unbounded") == SumsOf::codes);
  // The rule decides, not the name.
  Backend device = find_backend("bernoulli2").backend;
  device.float32 = Float32Operations::ordered;
  CHECK(sums_on(float_dense(), device).what == SumsOf::device_floats);
}

TEST_CASE("a fallback in float that would compute every sum is none; one of integers, or one sum of the device's, is enough") {
  CHECK(on(float_dense(), "vipnano_v8", {"float"}) == SumsOf::no_device);
  CHECK(on(codes_dense(), "vipnano_v8", {"float"}) == SumsOf::codes);
  CHECK(on(hybrid(), "vipnano_v8") == SumsOf::codes);  // refused by the device itself
  CHECK(on(hybrid(), "vipnano_v8", {"float"}) == SumsOf::left_to_float);
  CHECK(on(hybrid(), "vipnano_v8", {"tflite_builtin_double"}) == SumsOf::codes);
  CHECK(on(hybrid(), "vipnano_v8", {"tflite_builtin_double", "float"}) == SumsOf::codes);
  CHECK(on(hybrid(), "tflite_builtin_double", {"float"}) == SumsOf::codes);
  // What a user has put on float by name he means.
  Backend device = find_backend("vipnano_v8").backend;
  device.elsewhere = Placements({{find_backend("float"), {"y"}}, {find_backend("float"), {}}});
  CHECK(sums_on(hybrid(), device).what == SumsOf::codes);
}

TEST_CASE("sums of floats that a device has are told by who computes them") {
  const auto text = [](const Model& model, const std::string& backend) {
    return float_sums_text(sums_on(model, find_backend(backend).backend), backend);
  };
  CHECK(text(half_dense(), "ascend310") == "float network: ascend310 computes its 1 sum in float16");
  CHECK(text(float_dense(), "onnxruntime") == "float network: onnxruntime computes its 1 sum in float32");
  CHECK(text(float_dense(), "ascend310") ==
        "float network: ascend310 has sums of floats in float16; this network's 1 sum, on float32 tensors, is computed on the float path");
  CHECK(text(half_and_whole(), "ascend310") ==
        "float network: ascend310 computes 1 of its 2 sums in float16; the others, on float32 tensors, are computed on the float path");
}
