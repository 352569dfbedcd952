// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// No arithmetic outside the sheet: a device that states nothing computes nothing, whatever the operation, the type of its data and its
// attributes; and what an attribute asks for is there only where a rule states it.
#include <algorithm>
#include <array>
#include <set>

#include "differential/layer_maker.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/error.hpp"
#include "lastbit/io/json_model.hpp"
#include "lastbit/model_builder.hpp"
#include "lastbit/op/quantize.hpp"
#include "lastbit/operation_rules.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "lastbit/shape.hpp"
#include "model/operation_signature.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace lastbit {
namespace {

using enum OperationKind;

const Quantization half{{0.5}, {0}, 0}, quarter{{0.25}, {0}, 0};

struct Case {
  OperationKind kind;
  std::vector<Shape> inputs;  ///< all but the first of them constant where `has_weights`
  std::vector<Attributes> attributes = {std::monostate{}};
  bool has_weights = false;
  std::optional<Shape> output{};  ///< where none follows from the inputs
};

/// Bounds that outputs have, and those of sums of products besides.
const std::vector<OutputBounds> of_outputs{{},
                                           {.clamp = IntegerRange{-5, 9}},
                                           {.activation = Activation::relu},
                                           {.activation = Activation::relu6},
                                           {.activation = Activation::relu_n1_to_1}};
const std::vector<OutputBounds> of_products{{.activation = Activation::absolute}, {.accumulator_clip = {100}}, {.registers = {{77, 9}}}};

template <class T>
std::vector<Attributes> bounded(const T& plain, std::initializer_list<T> others = {}, const std::vector<OutputBounds>& more = {}) {
  std::vector<Attributes> list(others.begin(), others.end());
  for (const std::vector<OutputBounds>& all : {of_outputs, more}) {
    for (const OutputBounds& bounds : all) {
      list.emplace_back(plain);
      std::get<T>(list.back()).bounds = bounds;
    }
  }
  std::rotate(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(others.size()), list.end());  // the plain one first
  return list;
}

constexpr Padding2d same{PaddingMode::same}, around{PaddingMode::explicit_sizes, 1, 0, 1, 1};
constexpr Extent2d two{2, 2};

std::vector<Attributes> convolutions() {
  return bounded<Conv2dAttributes>(
      {}, {{.stride = two, .padding = {}}, {.dilation = two, .padding = {}}, {.padding = same}, {.padding = around}}, of_products);
}

std::vector<Attributes> transposed_convolutions() {
  return bounded<Conv2dAttributes>({}, {{.stride = two, .padding = {}}, {.padding = same}, {.padding = around}}, of_products);
}

std::vector<Attributes> pools() {
  using enum PartialWindows;
  return bounded<Pool2dAttributes>({.filter = two, .padding = {}},
                                   {{.filter = two, .stride = two, .padding = {}},
                                    {.filter = two, .padding = same},
                                    {.filter = two, .padding = around},
                                    {.filter = two, .stride = two, .padding = {}, .partial_windows = last_truncated},
                                    {.filter = two, .padding = {}, .partial_windows = every_start},
                                    {.filter = two, .padding = {}, .planar = true}});
}

std::vector<Attributes> sums() { return bounded<ElementwiseAttributes>({}, {{.power_of_two_scales = true}}); }

std::vector<Attributes> bilinear() {
  using enum ResizeCoordinates;
  std::vector<Attributes> list;
  for (const ResizeCoordinates coordinates : {half_pixel, asymmetric, align_corners, half_pixel_or_zero})
    list.emplace_back(ResizeAttributes{.mode = ResizeMode::bilinear, .coordinates = coordinates, .scales = {}});
  list.emplace_back(ResizeAttributes{.mode = ResizeMode::bilinear, .scales = std::array{2.0, 2.0}});
  return list;
}

/// Kinds that neither move nor only convert values; svdf, lstm and what GNA has besides are below.
const std::vector<Case> cases{
    {conv2d, {{1, 6, 6, 2}, {3, 3, 3, 2}}, convolutions(), true},
    {depthwise_conv2d, {{1, 6, 6, 2}, {1, 3, 3, 2}}, convolutions(), true},
    {transposed_conv2d, {{1, 4, 4, 2}, {3, 2, 2, 2}}, transposed_convolutions(), true},
    {fully_connected, {{2, 4}, {3, 4}}, bounded<FullyConnectedAttributes>({}, {{.active_rows = {2, 0}}}, of_products), true},
    {matmul, {{4, 4}, {4, 4}}, bounded<MatmulAttributes>({}, {{.transpose_a = true}, {.transpose_b = true}})},
    {max_pool2d, {{1, 4, 4, 2}}, pools()},
    {average_pool2d, {{1, 4, 4, 2}}, pools()},
    {sum_pool2d, {{1, 4, 4, 2}}, pools()},
    {global_average_pool, {{1, 4, 4, 2}}, bounded<Pool2dAttributes>({})},
    {mean, {{1, 4, 4, 2}}, {MeanAttributes{{1, 2}, false}, MeanAttributes{{1, 2}, true}, MeanAttributes{{3}, false}}},
    {add, {{1, 8}, {1, 8}}, sums()},
    {sub, {{1, 8}, {1, 8}}, sums()},
    {mul, {{1, 8}, {1, 8}}, bounded<ElementwiseAttributes>({})},
    {add_n, {{1, 8}, {1, 8}, {1, 8}}, bounded<ElementwiseAttributes>({})},
    {concat, {{1, 8}, {1, 8}}, {ConcatAttributes{0}, ConcatAttributes{1}, ConcatAttributes{0, Activation::relu}}},
    {quantize, {{1, 8}}},
    {dequantize, {{1, 8}}},
    {requantize, {{1, 8}}, bounded<RequantizeAttributes>({})},
    {clip, {{1, 8}}, bounded<ClipAttributes>({})},
    {relu, {{1, 8}}},
    {relu6, {{1, 8}}},
    {relu_n1_to_1, {{1, 8}}},
    {leaky_relu, {{1, 8}}, {LeakyReluAttributes{0.1}, LeakyReluAttributes{-0.1}}},
    {prelu, {{1, 8}, {1, 8}}, {std::monostate{}}, true},
    {hard_swish, {{1, 8}}},
    {logistic, {{1, 8}}},
    {OperationKind::tanh, {{1, 8}}},
    {softmax, {{1, 8}}, {SoftmaxAttributes{1}, SoftmaxAttributes{0.5}}},
    {OperationKind::exp, {{1, 8}}},
    {resize, {{1, 4, 4, 2}}, bilinear(), false, Shape{1, 8, 8, 2}},
    {argmax, {{1, 8}}, {ArgmaxAttributes{1}}, false, Shape{1}},
    {argmin, {{1, 8}}, {ArgmaxAttributes{1}}, false, Shape{1}},
    {maximum, {{1, 8}, {1, 8}}},
    {minimum, {{1, 8}, {1, 8}}},
    {OperationKind::div, {{1, 8}, {1, 8}}},
    {reduce_sum, {{1, 4, 4, 2}}, {MeanAttributes{{1, 2}, false}, MeanAttributes{{1, 2}, true}, MeanAttributes{{3}, false}}},
    {reduce_max, {{1, 4, 4, 2}}, {MeanAttributes{{1, 2}, false}, MeanAttributes{{3}, true}}},
    {reduce_min, {{1, 4, 4, 2}}, {MeanAttributes{{1, 2}, false}, MeanAttributes{{3}, true}}},
    {OperationKind::abs, {{1, 8}}},
    {neg, {{1, 8}}},
    {OperationKind::log, {{1, 8}}},
    {OperationKind::sqrt, {{1, 8}}},
    {rsqrt, {{1, 8}}},
    {bitwise_or, {{1, 8}, {1, 8}}},
    {bitwise_xor, {{1, 8}, {1, 8}}},
    {OperationKind::div, {{1, 8}, {1, 8}}},
    {OperationKind::pow, {{1, 8}, {1, 8}}},
    {maximum, {{1, 8}, {1, 8}}},
    {minimum, {{1, 8}, {1, 8}}},
    {OperationKind::sqrt, {{1, 8}}},
    {OperationKind::log, {{1, 8}}},
    {OperationKind::erf, {{1, 8}}},
    {elu, {{1, 8}}},
    {OperationKind::floor, {{1, 8}}},
    {round_half_even, {{1, 8}}},
    {OperationKind::truncate, {{1, 8}}},
    {floor_div, {{1, 8}, {1, 8}}},
    {log_softmax, {{1, 8}}},
    {l2_normalization, {{1, 8}}},
    {cumsum, {{1, 8}}},
};

/// A tensor of a case's type, with a scale if it holds codes.
TensorDescription described(const std::string& name, ElementType type, const Shape& shape, const Quantization& codes) {
  return {name, type, shape, is_integer(type) ? codes : Quantization{}};
}

/// What is varied of a layer besides its attributes: the data, and of layers with weights these, their bias and how many scales they have.
struct Variant {
  ElementType type;
  ElementType weights = ElementType::int8;
  std::optional<ElementType> bias{};
  bool per_channel = false;
};

Quantization scales_of(const Variant& variant, const Case& tested) {
  if (!variant.per_channel) return half;
  const std::int64_t axis = tested.kind == depthwise_conv2d ? 3 : 0, channels = tested.inputs[1][static_cast<std::size_t>(axis)];
  const auto count = static_cast<std::size_t>(channels);
  return {std::vector<double>(count, 0.5), std::vector<std::int64_t>(count, 0), axis};
}

/// Nothing where the kind does not take the types.
std::optional<Model> model_of(const Case& tested, const Attributes& attributes, const Variant& variant) try {
  ModelBuilder builder;
  std::vector<std::int32_t> inputs;
  const ElementType type = tested.kind == quantize ? ElementType::float32 : variant.type;
  for (const Shape& shape : tested.inputs) {
    const std::string name = "x" + std::to_string(inputs.size());
    const bool is_weight = tested.has_weights && !inputs.empty();
    inputs.push_back(is_weight ? builder.constant(name, Tensor(variant.weights, shape), scales_of(variant, tested))
                               : builder.input(described(name, type, shape, half)));
  }
  const bool has_defaults = std::holds_alternative<std::monostate>(attributes);
  Operation operation{tested.kind, "y", inputs, {}, has_defaults ? default_attributes(tested.kind) : attributes};
  const Shape output = tested.output ? *tested.output : output_shapes(builder.model, operation)[0];
  if (variant.bias) inputs.push_back(builder.constant("b", Tensor(*variant.bias, {output.sizes().back()})));
  const bool is_index = tested.kind == argmax || tested.kind == argmin;
  const ElementType to = tested.kind == dequantize ? ElementType::float32 : is_index ? ElementType::int32 : variant.type;
  const OperationKind kind = tested.kind;
  const bool picks = kind == max_pool2d || kind == maximum || kind == minimum || kind == reduce_max || kind == reduce_min;
  const Quantization& codes = picks ? half : quarter;  // of the input's own codes
  return builder.finished(
      {builder.operation(tested.kind, inputs, described("y", to, output, is_index ? Quantization{} : codes), operation.attributes)});
} catch (const Error&) {
  return std::nullopt;
}

std::optional<Model> model_of(const Case& tested, ElementType type) { return model_of(tested, tested.attributes[0], {type}); }

constexpr ElementType types[] = {ElementType::int8,  ElementType::uint8,   ElementType::int16,  ElementType::uint16,
                                 ElementType::int32, ElementType::float16, ElementType::float32};

std::vector<Variant> variants_of(const Case& tested) {
  std::vector<Variant> variants;
  for (const ElementType type : types) {
    if (!tested.has_weights || tested.kind == prelu) {
      variants.push_back({type, type});
      continue;
    }
    for (const ElementType weights : {ElementType::int8, ElementType::uint8, ElementType::int16, ElementType::float16}) {
      for (const std::optional<ElementType> bias :
           {std::optional<ElementType>{}, std::optional(ElementType::int32), std::optional(ElementType::int64)}) {
        for (const bool per_channel : {false, true}) variants.push_back({type, weights, bias, per_channel});
      }
    }
  }
  return variants;
}

std::optional<Model> random_model(OperationKind kind, const Backend& backend, test::Choices& choose) try {
  return test::make_layer(kind, backend, choose);
} catch (const Error&) {
  return std::nullopt;
}

/// The sheet without the operations whose rules the model's operation reads, for every type of data, nor those it then falls back to.
Backend without_operation(Backend backend, const Model& model) {
  for (int turn = 0; turn < 4; ++turn) {  // relu, requantize_to_32bit, requantize_16bit, requantize
    for (const std::string& prefix : rule_prefixes(model, model.operations[0], backend))
      set_rule(backend, prefix.substr(0, prefix.find('.')), "absent");
  }
  return backend;
}

/// Every sheet that computes the model refuses it once it no longer has the operation. How many did.
int refused_without(const Model& model) {
  int refused = 0;
  for (const SpecSheet& sheet : builtin_backends()) {
    if (sheet.backend.domain == Domain::real || !check(model, sheet.backend).empty()) continue;
    if (rule_prefixes(model, model.operations[0], sheet.backend).empty()) continue;  // codes that are copied
    INFO("on " << sheet.name);
    CHECK_FALSE(check(model, without_operation(sheet.backend, model)).empty());
    ++refused;
  }
  return refused;
}

TEST_CASE("a sheet that states nothing refuses every operation, whatever its data and attributes, and so does one that lacks it") {
  for (const Case& tested : cases) {
    for (std::size_t i = 0; i < tested.attributes.size(); ++i) {
      INFO(name_of(tested.kind) << ", attributes " << i);
      int met = 0, computed = 0;
      for (const Variant& variant : variants_of(tested)) {
        const auto model = model_of(tested, tested.attributes[i], variant);
        if (!model) continue;
        INFO(name_of(variant.type) << ", weights " << name_of(variant.weights));
        ++met;
        CHECK_FALSE(check(*model, no_rules).empty());
        computed += refused_without(*model);
      }
      CHECK(met > 0);
      CHECK(computed > 0);  // a model that is refused for nothing else
    }
  }
}

TEST_CASE("so are the layers that remember, and those of Intel's GNA") {
  for (const char* const name : {"svdf", "lstm"}) {
    INFO(name);
    const Model model =
        parse_json_model(test::file_text(test::seed_directory("json_model_fuzz") / (std::string(name) + ".json")), "/", name);
    CHECK_FALSE(check(model, no_rules).empty());
    Backend tflite = find_backend("tflite_double").backend;
    REQUIRE(check(model, tflite).empty());
    set_rule(tflite, name, "absent");
    CHECK_FALSE(check(model, tflite).empty());
  }
  const Backend gna = find_backend("gna3_0").backend;
  for (const OperationKind kind : {pwl, sum_pool2d, fused_conv2d, recurrent, dynamic_quantize}) {
    INFO(name_of(kind));
    int computed = 0;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
      test::Choices choose(seed);
      const auto model = random_model(kind, gna, choose);
      if (!model) continue;
      CHECK_FALSE(check(*model, no_rules).empty());
      computed += refused_without(*model);
    }
    CHECK(computed > 0);
  }
}

TEST_CASE("every kind of operation is among those layers, or moves and converts values as they are") {
  std::set<OperationKind> met{svdf, lstm, pwl, sum_pool2d, fused_conv2d, recurrent, dynamic_quantize, cast};
  met.insert({less, less_or_equal, equal, OperationKind::select});  // of truths, which no device computes
  met.insert({detection_postprocess, top_k});                       // of several outputs: op_detection_test.cpp, op_axis_test.cpp
  met.insert({block_quantize, block_matmul});                       // of codes and their scales: op_block_test.cpp
  for (const Case& tested : cases) met.insert(tested.kind);
  for (const OperationSignature& signature : operation_signatures()) {
    INFO(signature.name);
    CHECK(met.contains(signature.kind) != is_movement(signature.kind));
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
  CHECK(with == std::vector<std::string>{"tflite_double", "tflite_single", "tflite_builtin_double", "tflite_builtin_single", "xnnpack",
                                         "esp_nn", "esp_nn_fast"});
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
  const Case pooling{max_pool2d, {{1, 4, 4, 2}}, pools()};
  const auto has_no_pool = [](const std::string& name) {
    return name.starts_with("gna1") || name.starts_with("gna2") || name.starts_with("fbgemm") || name.starts_with("ggml");
  };
  std::vector<std::string> without;
  std::ranges::copy_if(all_but({}), std::back_inserter(without), has_no_pool);
  CHECK(without.size() == 10);
  CHECK(who_computes(model_of(pooling, ElementType::int8).value()) == all_but(without));
  for (const auto& [kind, rule] : {std::pair{quantize, "quantize"}, std::pair{dequantize, "dequantize"}}) {
    INFO(rule);
    const Model model = model_of({kind, {{1, 8}}}, ElementType::int8).value();
    std::vector<std::string> lacking{"gemmini",   "gemmini_shift", "max78000",    "fbgemm",  "fbgemm_integer", "espdl_s3",
                                     "espdl_p4",  "tosa_single",   "tosa_double", "ethos_u", "ethos_u85",      "gap8",
                                     "rk3588",    "rk3576",        "rk3588_mesa", "sophgo",  "sophgo_qdm",     "ggml",
                                     "ggml_avx2", "ggml_neon",     "nvdla",       "k210"};
    if (kind == dequantize) lacking.emplace_back("tflite_ruy_neon");  // a fused multiply-add, which no rule states
    CHECK(who_computes(model) == all_but(lacking));
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
  Backend backend = no_rules;
  CHECK(run(model, backend, codes).tensors.back()->values<std::int8_t>()[1] == -3);
  CHECK_THROWS_WITH(run(model, backend, real), "input 'x': real values; the backend has no quantize, so integers must be given");
  backend.quantize = by_division(Rounding::half_away);
  CHECK(run(model, backend, real).tensors.back()->values<std::int8_t>()[1] == -3);
}

}  // namespace
}  // namespace lastbit
