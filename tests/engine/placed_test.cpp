// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Mixed execution: what the device lacks, or what the user moves, is computed by another backend, and nothing else changes.
#include <algorithm>

#include "lastbit/backends/golden.hpp"
#include "lastbit/backends/tflite.hpp"
#include "lastbit/dequantize.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/io/model_file.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/memory.hpp"
#include "lastbit/model_builder.hpp"
#include "lastbit/one_operation.hpp"
#include "lastbit/op/quantize.hpp"
#include "lastbit/operation_rules.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "support/budget.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"

namespace {

using namespace lastbit;

const Model& digits() {
  static const Model model = read_model(test::source_directory() / "examples/digits/model.json");
  return model;
}

const std::vector<Tensor>& images() {
  static const std::vector<Tensor> inputs{read_npy(test::source_directory() / "examples/digits/test_images.npy")};
  return inputs;
}

Tensor first_image() {
  const Shape& shape = digits().tensor(digits().inputs[0]).shape;
  return Tensor::from<std::int8_t>(shape, images()[0].values<std::int8_t>().first(static_cast<std::size_t>(shape.element_count())));
}

std::size_t layer(const std::string& name) { return operation_called(digits(), name, "test"); }

Backend placed(Backend device, std::vector<Placement> placements) {
  device.elsewhere = Placements(std::move(placements));
  return device;
}

/// The device computes sums alone; whatever else a network has it lacks.
Backend sums_alone() {
  Backend device = no_rules;
  device.conv = tflite_double.conv;
  device.depthwise_conv = tflite_double.depthwise_conv;
  device.fully_connected = tflite_double.fully_connected;
  device.quantize = tflite_double.quantize;
  return device;
}

/// The operation's output, by itself, of the tensors that a run of the whole network gives it.
Tensor alone(std::size_t operation, const Backend& backend, const Trace& whole) {
  const Model only = extract_operation(digits(), operation);
  const auto inputs = inputs_of(digits(), operation, whole.tensors);
  return *run(only, backend, inputs).tensors[static_cast<std::size_t>(only.outputs[0])];
}

const Tensor& output_of(std::size_t operation, const Trace& trace) {
  return *trace.tensors[static_cast<std::size_t>(digits().operations[operation].outputs[0])];
}

/// What a board's CPU makes of an operation in float: codes in, codes out, the output's by the device's quantize.
Tensor in_float(std::size_t operation, const Trace& whole, const QuantizeArithmetic& rule) {
  Backend golden = float_golden;
  golden.golden_range = GoldenRange::unbounded;
  const Tensor real = alone(operation, golden, whole);
  const ModelTensor& output = digits().tensor(digits().operations[operation].outputs[0]);
  Tensor codes(output.type, real.shape());
  for (std::size_t i = 0; i < codes.values<std::int8_t>().size(); ++i)
    codes.values<std::int8_t>()[i] = static_cast<std::int8_t>(quantize(
        rule, real.values<float>()[i], static_cast<float>(output.quantization.scale()), output.quantization.zero_point(), {-128, 127}));
  return codes;
}

std::vector<std::string> refusals(const Model& model, const Backend& backend) {
  std::vector<std::string> messages;
  for (const Diagnostic& problem : check(model, backend)) messages.push_back(problem.message);
  return messages;
}

bool holds(const std::vector<std::string>& texts, const std::string& part) {
  return std::ranges::any_of(texts, [&](const std::string& text) { return text.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("what a device lacks its fallback computes, between codes without a change") {
  const SpecSheet cpu = find_backend("tflite_single");
  const Backend device = sums_alone(), mixed = placed(device, {{cpu}});
  REQUIRE_FALSE(check(digits(), device).empty());
  REQUIRE(check(digits(), mixed).empty());
  const Emulator emulator(digits(), mixed);
  const std::vector<Tensor> input{first_image()};
  const Trace trace = emulator.run(input, {.keep_all = true});
  std::size_t elsewhere = 0;
  for (std::size_t i = 0; i < digits().operations.size(); ++i) {
    const Operation& operation = digits().operations[i];
    const bool lacks = !check(extract_operation(digits(), i), device).empty();
    INFO(layer_place(digits(), i));
    CHECK((emulator.placement(i) != nullptr) == lacks);
    CHECK(output_of(i, trace) == alone(i, lacks ? cpu.backend : device, trace));
    elsewhere += lacks ? 1 : 0;
    if (operation.kind == OperationKind::conv2d) CHECK_FALSE(lacks);
    if (operation.kind == OperationKind::softmax) CHECK(lacks);
  }
  CHECK(elsewhere >= 3);
}

TEST_CASE("a fallback in float reads what codes stand for and delivers the device's codes") {
  const Backend mixed = placed(sums_alone(), {{find_backend("float")}});
  const std::vector<Tensor> input{first_image()};
  const Trace trace = run(digits(), mixed, input, {.keep_all = true});
  const Emulator emulator(digits(), mixed);
  std::size_t in_real = 0;
  for (std::size_t i = 0; i < digits().operations.size(); ++i) {
    if (emulator.placement(i) == nullptr) continue;
    INFO(layer_place(digits(), i));
    CHECK(output_of(i, trace) == in_float(i, trace, tflite_double.quantize));
    ++in_real;
  }
  CHECK(in_real >= 3);
}

TEST_CASE("layers that are named are computed elsewhere although the device has them; names come before fallbacks") {
  const SpecSheet single = find_backend("tflite_single"), real = find_backend("float");
  const std::string first = layer_name(digits(), 0), last = layer_name(digits(), digits().operations.size() - 1);
  const Backend mixed = placed(sums_alone(), {{real}, {single, {first, last}}});
  const Emulator emulator(digits(), mixed);
  CHECK(emulator.placement(0)->sheet == single);
  CHECK(emulator.placement(digits().operations.size() - 1)->sheet == single);
  CHECK(emulator.placement(layer("residual"))->sheet == real);
  const std::vector<Tensor> input{first_image()};
  const Trace trace = emulator.run(input, {.keep_all = true});
  CHECK(output_of(0, trace) == alone(0, tflite_single, trace));
  CHECK_FALSE(output_of(0, trace) == alone(0, tflite_double, trace));  // else the line above decides nothing
}

TEST_CASE("layers of the golden path are moved to a device: real values become its codes, and its codes real values") {
  const std::string name = layer_name(digits(), 0);
  const Backend mixed = placed(float_golden, {{find_backend("tflite_double"), {name}}});
  const std::vector<Tensor> input{first_image()};
  const Trace trace = run(digits(), mixed, input, {.keep_all = true});
  const Trace device = run(digits(), tflite_double, input, {.keep_all = true});
  const ModelTensor& output = digits().tensor(digits().operations[0].outputs[0]);
  CHECK(output_of(0, trace) == dequantized(output_of(0, device), output.quantization));
  CHECK(output_of(1, trace).type() == ElementType::float32);
}

TEST_CASE("a batch on several threads is computed as its samples are, and counts the same events") {
  const Backend mixed = placed(sums_alone(), {{find_backend("float"), {layer_name(digits(), 1)}}, {find_backend("tflite_double")}});
  const Trace one = run(digits(), mixed, images(), {.keep_all = true, .count_events = true});
  const Trace four = run(digits(), mixed, images(), {.threads = 4, .keep_all = true, .count_events = true});
  for (std::size_t i = 0; i < digits().operations.size(); ++i) CHECK(output_of(i, one) == output_of(i, four));
  const std::vector<Tensor> input{first_image()};
  const Trace single = run(digits(), mixed, input, {.keep_all = true});
  for (std::size_t i = 0; i < digits().operations.size(); ++i) {
    const auto first = output_of(i, single).bytes(), all = output_of(i, one).bytes();
    CHECK(std::ranges::equal(first, all.first(first.size())));
  }
  const Trace of_cpu = run(digits(), tflite_double, images(), {.count_events = true});
  CHECK(one.events.back().outputs == of_cpu.events.back().outputs);  // of an operation that is computed elsewhere
}

TEST_CASE("what neither the device nor a fallback has is refused with both reasons, and so is what cannot cross") {
  const std::vector<std::string> both = refusals(digits(), placed(sums_alone(), {{find_backend("max78000")}}));
  CHECK(holds(both, "nor does max78000: "));
  CHECK(refusals(digits(), placed(sums_alone(), {{find_backend("max78000")}, {find_backend("tflite_double")}})).empty());

  Backend without_quantize = sums_alone();
  without_quantize.quantize = {};
  CHECK(holds(refusals(digits(), placed(without_quantize, {{find_backend("float")}})), "the backend has no quantize"));

  ModelBuilder builder("sums");
  const auto x = builder.input({"x", ElementType::int8, Shape({1, 4}), {{0.5}, {0}}});
  const auto weights = builder.constant<std::int8_t>("w", Shape({2, 4}), std::vector<std::int8_t>(8, 3), {{0.25}, {0}});
  const auto sums = builder.operation(OperationKind::fully_connected, {x, weights}, {"sums", ElementType::int32, Shape({1, 2})});
  const Model model = builder.finished({sums});
  REQUIRE(check(model, tflite_double).empty());
  CHECK(holds(refusals(model, placed(tflite_double, {{find_backend("float"), {"sums"}}})), "integers without a scale"));
}

TEST_CASE("a fallback is asked for no memory that the machine lacks") {
  const test::Budget budget(100 * 1024);
  CHECK_THROWS_AS(check(digits(), placed(sums_alone(), {{find_backend("float")}})), MemoryRefused);
}

TEST_CASE("equal lists of placements are equal, and a rule that is set keeps them") {
  const SpecSheet cpu = find_backend("float");
  const Backend a = placed(tflite_double, {{cpu, {"x"}}}), b = placed(tflite_double, {{cpu, {"x"}}});
  CHECK(a == b);
  CHECK_FALSE(a == placed(tflite_double, {{cpu, {"y"}}}));
  CHECK_FALSE(a == tflite_double);
  Backend changed = a;
  set_rule(changed, "softmax.input.chain.size", "1");
  CHECK(changed.elsewhere == a.elsewhere);
  CHECK(Placements(std::vector<Placement>{}).empty());
}

TEST_CASE("reports name who computes what") {
  SpecSheet sheet{
      .name = "device", .title = {}, .backend = placed(sums_alone(), {{find_backend("float")}}), .evidence = {}, .settings = {}};
  const auto lines = computed_elsewhere(digits(), sheet);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].starts_with("beside device, float computes 3 of 9 operations: add 'residual' ("));
  CHECK(lines[0].ends_with("softmax 'probabilities' (8)"));
  sheet.backend.elsewhere = placements_for(digits(), sheet.backend);
  REQUIRE(sheet.backend.elsewhere.list().size() == 1);
  CHECK(sheet.backend.elsewhere.list()[0].layers == std::vector<std::string>{"residual", "pool", "probabilities"});
  CHECK(computed_elsewhere(digits(), sheet) == lines);
  CHECK(std::ranges::none_of(assumptions_of(digits(), sheet),
                             [](const Assumption& assumption) { return assumption.rule.starts_with("softmax"); }));
  sheet.backend.elsewhere = {};
  CHECK(computed_elsewhere(digits(), sheet).empty());
}
