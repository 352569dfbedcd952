// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/shrink.hpp"

#include <sstream>

#include <random>

#include "analysis/backend_reference.hpp"
#include "analysis/shrink/oracle.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/io/tflite.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "lastbit/verify.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/scratch.hpp"

using namespace lastbit;
using namespace lastbit::test;

namespace {

Tensor random_int8(const Shape& shape, std::mt19937& random) {
  Tensor tensor(ElementType::int8, shape);
  for (std::int8_t& value : tensor.values<std::int8_t>()) value = static_cast<std::int8_t>(random() % 255 - 127);
  return tensor;
}

ModelTensor int8_tensor(const std::string& name, const Shape& shape, double scale, std::int64_t zero_point) {
  return {name, ElementType::int8, shape, {{scale}, {zero_point}, 0}, {}};
}

SpecSheet changed(const SpecSheet& sheet, const std::string& rule, const std::string& value) {
  SpecSheet other = sheet;
  set_rule(other.backend, rule, value);
  other.name += " " + rule + "=" + value;
  return other;
}

struct LayerAndInputs {
  Model model;
  std::vector<Tensor> inputs;
};

/// A convolution in whose sums ties are common.
LayerAndInputs convolution(unsigned seed, double output_scale = 0.5) {
  std::mt19937 random(seed);
  LayerAndInputs layer;
  layer.model.name = "network";
  layer.model.tensors = {int8_tensor("x", {1, 6, 6, 4}, 0.0625, -1), int8_tensor("w", {3, 3, 3, 4}, 1.0 / 64, 0),
                         int8_tensor("y", {1, 6, 6, 3}, output_scale, 5)};
  layer.model.tensors[1].constant = random_int8({3, 3, 3, 4}, random);
  Conv2dAttributes attributes;
  attributes.padding.mode = PaddingMode::same;
  layer.model.operations = {{OperationKind::conv2d, "conv", {0, 1}, {2}, attributes}};
  layer.model.inputs = {0};
  layer.model.outputs = {2};
  validate(layer.model, "test");
  layer.inputs = {random_int8({1, 6, 6, 4}, random)};
  return layer;
}

/// One input of each shape, and an output.
LayerAndInputs operation(OperationKind kind, const std::vector<Shape>& inputs, const Shape& output, const Attributes& attributes,
                         double output_scale, unsigned seed) {
  std::mt19937 random(seed);
  LayerAndInputs layer;
  layer.model.name = "network";
  Operation one{kind, "y", {}, {static_cast<std::int32_t>(inputs.size())}, attributes};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    layer.model.tensors.push_back(int8_tensor("x" + std::to_string(i), inputs[i], 0.071 + 0.013 * static_cast<double>(i), 4));
    one.inputs.push_back(static_cast<std::int32_t>(i));
    layer.inputs.push_back(random_int8(inputs[i], random));
  }
  layer.model.inputs = one.inputs;
  layer.model.tensors.push_back(int8_tensor("y", output, output_scale, kind == OperationKind::softmax ? -128 : 3));
  if (kind == OperationKind::average_pool2d) layer.model.tensors.back().quantization = layer.model.tensors.front().quantization;
  layer.model.outputs = one.outputs;
  layer.model.operations = {one};
  validate(layer.model, "test");
  return layer;
}

/// What must be true of every case.
void require_sound(const ShrunkCase& shrunk) {
  const LayerCase layer{shrunk.model, shrunk.inputs, shrunk.index};
  const auto on = [&](const SpecSheet& sheet) {
    return *run(shrunk.model, sheet.backend, shrunk.inputs).tensors[static_cast<std::size_t>(shrunk.model.outputs[0])];
  };
  CHECK(on(shrunk.a) == shrunk.of_a);
  CHECK(on(shrunk.b) == shrunk.of_b);
  CHECK(TwoOutputs{shrunk.of_a, shrunk.of_b}.differ_at(shrunk.index));
  CHECK(cause_of(layer, shrunk.a, shrunk.b) == shrunk.cause);
}

/// No element can be set to zero, alone.
void require_minimal(const ShrunkCase& shrunk) {
  Oracle oracle(shrunk.a, shrunk.b);
  oracle.expect(shrunk.cause);
  const LayerCase layer{shrunk.model, shrunk.inputs, shrunk.index};
  for (std::int32_t tensor = 0; tensor < static_cast<std::int32_t>(shrunk.model.tensors.size()); ++tensor) {
    const Tensor* const values = layer.values(tensor);
    for (std::size_t i = 0; values != nullptr && values->type() == ElementType::int8 && i < values->bytes().size(); ++i) {
      LayerCase spoiled = layer;
      const auto zero = static_cast<std::int8_t>(spoiled.tensor(tensor).quantization.zero_point());
      std::int8_t& value = spoiled.values(tensor)->values<std::int8_t>()[i];
      if (value == zero) continue;
      value = zero;
      INFO(shrunk.model.tensor(tensor).name << " " << i);
      CHECK_FALSE(oracle.holds(spoiled));
    }
  }
}

}  // namespace

TEST_CASE("shrink: a rule of the way to the output needs one multiplication") {
  const SpecSheet vipnano = find_backend("vipnano_v8"), twice = find_backend("tflite_double");
  struct Case {
    const SpecSheet& base;
    std::string rule, value;
  };
  const std::vector<Case> cases{
      {vipnano, "conv.i8.output.chain.2.rounding", "half_away"}, {vipnano, "conv.i8.output.chain.2.rounding", "floor"},
      {vipnano, "conv.i8.output.scale.significant_bits", "8"},   {twice, "conv.i8.output.chain.1.rounding", "floor"},
      {twice, "conv.i8.output.chain.2.rounding", "half_even"},
  };
  int found = 0;
  for (const Case& one : cases) {
    for (const double output_scale : {0.5, 0.47}) {
      INFO(one.rule << " = " << one.value << ", output scale " << output_scale);
      const LayerAndInputs layer = convolution(1, output_scale);
      const auto shrunk = shrink(layer.model, layer.inputs, one.base, changed(one.base, one.rule, one.value));
      if (!shrunk) continue;
      ++found;
      require_sound(*shrunk);
      require_minimal(*shrunk);
      REQUIRE(shrunk->cause.attributed);
      REQUIRE(shrunk->cause.changes.size() == 1);
      CHECK(shrunk->cause.changes[0].rules == std::vector{one.rule});
      CHECK(shrunk->before.multiply_accumulates == 6 * 6 * 3 * 3 * 3 * 4);
      CHECK(shrunk->after.multiply_accumulates == 1);
      CHECK(shrunk->after.nonzero <= 2);
    }
  }
  CHECK(found >= 6);
}

TEST_CASE("shrink: an accumulator that wraps keeps as many taps as that takes") {
  const SpecSheet vipnano = find_backend("vipnano_v8");
  for (const int bits : {14, 16, 17}) {
    const SpecSheet narrow = changed(vipnano, "conv.i8.accumulator.bits", std::to_string(bits));
    INFO(bits);
    bool found = false;
    for (unsigned seed = 1; seed < 30 && !found; ++seed) {
      const LayerAndInputs layer = convolution(seed, 8.0);
      const auto shrunk = shrink(layer.model, layer.inputs, vipnano, narrow);
      if (!shrunk) continue;
      found = true;
      require_sound(*shrunk);
      require_minimal(*shrunk);
      CHECK(shrunk->cause.changes[0].rules == std::vector<std::string>{"conv.i8.accumulator.bits"});
      // 127 * 128 * n >= 2^(bits-1), unless the bias holds the sum
      CHECK(shrunk->after.multiply_accumulates <= 5);
      CHECK(shrunk->after.nonzero <= 11);
    }
    CHECK(found);
  }
}

TEST_CASE("shrink: rows that a device may process together go one by one, and taps as far as the device's vectors allow") {
  // Intel's emulations add products in pairs of 32 bits: (-32768)^2 + (-32768)^2 wraps; sums shorter than a vector take another way.
  const Shape in{3, 64}, weights{2, 64};
  LayerAndInputs layer;
  layer.model.name = "network";
  layer.model.tensors = {{"x", ElementType::int16, in, {{1.0}, {0}, 0}, {}},
                         {"w", ElementType::int16, weights, {{1.0}, {0}, 0}, Tensor(ElementType::int16, weights)},
                         {"y", ElementType::int32, Shape{3, 2}, {}, {}}};
  layer.inputs = {Tensor(ElementType::int16, in)};
  for (Tensor* tensor : {&layer.model.tensors[1].constant.edit(), &layer.inputs[0]})
    std::ranges::fill(tensor->values<std::int16_t>(), std::int16_t{-32768});
  layer.model.operations = {{OperationKind::fully_connected, "y", {0, 1}, {2}, FullyConnectedAttributes{}}};
  layer.model.inputs = {0};
  layer.model.outputs = {2};
  validate(layer.model, "test");
  for (const auto& [name, taps] : {std::pair{"gna_software_sse4", 8}, std::pair{"gna_software_avx2", 16}}) {
    INFO(name);
    const auto shrunk = shrink(layer.model, layer.inputs, find_backend("gna3_0"), find_backend(name), {.index = 5});
    REQUIRE(shrunk);
    require_sound(*shrunk);
    CHECK(shrunk->after.multiply_accumulates == taps);
    CHECK(shrunk->after.nonzero == 4);
  }
}

TEST_CASE("shrink: operations that are no sums of products") {
  using enum OperationKind;
  struct Case {
    const char* name;
    LayerAndInputs layer;
    std::string a, b;
    std::int64_t most_elements;
  };
  const Pool2dAttributes pool{.filter = {3, 3}, .stride = {2, 2}, .padding = {PaddingMode::same}};
  const std::vector<Case> cases{
      {"add", operation(add, {{1, 4, 4, 8}, {8}}, {1, 4, 4, 8}, ElementwiseAttributes{}, 0.11, 3), "tflite_double", "vipnano_v8", 2},
      {"mul", operation(mul, {{1, 4, 4, 8}, {1, 4, 4, 8}}, {1, 4, 4, 8}, ElementwiseAttributes{}, 0.3, 4), "tflite_double", "xnnpack", 2},
      {"average_pool2d", operation(average_pool2d, {{1, 9, 9, 4}}, {1, 5, 5, 4}, pool, 0.071, 5), "tflite_double", "vipnano_v8", 9},
      {"mean", operation(mean, {{1, 5, 4, 16}}, {1, 16}, MeanAttributes{{1, 2}, false}, 0.05, 6), "tflite_double", "tflite_single", 20},
      {"hard_swish", operation(hard_swish, {{1, 256}}, {1, 256}, {}, 0.05, 7), "tflite_double", "onnxruntime", 1},
  };
  for (const Case& one : cases) {
    INFO(one.name);
    const auto shrunk = shrink(one.layer.model, one.layer.inputs, find_backend(one.a), find_backend(one.b));
    REQUIRE(shrunk);
    require_sound(*shrunk);
    require_minimal(*shrunk);
    CHECK(shrunk->after.multiply_accumulates == 0);
    CHECK(shrunk->after.elements <= one.most_elements);
    CHECK(shrunk->after.nonzero <= shrunk->after.elements);
    CHECK(shrunk->before.elements > shrunk->after.elements);
  }
}

TEST_CASE("shrink: the layer, the value and the sample that are asked for") {
  LayerAndInputs layer = convolution(2);
  const SpecSheet a = find_backend("tflite_double"), b = find_backend("tflite_single");
  std::mt19937 random(9);
  const Tensor second = random_int8({1, 6, 6, 4}, random);
  Tensor both(ElementType::int8, {2, 1, 6, 6, 4});
  std::copy(layer.inputs[0].bytes().begin(), layer.inputs[0].bytes().end(), both.bytes().begin());
  std::copy(second.bytes().begin(), second.bytes().end(), both.bytes().begin() + 144);
  const std::vector<Tensor> inputs{both};
  const auto first = shrink(layer.model, inputs, a, b);
  REQUIRE(first);
  CHECK(first->layer == "y");
  const LayerAttribution found = explain(layer.model, inputs, a, b);
  const std::int64_t last = found.differing.back().index;
  REQUIRE(last >= 108);  // in the second sample
  const auto chosen = shrink(layer.model, inputs, a, b, {.layer = "conv", .index = last});
  CHECK(chosen->sample == 1);
  CHECK(chosen->position == last - 108);
  require_sound(*chosen);
  const auto refused = [&](const ShrinkOptions& options) {
    return refusal_of([&] { (void)shrink(layer.model, inputs, a, b, options); })->message;
  };
  CHECK_THAT(refused({.layer = "conv7"}), contains_text("no layer is called 'conv7'"));
  CHECK_THAT(refused({.index = 216}), contains_text("value 216 of a layer with 216"));
  CHECK_FALSE(shrink(layer.model, inputs, a, a));
  CHECK_THAT(refusal_of([&] { (void)shrink(layer.model, inputs, a, a, {.layer = "conv"}); })->message, contains_text("does not differ"));
  CHECK_THAT(refusal_of([&] { (void)shrink(layer.model, inputs, a, find_backend("float")); })->message, contains_text("float32"));
}

TEST_CASE("shrink: the files verify, and the .tflite is the same layer") {
  const Scratch folder;
  const LayerAndInputs layer = convolution(1);
  SpecSheet own = find_backend("vipnano_v8");
  own.name = "my_npu";
  set_rule(own.backend, "conv.i8.output.chain.2.rounding", "floor");
  const SpecSheet pairs[][2] = {
      {find_backend("tflite_double"), find_backend("tflite_single")},
      {find_backend("vipnano_v8"), changed(find_backend("vipnano_v8"), "conv.i8.output.chain.2.rounding", "floor")},
      {find_backend("vipnano_v8"), own}};
  for (const auto& [a, b] : pairs) {
    INFO(b.name);
    const auto shrunk = shrink(layer.model, layer.inputs, a, b);
    REQUIRE(shrunk);
    CHECK_FALSE(write_case(folder.path(), *shrunk));
    const VerifyReport report = verify(folder.path());
    CHECK(report.passed == 2);
    for (const CaseFailure& failure : report.failures) FAIL(failure.reason << failure.expected << " " << failure.got);
    const Model read = read_tflite(folder.path() / "layer.tflite");
    const Trace trace = run(read, b.backend, shrunk->inputs);
    CHECK(*trace.tensors[static_cast<std::size_t>(read.outputs[0])] == shrunk->of_b);
  }
  // Both ways a backend is referred to have been seen.
  CHECK(reference_to(pairs[1][1]).settings.size() == 1);
  CHECK(reference_to(pairs[2][1]).name.empty());
  CHECK(std::filesystem::exists(folder.path() / "my_npu.backend.json"));
}

TEST_CASE("shrink: no name ends a comment or a literal of the emitted test") {
  LayerAndInputs layer = convolution(1);
  SpecSheet own = find_backend("vipnano_v8");
  own.name = ")lastbit";
  set_rule(own.backend, "conv.i8.output.chain.2.rounding", "floor");
  for (const std::string& name :
       {std::string("a\n#error b"), std::string("a\\"), std::string("a*/b"), std::string("a?\?/"), std::string("a\\\nb"),
        std::string("\x1b[31m\xe2\x80\xae"), std::string("\"); int x("), std::string(")lastbit\"")}) {
    layer.model.name = name;
    layer.model.operations[0].name = name;
    const auto shrunk = shrink(layer.model, layer.inputs, find_backend("vipnano_v8"), own);
    REQUIRE(shrunk);
    for (const TestFramework framework : {TestFramework::catch2, TestFramework::googletest}) {
      const std::string text = to_test(*shrunk, framework);
      INFO(name << "\n" << text);
      CHECK(text.starts_with("// lastbit: "));
      std::istringstream lines(text);
      std::size_t comments = 0;
      for (std::string line; std::getline(lines, line); ++comments) {
        const bool comment = line.starts_with("//");
        if (!comment) break;
        CHECK_FALSE(line.ends_with('\\'));
      }
      CHECK(comments == 2);
      CHECK(text.find("*/") == std::string::npos);
      CHECK(text.find("?\?/") == std::string::npos);
      CHECK(text.find("\n#error") == std::string::npos);
      CHECK(text.find('\x1b') == std::string::npos);
      CHECK(text.find("\xe2\x80\xae") == std::string::npos);
      const std::size_t raw = text.find("backend_from_json(R\"") + 20, open = text.find('(', raw);
      const std::string end = ")" + text.substr(raw, open - raw) + "\"";
      CHECK(text.substr(text.find(end, open) + end.size()).starts_with(", \")lastbit\");\n"));
    }
  }
}

TEST_CASE("shrink: scales become 32-bit floats where the cause allows it, and what no .tflite can say is said") {
  const Scratch folder;
  const LayerAndInputs layer = convolution(1, 0.47);
  const SpecSheet vipnano = find_backend("vipnano_v8");
  const auto rounded = shrink(layer.model, layer.inputs, vipnano, changed(vipnano, "conv.i8.output.scale.significant_bits", "8"));
  REQUIRE(rounded);
  require_sound(*rounded);
  CHECK_FALSE(write_case(folder.path(), *rounded));
  LayerAndInputs halves = operation(OperationKind::softmax, {{1, 12}}, {1, 12}, SoftmaxAttributes{}, 1.0, 8);
  for (ModelTensor& tensor : halves.model.tensors) tensor.type = ElementType::float16, tensor.quantization = {};
  Tensor reals(ElementType::float16, {1, 12});
  for (std::size_t i = 0; i < 12; ++i) reals.values<Float16>()[i] = Float16{static_cast<std::uint16_t>(0x3C00 + 0x123 * i)};
  const std::vector<Tensor> inputs{reals};
  const auto half = shrink(halves.model, inputs, find_backend("ascend310"), find_backend("ascend910b"));
  REQUIRE(half);
  require_sound(*half);
  CHECK(half->cause.attributed);
  CHECK(half->after.elements <= 3);
  const auto refused = write_case(folder.path() / "half", *half);
  REQUIRE(refused);
  CHECK_THAT(*refused, contains_text("element type float16"));
  CHECK_FALSE(std::filesystem::exists(folder.path() / "half" / "layer.tflite"));
  CHECK(verify(folder.path()).passed == 4);
}
