// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// No arithmetic outside the sheet: a device that states nothing computes nothing, whatever the operation, the type of its data and its
// attributes; and what an attribute asks for is there only where a rule states it.
#include <map>

#include "lastbit/emulator.hpp"
#include "lastbit/error.hpp"
#include "lastbit/model_builder.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "support/catch.hpp"

namespace lastbit {
namespace {

using enum OperationKind;

const Quantization half{{0.5}, {0}, 0}, quarter{{0.25}, {0}, 0};

struct Case {
  OperationKind kind;
  std::vector<Shape> inputs;  ///< all but the first of them constant where `has_weights`
  Shape output;
  std::optional<Attributes> attributes = {};
  bool has_weights = false;
};

Attributes pool(std::int64_t filter) { return Pool2dAttributes{.filter = {filter, filter}, .stride = {1, 1}, .padding = {}}; }

Attributes bilinear() {
  ResizeAttributes attributes;
  attributes.mode = ResizeMode::bilinear;
  return attributes;
}

const std::vector<Case> cases{
    {conv2d, {{1, 4, 4, 2}, {3, 3, 3, 2}}, {1, 2, 2, 3}, {}, true},
    {depthwise_conv2d, {{1, 4, 4, 2}, {1, 3, 3, 2}}, {1, 2, 2, 2}, {}, true},
    {transposed_conv2d, {{1, 4, 4, 2}, {3, 1, 1, 2}}, {1, 4, 4, 3}, {}, true},
    {fully_connected, {{2, 4}, {3, 4}}, {2, 3}, {}, true},
    {matmul, {{2, 4}, {4, 3}}, {2, 3}},
    {max_pool2d, {{1, 4, 4, 2}}, {1, 3, 3, 2}, pool(2)},
    {average_pool2d, {{1, 4, 4, 2}}, {1, 3, 3, 2}, pool(2)},
    {sum_pool2d, {{1, 4, 4, 2}}, {1, 3, 3, 2}, pool(2)},
    {global_average_pool, {{1, 4, 4, 2}}, {1, 1, 1, 2}},
    {mean, {{1, 4, 4, 2}}, {1, 2}, MeanAttributes{.axes = {1, 2}}},
    {add, {{1, 8}, {1, 8}}, {1, 8}},
    {add, {{1, 8}, {1, 8}}, {1, 8}, ElementwiseAttributes{.power_of_two_scales = true}},
    {sub, {{1, 8}, {1, 8}}, {1, 8}},
    {sub, {{1, 8}, {1, 8}}, {1, 8}, ElementwiseAttributes{.power_of_two_scales = true}},
    {mul, {{1, 8}, {1, 8}}, {1, 8}},
    {add_n, {{1, 8}, {1, 8}, {1, 8}}, {1, 8}},
    {concat, {{1, 8}, {1, 8}}, {2, 8}},
    {quantize, {{1, 8}}, {1, 8}},
    {dequantize, {{1, 8}}, {1, 8}},
    {requantize, {{1, 8}}, {1, 8}},
    {relu, {{1, 8}}, {1, 8}},
    {relu6, {{1, 8}}, {1, 8}},
    {relu_n1_to_1, {{1, 8}}, {1, 8}},
    {leaky_relu, {{1, 8}}, {1, 8}, LeakyReluAttributes{.alpha = 0.1}},
    {prelu, {{1, 8}, {1, 8}}, {1, 8}, {}, true},
    {hard_swish, {{1, 8}}, {1, 8}},
    {logistic, {{1, 8}}, {1, 8}},
    {OperationKind::tanh, {{1, 8}}, {1, 8}},
    {softmax, {{1, 8}}, {1, 8}},
    {OperationKind::exp, {{1, 8}}, {1, 8}},
    {resize, {{1, 4, 4, 2}}, {1, 8, 8, 2}, bilinear()},
    {argmax, {{1, 8}}, {1}, ArgmaxAttributes{.axis = 1}},
    {bitwise_or, {{1, 8}, {1, 8}}, {1, 8}, {}},
    {bitwise_xor, {{1, 8}, {1, 8}}, {1, 8}, {}},
};

/// A tensor of a case's type, with a scale if it holds codes.
TensorDescription described(const std::string& name, ElementType type, const Shape& shape, const Quantization& codes) {
  return {name, type, shape, is_integer(type) ? codes : Quantization{}};
}

/// Of integers of the type, and of float where the kind converts. Nothing where the kind does not take the type.
std::optional<Model> model_of(const Case& tested, ElementType type) {
  try {
    ModelBuilder builder;
    std::vector<std::int32_t> inputs;
    for (const Shape& shape : tested.inputs) {
      const std::string name = "x" + std::to_string(inputs.size());
      const bool is_weight = tested.has_weights && !inputs.empty();
      inputs.push_back(is_weight ? builder.constant(name, Tensor(ElementType::int8, shape), half)
                                 : builder.input(described(name, tested.kind == quantize ? ElementType::float32 : type, shape, half)));
    }
    if (tested.kind == argmax)
      return builder.finished({builder.operation(argmax, inputs, {"y", ElementType::int32, tested.output, {}}, tested.attributes)});
    const ElementType output = tested.kind == dequantize ? ElementType::float32 : type;
    return builder.finished({builder.operation(tested.kind, inputs, described("y", output, tested.output, quarter), tested.attributes)});
  } catch (const Error&) {
    return std::nullopt;
  }
}

TEST_CASE("a sheet that states nothing refuses every operation on every type of data") {
  std::map<std::string_view, int> met;
  for (const Case& tested : cases) {
    for (const ElementType type : {ElementType::int8, ElementType::uint8, ElementType::int16, ElementType::uint16, ElementType::int32}) {
      const auto model = model_of(tested, type);
      if (!model) continue;
      INFO(name_of(tested.kind) << " of " << name_of(type));
      ++met[name_of(tested.kind)];
      CHECK_FALSE(check(*model, Backend{}).empty());
    }
  }
  for (const Case& tested : cases) {
    INFO(name_of(tested.kind));
    CHECK(met[name_of(tested.kind)] > 0);
  }
}

TEST_CASE("sums of power-of-two scales are a rule: who does not state it refuses them") {
  ModelBuilder builder;
  const auto a = builder.input({"a", ElementType::int16, {1, 8}, half}), b = builder.input({"b", ElementType::int16, {1, 8}, half});
  const Model model = builder.finished(
      {builder.operation(add, {a, b}, {"y", ElementType::int16, {1, 8}, half}, ElementwiseAttributes{.power_of_two_scales = true})});
  std::vector<std::string> with;
  for (const SpecSheet& sheet : builtin_backends()) {
    if (sheet.backend.domain == Domain::real) continue;
    INFO(sheet.name);
    const bool stated = !sheet.backend.add.i16_power_of_two.output.chain.empty();
    CHECK(check(model, sheet.backend).empty() == stated);
    if (stated) with.push_back(sheet.name);
  }
  CHECK(with == std::vector<std::string>{"tflite_double", "tflite_single", "xnnpack"});
  Backend without = find_backend("tflite_double").backend;
  set_rule(without, "add.i16_power_of_two", "absent");
  CHECK_FALSE(check(model, without).empty());
}

/// The sheets of integers that compute a model.
std::vector<std::string> who_computes(const Model& model) {
  std::vector<std::string> names;
  for (const SpecSheet& sheet : builtin_backends()) {
    if (sheet.backend.domain == Domain::integer && check(model, sheet.backend).empty()) names.push_back(sheet.name);
  }
  return names;
}
std::vector<std::string> all_but(const std::vector<std::string>& missing) {
  std::vector<std::string> names;
  for (const SpecSheet& sheet : builtin_backends()) {
    if (sheet.backend.domain == Domain::integer && std::ranges::find(missing, sheet.name) == missing.end()) names.push_back(sheet.name);
  }
  return names;
}

TEST_CASE("max_pool2d, quantize and dequantize are rules: who does not state one refuses it") {
  const Case pooling{max_pool2d, {{1, 4, 4, 2}}, {1, 3, 3, 2}, pool(2)};
  const auto is_gna_1_or_2 = [](const std::string& name) { return name.starts_with("gna1") || name.starts_with("gna2"); };
  std::vector<std::string> without;
  std::ranges::copy_if(all_but({}), std::back_inserter(without), is_gna_1_or_2);
  CHECK(without.size() == 5);
  CHECK(who_computes(model_of(pooling, ElementType::int8).value()) == all_but(without));
  for (const auto& [kind, rule] : {std::pair{quantize, "quantize"}, std::pair{dequantize, "dequantize"}}) {
    INFO(rule);
    const Model model = model_of({kind, {{1, 8}}, {1, 8}}, ElementType::int8).value();
    CHECK(who_computes(model) == all_but({"gemmini", "gemmini_shift", "max78000"}));
    Backend backend = find_backend("vipnano_v8").backend;
    set_rule(backend, rule, "absent");
    const auto problems = check(model, backend);
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].message == "the backend has no such arithmetic");
  }
}

TEST_CASE("float data for a model of integers need a rule that quantises them") {
  ModelBuilder builder;
  const auto x = builder.input({"x", ElementType::int8, {2}, half});
  const Model model = builder.finished({builder.operation(reshape, {x}, {"y", ElementType::int8, {2, 1}, half})});
  const std::vector<Tensor> real{Tensor::from<float>({2}, std::vector{1.25F, -1.25F})};
  const std::vector<Tensor> codes{Tensor::from<std::int8_t>({2}, std::vector<std::int8_t>{3, -3})};
  Backend backend;
  CHECK(run(model, backend, codes).tensors.back()->values<std::int8_t>()[1] == -3);
  CHECK_THROWS_WITH(run(model, backend, real), "input 'x': real values; the backend has no quantize, so integers must be given");
  backend.quantize = {.division = ScaleDivision::divide, .rounding = Rounding::half_away};
  CHECK(run(model, backend, real).tensors.back()->values<std::int8_t>()[1] == -3);
}

}  // namespace
}  // namespace lastbit
