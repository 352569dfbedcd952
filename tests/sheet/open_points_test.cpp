// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the sheets leave open, and of which layers.
#include <algorithm>
#include <string>
#include <vector>

#include "lastbit/error.hpp"
#include "lastbit/model_builder.hpp"
#include "lastbit/operation_rules.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "support/catch.hpp"

using namespace lastbit;

namespace {

bool says(const std::vector<Assumption>& assumptions, std::string_view words) {
  return std::ranges::any_of(assumptions, [&](const Assumption& each) { return each.source.find(words) != std::string::npos; });
}

bool rests(const Model& model, const char* backend, std::string_view words) {
  return says(assumptions_of(model, model.operations.back(), find_backend(backend)), words);
}

const Quantization data{{0.5}, {3}};

Model mean_of(ElementType type, std::vector<std::int64_t> axes) {
  ModelBuilder builder("mean");
  const auto in = builder.input({"in", type, Shape{1, 4, 4, 8}, data});
  Shape shape{1, 8};
  if (axes.size() == 1) shape = Shape{1, 4, 8};
  return builder.finished(
      {builder.operation(OperationKind::mean, {in}, {"out", type, shape, {{0.25}, {1}}}, MeanAttributes{std::move(axes)})});
}

struct ConvolutionOf {
  ElementType type = ElementType::uint8;
  std::vector<std::int32_t> bias = {0, 0, 0};
  std::int64_t stride = 1, size = 4, kernel = 2, channels = 2;
};

Model convolution(const ConvolutionOf& of) {
  ModelBuilder builder("convolution");
  const auto outputs = static_cast<std::int64_t>(of.bias.size());
  const auto in = builder.input({"in", of.type, Shape{1, of.size, of.size, of.channels}, data});
  const Shape shape{outputs, of.kernel, of.kernel, of.channels};
  const auto w =
      builder.constant<std::int8_t>("w", shape, std::vector<std::int8_t>(static_cast<std::size_t>(shape.element_count()), 1), {{0.5}, {0}});
  const auto b = builder.constant<std::int32_t>("b", Shape{outputs}, of.bias, {{0.25}, {0}});
  const std::int64_t out = (of.size + of.stride - 1) / of.stride;
  Conv2dAttributes attributes;
  attributes.stride = {of.stride, of.stride};
  attributes.padding.mode = PaddingMode::same;
  return builder.finished(
      {builder.operation(OperationKind::conv2d, {in, w, b}, {"out", of.type, Shape{1, out, out, outputs}, {{2.0}, {7}}}, attributes)});
}

}  // namespace

TEST_CASE(
    "a mean of 8-bit codes over the image rests on what TFLite's optimised kernels are known to do otherwise, another mean does not") {
  constexpr std::string_view words = "one whole number of their zero points";
  CHECK(rests(mean_of(ElementType::int8, {1, 2}), "tflite_builtin_double", words));
  CHECK(rests(mean_of(ElementType::int8, {2, 1}), "tflite_builtin_single", words));
  CHECK_FALSE(rests(mean_of(ElementType::int8, {2}), "tflite_builtin_double", words));
  CHECK(rests(mean_of(ElementType::uint8, {1, 2}), "tflite_builtin_double", words));
  CHECK_FALSE(rests(mean_of(ElementType::int16, {1, 2}), "tflite_builtin_double", words));
  CHECK_FALSE(rests(mean_of(ElementType::int8, {1, 2}), "tflite_double", words));
}

TEST_CASE("a layer with a bias rests on engine onednn's real one, a layer whose bias is zero does not") {
  constexpr std::string_view words = "a bias is added as a real number";
  CHECK(rests(convolution({.bias = {0, 1, 0}}), "pytorch_x86", words));
  CHECK_FALSE(rests(convolution({}), "pytorch_x86", words));
  CHECK_FALSE(rests(convolution({.bias = {0, 1, 0}}), "onnxruntime", words));
}

TEST_CASE("uint8 data rest on XNNPACK's integer kernels of Arm, int8 data do not") {
  CHECK(rests(convolution({}), "xnnpack", "rndnu"));
  CHECK_FALSE(rests(convolution({.type = ElementType::int8}), "xnnpack", "rndnu"));
}

TEST_CASE("strides that leave input over behind the last window are met, others and kernels of one place are not") {
  constexpr std::string_view words = "its layer is the bias alone";
  const auto is_met_by = [](const ConvolutionOf& of) {
    const Model model = convolution(of);
    return is_met(LayerCondition::input_left_over, model, model.operations[0]);
  };
  CHECK(is_met_by({.stride = 4, .size = 8}));
  CHECK_FALSE(is_met_by({.stride = 4, .size = 8, .kernel = 1}));
  CHECK_FALSE(is_met_by({.stride = 2, .size = 8}));
  CHECK(rests(convolution({.type = ElementType::int8, .stride = 4, .size = 8}), "xnnpack", words));
  CHECK_FALSE(rests(convolution({.type = ElementType::int8, .stride = 2, .size = 8}), "xnnpack", words));
}

TEST_CASE("conditions ask of a layer what their names say") {
  const auto met = [](LayerCondition condition, const ConvolutionOf& of) {
    const Model model = convolution(of);
    return is_met(condition, model, model.operations[0]);
  };
  using enum LayerCondition;
  CHECK(met(channels_beyond_eights, {.bias = std::vector<std::int32_t>(9)}));
  CHECK_FALSE(met(channels_beyond_eights, {.bias = std::vector<std::int32_t>(16)}));
  CHECK(met(channels_beyond_thirty_twos, {.bias = std::vector<std::int32_t>(16)}));
  CHECK_FALSE(met(channels_beyond_thirty_twos, {.bias = std::vector<std::int32_t>(32)}));
  CHECK(met(values_beyond_eights, {.size = 3}));                     // 27 values
  CHECK_FALSE(met(values_beyond_eights, {.size = 4, .kernel = 1}));  // 48
  CHECK_FALSE(met(values_beyond_sixteens, {.size = 4, .kernel = 1}));
  CHECK(met(values_beyond_sixteens, {.bias = std::vector<std::int32_t>(8), .size = 3}));  // 72
  CHECK(met(stride_beyond_kernel, {.stride = 3}));
  CHECK_FALSE(met(stride_beyond_kernel, {.stride = 2}));
  CHECK(met(products_from_512, {.kernel = 2, .channels = 128}));
  CHECK_FALSE(met(products_from_512, {.kernel = 2, .channels = 127}));
  CHECK_FALSE(met(products_from_131073, {.kernel = 2, .channels = 128}));
  CHECK(met(data_u8, {}));
  CHECK_FALSE(met(data_16bit, {}));
  CHECK_FALSE(met(data_u8_without_bias, {}));
  CHECK_FALSE(met(grouped, {}));
  CHECK(met(several_rows, {}));
}

TEST_CASE("an open point of another program is no assumption of a layer") {
  const Model model = convolution({.type = ElementType::int8});
  CHECK(says(assumptions_of(model, model.operations[0], find_backend("esp_nn")), "in its C code"));
  const SpecSheet ort = find_backend("onnxruntime");
  REQUIRE(std::ranges::any_of(ort.open, [](const OpenPoint& point) { return point.program == "ONNX Runtime on Arm"; }));
  CHECK_FALSE(says(assumptions_of(model, model.operations[0], ort), "vcvtnq"));
}

TEST_CASE("every open point speaks of rules by which its sheet computes, in one clause, once") {
  for (const SpecSheet& sheet : builtin_backends()) {
    const std::vector<RuleText> rules = list_rules(sheet.backend);
    for (std::size_t i = 0; i < sheet.open.size(); ++i) {
      const OpenPoint& point = sheet.open[i];
      INFO(sheet.name << ": " << point.rule << ": " << point.what);
      CHECK(std::ranges::any_of(rules, [&](const RuleText& rule) {
        const bool is_absent = rule.value == "absent" || (rule.path.ends_with(".chain.size") && rule.value == "0");
        return !is_absent && covers(point.rule, rule.path);
      }));
      CHECK_FALSE(point.what.empty());
      CHECK_FALSE(point.what.ends_with('.'));
      CHECK(std::ranges::count(sheet.open, point) == 1);
    }
  }
}

TEST_CASE("a backend file states open points in place of its base's, and reads back as it was written") {
  const std::string head = R"({"format": "lastbit.backend.v1", "name": "own", "extends": "pytorch_x86")";
  const SpecSheet inherited = backend_from_json(head + "}", "own.json");
  CHECK(inherited.open == find_backend("pytorch_x86").open);
  CHECK(inherited.origin == "pytorch_x86");
  CHECK(backend_from_json(backend_to_json(inherited), "own.json") == inherited);
  CHECK(backend_from_json(head + R"(, "open": []})", "own.json").open.empty());
  const SpecSheet own = backend_from_json(
      head +
          R"(, "open": [{"rule": "conv", "when": "real_bias", "what": "not measured"}, {"rule": "add", "what": "x", "program": "a b"}]})",
      "own.json");
  REQUIRE(own.open.size() == 2);
  CHECK(own.open[0] == OpenPoint{"conv", LayerCondition::real_bias, "not measured", ""});
  CHECK(own.open[1] == OpenPoint{"add", LayerCondition::always, "x", "a b"});
  CHECK(backend_from_json(backend_to_json(own), "own.json").open == own.open);
  const Model model = convolution({.bias = {1}});
  CHECK(says(assumptions_of(model, model.operations[0], own), "not measured"));
}

TEST_CASE("an open point that is none is refused with the place") {
  const std::string head = R"({"format": "lastbit.backend.v1", "name": "own", "extends": "pytorch_x86", "open": )";
  const auto refusal = [&](const std::string& list) {
    try {
      static_cast<void>(backend_from_json(head + list + "}", "own.json"));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refusal("3").find("open: must be a list") != std::string::npos);
  CHECK(refusal(R"([{"rule": "conv", "what": "x", "when": "real_bais"}])").find("open.0.when: 'real_bais' is not one of: always") !=
        std::string::npos);
  CHECK(refusal(R"([{"rule": "conv", "what": "x", "when": "real_bais"}])").find("did you mean 'real_bias'") != std::string::npos);
  CHECK(refusal(R"([{"rule": "convv", "what": "x"}])").find("open.0.rule: no rule 'convv'") != std::string::npos);
  CHECK(refusal(R"([{"rule": "conv"}])").find("open.0.what: must be given as a string") != std::string::npos);
}

TEST_CASE("what is open is described: assumed, known to differ, and of other programs") {
  const std::string page = describe_open(find_backend("pytorch_x86"));
  CHECK(page.find("assumed: max_pool, quantize, dequantize") != std::string::npos);
  CHECK(page.find("open, real_bias: conv, depthwise_conv, fully_connected") != std::string::npos);
  CHECK(page.find("nearest, of PyTorch's engines x86 and fbgemm: *") != std::string::npos);
  CHECK(describe_open(find_backend("float")).find("nothing is open") != std::string::npos);
  CHECK(describe(find_backend("pytorch_x86")).find("\nOpen (") != std::string::npos);
}
