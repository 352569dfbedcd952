// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Ties counted by brute force, and output scales.
#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "analysis/last_chain.hpp"
#include "lastbit/advise.hpp"
#include "lastbit/backends/golden.hpp"
#include "lastbit/explain.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "support/catch.hpp"

using namespace lastbit;

namespace {

Tensor random_int8(const Shape& shape, std::mt19937& random) {
  Tensor tensor(ElementType::int8, shape);
  for (std::int8_t& value : tensor.values<std::int8_t>()) value = static_cast<std::int8_t>(random() % 255 - 127);
  return tensor;
}

ModelTensor int8_tensor(const std::string& name, const Shape& shape, double scale, std::int64_t zero_point) {
  return {name, ElementType::int8, shape, {{scale}, {zero_point}, 0}, {}};
}

std::int32_t add_constant(Model& model, const std::string& name, const Tensor& values, double scale) {
  model.tensors.push_back({name, values.type(), values.shape(), {{scale}, {0}, 0}, values});
  return static_cast<std::int32_t>(model.tensors.size()) - 1;
}

/// A 1x1 convolution, relu as an operation of its own, a max pool, and a convolution with a bias.
Model network(double middle_scale) {
  std::mt19937 random(5);
  Model model;
  model.name = "two convolutions";
  const Shape image{1, 8, 8, 6}, pooled{1, 4, 4, 6};
  model.tensors = {int8_tensor("x", image, 0.0625, -1), int8_tensor("y", image, middle_scale, 2), int8_tensor("p", pooled, middle_scale, 2),
                   int8_tensor("z", pooled, 0.25, 0)};
  const auto w = add_constant(model, "w", random_int8({6, 1, 1, 6}, random), 1.0 / 64);
  const auto v = add_constant(model, "v", random_int8({6, 1, 1, 6}, random), 1.0 / 64);
  const std::vector<std::int32_t> bias{1000, -2000, 300, 0, 77, -5};
  const auto b = add_constant(model, "b", Tensor::from<std::int32_t>({6}, bias), middle_scale / 64);
  Pool2dAttributes pool;
  pool.filter = pool.stride = {2, 2};
  model.operations = {{OperationKind::conv2d, "first", {0, w}, {1}, Conv2dAttributes{}},
                      {OperationKind::max_pool2d, "pool", {1}, {2}, pool},
                      {OperationKind::conv2d, "second", {2, v, b}, {3}, Conv2dAttributes{}}};
  model.inputs = {0};
  model.outputs = {3};
  validate(model, "test");
  return model;
}

std::vector<Tensor> inputs(int count) {
  std::mt19937 random(6);
  std::vector<Tensor> all;
  for (int i = 0; i < count; ++i) all.push_back(random_int8({1, 8, 8, 6}, random));
  return all;
}

std::vector<std::vector<Tensor>> samples(int count) {
  std::vector<std::vector<Tensor>> all;
  for (const Tensor& input : inputs(count)) all.push_back({input});
  return all;
}

const Backend& backend(const char* name) {
  for (const SpecSheet& sheet : builtin_backends()) {
    if (sheet.name == name) return sheet.backend;
  }
  throw std::runtime_error(name);
}

/// The sums of the first convolution, from its definition.
std::vector<std::int64_t> sums_of(const Model& model, const Tensor& input) {
  const Tensor& weights = *model.tensors[4].constant;
  std::vector<std::int64_t> sums;
  for (std::int64_t pixel = 0; pixel < 64; ++pixel) {
    for (std::int64_t o = 0; o < 6; ++o) {
      std::int64_t sum = 0;
      for (std::int64_t i = 0; i < 6; ++i) sum += (input.integer_at(pixel * 6 + i) + 1) * weights.integer_at(o * 6 + i);
      sums.push_back(sum);
    }
  }
  return sums;
}

std::int64_t floor_div(std::int64_t x, std::int64_t y) { return x / y - (x % y != 0 && (x < 0) != (y < 0) ? 1 : 0); }

}  // namespace

TEST_CASE("the sums before the last rounding of a product are products of codes, each without its own zero point") {
  Model model;
  model.name = "product";
  const Shape shape{1, 2, 2, 3};
  model.tensors = {int8_tensor("a", shape, 0.5, 3), int8_tensor("b", shape, 0.25, -7), int8_tensor("y", shape, 1.5, 1)};
  model.operations = {{OperationKind::mul, "product", {0, 1}, {2}, ElementwiseAttributes{}}};
  model.inputs = {0, 1};
  model.outputs = {2};
  validate(model, "test");
  std::mt19937 random(9);
  const Tensor a = random_int8(shape, random), b = random_int8(shape, random);
  const auto last = last_chain(model, 0, backend("tflite_double"), std::array{&a, &b});
  REQUIRE(last);
  for (std::int64_t i = 0; i < 12; ++i) CHECK(last->sums[static_cast<std::size_t>(i)] == (a.integer_at(i) - 3) * (b.integer_at(i) + 7));
}

TEST_CASE("ties: by arithmetic on one multiplier and one shift") {
  // v * m / 2^n, half to even: on a tie where v * m = 2^(n-1) modulo 2^n.
  const Chain chain{multiply(), shift_right(Rounding::half_even), clamp()};
  const Chain down{multiply(), shift_right(Rounding::floor), clamp()};
  for (const std::int64_t multiplier : {96, 97, 101, 127}) {
    const RescaleOperands operands{
        .scale = {.multiplier = multiplier, .significant_bits = 7, .fraction_bits = 7, .exponent = -2}, .min = -128, .max = 127};
    for (std::int64_t v = -3000; v <= 3000; ++v) {
      const auto cell = [&](std::int64_t m, std::int64_t offset) { return floor_div(v * m - offset, 512); };
      const auto on = [&](std::int64_t m, std::int64_t offset) { return (v * m - offset) % 512 == 0; };
      for (const auto& [tried, offset] : {std::pair{chain, 256}, {down, 0}}) {
        const bool near = on(multiplier - 1, offset) || on(multiplier + 1, offset) ||
                          cell(multiplier - 1, offset) != cell(multiplier, offset) ||
                          cell(multiplier + 1, offset) != cell(multiplier, offset);
        const TiePlace expected = on(multiplier, offset) ? TiePlace::on : near ? TiePlace::near : TiePlace::clear;
        INFO(v << " * " << multiplier);
        REQUIRE(tie_place(tried, v, operands) == expected);
      }
    }
  }
}

TEST_CASE("ties: the last stage that rounds decides; without one there is none") {
  const RescaleOperands operands{
      .scale = {.multiplier = std::int64_t{1} << 30, .significant_bits = 31, .fraction_bits = 31, .exponent = -3}, .min = -128, .max = 127};
  const Chain twice{doubling_high_multiply(32, Rounding::half_up), shift_right_by_exponent(Rounding::half_away), clamp()};
  REQUIRE(tie_place(twice, 8, operands) == TiePlace::on);  // 4 of 8
  REQUIRE(tie_place(twice, 7, operands) == TiePlace::on);  // 3.5, which becomes 4 of 8
  REQUIRE(tie_place(twice, 16, operands) == TiePlace::clear);
  REQUIRE_FALSE(tie_place(Chain{clamp()}, 8, operands).has_value());
  const Chain in_float{float_scale(Rounding::half_even), clamp()};
  const RescaleOperands third{.scale = {.real_f32 = 0.25F, .real_f64 = 0.25}, .min = -128, .max = 127};
  REQUIRE(tie_place(in_float, 6, third) == TiePlace::on);
  REQUIRE(tie_place(in_float, 7, third) == TiePlace::clear);
}

/// Of an operation with one input that is no constant.
std::vector<std::vector<Tensor>> samples_of(const std::vector<Tensor>& inputs) {
  std::vector<std::vector<Tensor>> samples;
  for (const Tensor& input : inputs) samples.push_back({input});
  return samples;
}

TEST_CASE("census: of a convolution, by brute force") {
  const Model model = network(0.5);  // the effective scale is 2^-9: one sum in 512 lies on a tie
  const std::vector<Tensor> data = inputs(4);
  const auto census = tie_census(model, 0, backend("tflite_double"), backend("vipnano_v8"), samples_of(data));
  REQUIRE(census.has_value());
  TieCensus expected;
  for (const Tensor& input : data) {
    const std::vector<Tensor> one{input};
    const Model layer = extract_operation(model, 0);
    const Tensor a = *run(layer, backend("tflite_double"), one).tensors[static_cast<std::size_t>(layer.outputs[0])];
    const Tensor b = *run(layer, backend("vipnano_v8"), one).tensors[static_cast<std::size_t>(layer.outputs[0])];
    const std::vector<std::int64_t> sums = sums_of(model, input);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      ++expected.accumulators;
      const bool tie = (sums[i] & 511) == 256;
      const bool made = (sums[i] & 511) == 255;  // half of it is 127.5, which the CPU's first rounding makes 128 of 256: a tie
      expected.b.on += tie ? 1 : 0;
      expected.a.on += tie || made ? 1 : 0;
      const bool differs = a.integer_at(static_cast<std::int64_t>(i)) != b.integer_at(static_cast<std::int64_t>(i));
      expected.differing += differs ? 1 : 0;
      if (differs) REQUIRE((tie || made));
    }
  }
  REQUIRE(census->accumulators == expected.accumulators);
  REQUIRE(expected.b.on > 0);
  REQUIRE(census->b.on == expected.b.on);
  REQUIRE(census->differing == expected.differing);
  REQUIRE(census->differing > 0);
  REQUIRE(census->differing_at.on == census->differing);
  REQUIRE(census->a.on == expected.a.on);
  REQUIRE(census->either.on == expected.a.on);
  REQUIRE(census->either.near >= census->either.on);
}

TEST_CASE("census: against float only the device has ties; other operations have none") {
  const Model model = network(0.5);
  const std::vector<Tensor> data = inputs(6);
  const auto census = tie_census(model, 0, float_golden, backend("vipnano_v8"), samples_of(data));
  REQUIRE(census.has_value());
  REQUIRE(census->a == TieCount{});
  REQUIRE(census->b.on > 0);
  REQUIRE_FALSE(tie_census(model, 1, backend("tflite_double"), backend("vipnano_v8"), samples_of(data)).has_value());
}

TEST_CASE("output scale: copies follow, the bias behind is counted anew, real values stay") {
  const Model model = network(0.5), changed = with_output_scale(model, 0, 1.25);
  REQUIRE(changed.tensor(1).quantization.scale() == 0.625);
  REQUIRE(changed.tensor(2).quantization.scale() == 0.625);
  REQUIRE(changed.tensor(0).quantization == model.tensor(0).quantization);
  REQUIRE(changed.tensor(3).quantization == model.tensor(3).quantization);
  const ModelTensor& bias = changed.tensor(changed.operations[2].inputs[2]);
  REQUIRE(bias.quantization.scale() == 0.5 / 64 * 1.25);
  const std::vector<std::int32_t> expected{800, -1600, 240, 0, 62, -4};
  REQUIRE(std::ranges::equal(bias.constant->values<std::int32_t>(), expected));
  // The float meaning of the network is the same but for the bias's own rounding.
  const std::vector<Tensor> input{inputs(1)[0]};
  const Backend golden = float_golden;
  const Tensor before = *run(model, golden, input).tensors[3], after = *run(changed, golden, input).tensors[3];
  for (std::size_t i = 0; i < before.values<float>().size(); ++i)
    REQUIRE(std::abs(before.values<float>()[i] - after.values<float>()[i]) <= 0.5 / 64 * 1.25);
}

TEST_CASE("output scale: a sweep is what running the layer with each scale gives") {
  const Model model = network(0.5);
  const std::vector<Tensor> data = inputs(3);
  const std::vector<double> factors{0.9, 0.97, 1.0, 1.03, 1.1};
  const Backend golden = float_golden;
  for (const Backend* a : {&backend("tflite_double"), &golden}) {
    const auto tried = scale_sweep(model, 0, *a, backend("vipnano_v8"), data, factors);
    REQUIRE(tried.size() == factors.size());
    for (std::size_t f = 0; f < factors.size(); ++f) {
      const Model layer = extract_operation(with_output_scale(model, 0, factors[f]), 0);
      std::int64_t differing = 0;
      std::vector<float> mine, truth;
      for (const Tensor& input : data) {
        const std::vector<Tensor> one{input};
        const auto output = static_cast<std::size_t>(layer.outputs[0]);
        const Tensor b = *run(layer, backend("vipnano_v8"), one).tensors[output], real = *run(layer, golden, one).tensors[output];
        MixedRun mixed(layer, *a, backend("vipnano_v8"));
        const Tensor wanted = mixed.as_on_b(layer.outputs[0], *run(layer, *a, one).tensors[output]);
        for (std::int64_t i = 0; i < b.element_count(); ++i) differing += b.integer_at(i) != wanted.integer_at(i) ? 1 : 0;
        const Tensor reals = dequantized(b, layer.tensor(layer.outputs[0]).quantization);
        mine.insert(mine.end(), reals.values<float>().begin(), reals.values<float>().end());
        truth.insert(truth.end(), real.values<float>().begin(), real.values<float>().end());
      }
      REQUIRE(tried[f].differing == differing);
      REQUIRE(tried[f].sqnr_db == Approx(element_metrics(mine, truth).sqnr_db));
    }
  }
  REQUIRE(scale_sweep(model, 1, golden, backend("vipnano_v8"), data, factors).empty());
}

TEST_CASE("advice: a layer made to round on ties is told a scale that avoids them") {
  const Model model = network(0.5);
  AdviseOptions options;
  SpecSheet up = find_backend("vipnano_v8");  // the same but on ties
  set_rule(up.backend, "conv.i8.output.chain.2.rounding", "half_up");
  const AdviseReport report = advise(model, up, find_backend("vipnano_v8"), samples(60), options);
  REQUIRE_FALSE(report.equal());
  const auto first = std::ranges::find_if(report.scales, [](const ScaleAdvice& at) { return at.operation == 0; });
  REQUIRE(first != report.scales.end());
  REQUIRE(first->now.factor == 1);
  REQUIRE(first->now.differing >= 10);
  REQUIRE(first->best.differing == 0);
  REQUIRE(first->ties->either.on == 0);
  REQUIRE(std::abs(first->best.factor - 1) <= options.scale_reach + 1e-12);
  REQUIRE(first->best.sqnr_db == Approx(first->now.sqnr_db).margin(2));
  REQUIRE(first->tried.size() == 41);
  REQUIRE(report.layers.size() == 3);
  REQUIRE(report.layers[0].differing == report.layers[0].ties->differing);
}

TEST_CASE("advice: no scale lowers the SQNR of its layer or of the final values") {
  SpecSheet up = find_backend("vipnano_v8");
  set_rule(up.backend, "conv.i8.output.chain.2.rounding", "half_up");
  int advised = 0, left_out = 0;
  for (const double scale : {0.5, 0.25, 1.0, 0.125, 2.0}) {
    INFO(scale);
    const AdviseReport report = advise(network(scale), up, find_backend("vipnano_v8"), samples(60));
    for (const ScaleAdvice& at : report.scales) {
      CHECK(at.best.factor != 1);
      CHECK(2 * at.best.differing <= at.now.differing);
      CHECK(at.best.sqnr_db >= at.now.sqnr_db);
      CHECK(at.sqnr_db >= *report.sqnr_db_before);
      ++advised;
    }
    if (report.sqnr_db_after) CHECK(*report.sqnr_db_after >= *report.sqnr_db_before);
    left_out += static_cast<int>(report.scales_left_out);
    if (report.scales_left_out > 0) CHECK(to_text(report).find("at a lower SQNR") != std::string::npos);
  }
  CHECK(advised > 0);
  CHECK(left_out > 0);
}

TEST_CASE("census: of sums, products, pools, requantisation and concatenation, by what the devices deliver") {
  std::mt19937 random(9);
  const Shape image{1, 6, 6, 4}, pooled{1, 3, 3, 4}, joined{1, 6, 6, 8};
  Pool2dAttributes pool;
  pool.filter = pool.stride = {2, 2};
  struct TiedLayer {
    OperationKind kind;
    std::size_t inputs;
    Shape output;
    Attributes attributes;
    const char *a, *b;
    bool rounds_twice = false;  ///< a: that is all in which they differ
  };
  const std::vector<TiedLayer> layers{{OperationKind::add, 2, image, ElementwiseAttributes{}, "tflite_double", "xnnpack"},
                                      {OperationKind::sub, 2, image, ElementwiseAttributes{}, "tflite_double", "xnnpack"},
                                      {OperationKind::mul, 2, image, ElementwiseAttributes{}, "tflite_double", "xnnpack"},
                                      {OperationKind::average_pool2d, 1, pooled, pool, "tflite_double", "max78000"},
                                      {OperationKind::requantize, 1, image, RequantizeAttributes{}, "tflite_double", "tflite_single", true},
                                      {OperationKind::concat, 2, joined, ConcatAttributes{.axis = 3}, "bernoulli2", "bernoulli2"}};
  for (const TiedLayer& tested : layers) {
    INFO(name_of(tested.kind));
    const bool keeps = tested.kind == OperationKind::average_pool2d;
    Model model;
    for (std::size_t i = 0; i < tested.inputs; ++i)
      model.tensors.push_back(int8_tensor("x" + std::to_string(i), image, keeps ? 0.5 : i == 0 ? 0.25 : 0.5, 0));
    const auto y = static_cast<std::int32_t>(tested.inputs);
    model.tensors.push_back(int8_tensor("y", tested.output, 0.5, 0));
    Operation operation{tested.kind, "layer", {}, {y}, tested.attributes};
    for (std::int32_t i = 0; i < y; ++i) operation.inputs.push_back(i);
    model.inputs = operation.inputs;
    model.outputs = operation.outputs;
    model.operations = {operation};
    validate(model, "test");
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < tested.inputs; ++i) inputs.push_back(random_int8(image, random));
    const Backend a = backend(tested.a), b = backend(tested.b);
    const std::vector<std::vector<Tensor>> samples{inputs};
    const auto census = tie_census(model, 0, a, b, samples);
    REQUIRE(census.has_value());
    const auto delivered = [&](const Backend& device) { return *run(model, device, inputs).tensors[static_cast<std::size_t>(y)]; };
    const Tensor on_a = delivered(a), on_b = delivered(b);
    std::int64_t differing = 0;
    for (std::int64_t i = 0; i < on_b.element_count(); ++i) differing += on_a.integer_at(i) != on_b.integer_at(i) ? 1 : 0;
    CHECK(census->accumulators == on_b.element_count());
    CHECK(census->differing == differing);
    if (tested.rounds_twice) CHECK(census->differing_at.near == differing);
    CHECK(census->either.on > 0);
  }
}
