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
#include "lastbit/certify.hpp"
#include "lastbit/io/output.hpp"
#include "lastbit/one_operation.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "support/catch.hpp"
#include "support/scratch.hpp"

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

/// What the sums of a channel of the first convolution can be, from its definition: codes are -128 to 127, the zero point -1.
IntegerRange sums_of(const Model& model, std::int64_t channel) {
  IntegerRange sums{0, 0};
  for (std::int64_t i = 0; i < 6; ++i) {
    const std::int64_t weight = model.tensors[4].constant->integer_at(channel * 6 + i);
    sums.min += std::min(-127 * weight, 128 * weight);
    sums.max += std::max(-127 * weight, 128 * weight);
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
  const Chain chain{stage::multiply(), stage::shift_right(Rounding::half_even), stage::clamp()};
  const Chain down{stage::multiply(), stage::shift_right(Rounding::floor), stage::clamp()};
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
  const Chain twice{stage::doubling_high_multiply(32, Rounding::half_up), stage::shift_right_by_exponent(Rounding::half_away),
                    stage::clamp()};
  REQUIRE(tie_place(twice, 8, operands) == TiePlace::on);  // 4 of 8
  REQUIRE(tie_place(twice, 7, operands) == TiePlace::on);  // 3.5, which becomes 4 of 8
  REQUIRE(tie_place(twice, 16, operands) == TiePlace::clear);
  REQUIRE_FALSE(tie_place(Chain{stage::clamp()}, 8, operands).has_value());
  const Chain in_float{stage::float_scale(Rounding::half_even), stage::clamp()};
  const RescaleOperands third{.scale = {.real_f32 = 0.25F, .real_f64 = 0.25}, .min = -128, .max = 127};
  REQUIRE(tie_place(in_float, 6, third) == TiePlace::on);
  REQUIRE(tie_place(in_float, 7, third) == TiePlace::clear);
}

/// The first convolution's output, whose effective scale is 2^-9 and zero point 2, where `rounded` is its value in output steps.
std::int64_t code(std::int64_t rounded) { return std::clamp<std::int64_t>(rounded + 2, -128, 127); }

TEST_CASE("census: of a convolution, by brute force over every accumulator") {
  const Model model = network(0.5);
  const auto census = tie_census(model, find_backend("tflite_double"), find_backend("vipnano_v8"));
  REQUIRE(census.size() == 3);
  TieCensus expected;
  for (std::int64_t channel = 0; channel < 6; ++channel) {
    const IntegerRange sums = sums_of(model, channel);
    for (std::int64_t sum = sums.min; sum <= sums.max; ++sum) {
      ++expected.cases;
      const std::int64_t below = floor_div(sum, 512), rest = sum - 512 * below;
      const bool is_seen = code(below) != code(below + 1);
      const bool tie = is_seen && rest == 256;
      const bool made = is_seen && rest == 255;  // half of it is 127.5, which the CPU's first rounding makes 128 of 256: a tie
      // The device goes to the even neighbour; the CPU away from zero, from a tie that it made as well.
      const std::int64_t even = below + (below % 2 != 0 ? 1 : 0), away = below + (below >= 0 ? 1 : 0);
      const std::int64_t on_b = code(rest < 256 ? below : rest > 256 ? below + 1 : even);
      const std::int64_t on_a = code(rest < 255 ? below : rest > 256 ? below + 1 : away);
      expected.b.on += tie ? 1 : 0;
      expected.a.on += tie || made ? 1 : 0;
      expected.differing += on_a != on_b ? 1 : 0;
      if (on_a != on_b) REQUIRE((tie || made));
    }
  }
  REQUIRE(census[0].has_value());
  CHECK(census[0]->cases == expected.cases);
  CHECK(expected.b.on > 0);
  CHECK(census[0]->b.on == expected.b.on);
  CHECK(census[0]->a.on == expected.a.on);
  CHECK(expected.differing > 0);
  CHECK(census[0]->differing == expected.differing);
  CHECK(census[0]->differing_at.on == expected.differing);
  CHECK(census[0]->either.on == expected.a.on);
  CHECK(census[0]->either.near >= census[0]->either.on);
  CHECK_FALSE(census[1].has_value());  // a max pool rounds nothing
}

TEST_CASE("census: in real numbers nothing is counted") {
  for (const auto& layer : tie_census(network(0.5), find_backend("float"), find_backend("vipnano_v8"))) CHECK_FALSE(layer.has_value());
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

/// The backend but for how convolutions of 8 bits round in the end.
SpecSheet half_up() {
  SpecSheet up = find_backend("vipnano_v8");
  set_rule(up.backend, "conv.i8.output.chain.2.rounding", "half_up");
  return up;
}

/// What is said of the network with the chosen scales is what certify says of it, which knows nothing of the search.
void require_certified(const EqualScales& found, const SpecSheet& a, const SpecSheet& b) {
  const Certificate proof = certify(found.model, a, b, {});
  std::size_t next = 0;
  std::int64_t equal = 0;
  for (const LayerCertificate& layer : proof.layers) {
    INFO(layer.operation);
    if (layer.is_open()) continue;
    const bool is_listed = next < found.layers.size() && found.layers[next].operation == layer.operation;
    if (!is_listed) {
      CHECK(layer.equal());
      ++equal;
      continue;
    }
    const ScaleAdvice& advice = found.layers[next++];
    CHECK(advice.left == layer.differing);
    if (layer.differing > 0) CHECK(advice.cases == layer.cases);
    CHECK(advice.equal() == layer.equal());
  }
  CHECK(next == found.layers.size());
  CHECK(equal == found.equal);
  CHECK(static_cast<std::int64_t>(found.open.size()) == proof.open());
  CHECK(found.all_equal() == proof.equal());
  const test::Scratch scratch;
  write_text_file(scratch.path() / "proof.json", to_json(proof));
  CHECK(check_certificate(scratch.path() / "proof.json", found.model, a, b, {}).holds());  // every accumulator, one by one
}

TEST_CASE("equal scales: a layer made to round on ties is given a scale at which no accumulator differs") {
  const Model model = network(0.5);
  const EqualScales found = equal_scales(model, half_up(), find_backend("vipnano_v8"));
  REQUIRE(found.layers.size() == 2);
  const ScaleAdvice& first = found.layers[0];
  CHECK(first.operation == 0);
  CHECK(first.scale == 0.5);
  CHECK(first.differing == certify(model, half_up(), find_backend("vipnano_v8"), {}).layers[0].differing);
  CHECK(first.differing > 0);
  REQUIRE(first.equal());
  CHECK(first.factor != 1);
  CHECK(std::abs(first.factor - 1) <= found.reach);
  CHECK(first.bits_lost() == Approx(std::log2(first.factor)));
  CHECK(found.model.tensor(1).quantization.scale() == 0.5 * first.factor);
  require_certified(found, half_up(), find_backend("vipnano_v8"));
  // Run on data, too, the layer's outputs are the same ones; those of the given model are not.
  std::int64_t before = 0;
  for (const Tensor& input : inputs(20)) {
    const std::vector<Tensor> one{input};
    const auto first_output = [&](const Model& tested, const Backend& on) {
      const Model layer = extract_operation(tested, 0);
      return *run(layer, on, one).tensors[static_cast<std::size_t>(layer.outputs[0])];
    };
    CHECK(first_output(found.model, half_up().backend) == first_output(found.model, backend("vipnano_v8")));
    before += first_output(model, half_up().backend) == first_output(model, backend("vipnano_v8")) ? 0 : 1;
  }
  CHECK(before > 0);
}

TEST_CASE("equal scales: where an accumulator counts a whole part of an output step, two roundings are one") {
  const SpecSheet a = find_backend("tflite_double"), b = find_backend("vipnano_v8");
  for (const double scale : {0.5, 0.3, 0.7}) {
    INFO(scale);
    const EqualScales found = equal_scales(network(scale), a, b);
    require_certified(found, a, b);
    REQUIRE(found.layers.size() == 2);
    CHECK(found.all_equal());
    for (const ScaleAdvice& layer : found.layers) {
      CHECK(layer.differing > 100);
      CHECK(layer.equal());
      CHECK(std::abs(layer.factor - 1) <= found.reach);
    }
    CHECK(to_text(found).find("With these scales the network is equal for every input.") != std::string::npos);
  }
}

TEST_CASE("equal scales: with a scale per channel two roundings are hardly ever one, and it is said how many accumulators differ") {
  Model model = network(0.5);
  model.tensors[4].quantization = {{0.0157, 0.0161, 0.0149, 0.0153, 0.0171, 0.0137}, {0, 0, 0, 0, 0, 0}, 0};
  validate(model, "test");
  const SpecSheet a = find_backend("tflite_double"), b = find_backend("vipnano_v8");
  const EqualScales found = equal_scales(model, a, b);
  require_certified(found, a, b);
  REQUIRE(found.layers.size() == 2);
  const ScaleAdvice& layer = found.layers[0];
  CHECK_FALSE(layer.equal());
  CHECK(layer.factor == 1);
  CHECK(layer.left == layer.differing);
  CHECK(layer.tried == 40);
  CHECK(to_text(found).find("For 1 layer no scale within 10 %") != std::string::npos);
  CHECK(to_text(found).find("2 of 3 layers are equal for every input, 1 of them as they are") != std::string::npos);
}

/// Two convolutions whose outputs are joined and so have one scale; or, with an average pool alone, a scale that is the network's input's.
Model joined() {
  std::mt19937 random(15);
  Model model;
  model.name = "joined";
  const Shape image{1, 4, 4, 6}, both{1, 4, 4, 12};
  model.tensors = {int8_tensor("x", image, 0.0625, -1), int8_tensor("y", image, 0.41, 2), int8_tensor("z", image, 0.41, 2),
                   int8_tensor("yz", both, 0.41, 2)};
  const auto w = add_constant(model, "w", random_int8({6, 1, 1, 6}, random), 1.0 / 64);
  const auto v = add_constant(model, "v", random_int8({6, 1, 1, 6}, random), 1.0 / 60);
  model.operations = {{OperationKind::conv2d, "first", {0, w}, {1}, Conv2dAttributes{}},
                      {OperationKind::conv2d, "second", {0, v}, {2}, Conv2dAttributes{}},
                      {OperationKind::concat, "join", {1, 2}, {3}, ConcatAttributes{.axis = 3}}};
  model.inputs = {0};
  model.outputs = {3};
  validate(model, "test");
  return model;
}

TEST_CASE("equal scales: a layer's scale makes no layer before it differ that shares it") {
  const SpecSheet a = find_backend("tflite_single"), b = find_backend("vipnano_v7");
  const EqualScales found = equal_scales(joined(), a, b);
  require_certified(found, a, b);
  REQUIRE(found.layers.size() == 2);
  for (const ScaleAdvice& layer : found.layers) CHECK(layer.equal() == (layer.left == 0));
  const double factor = found.layers[0].factor * found.layers[1].factor;
  for (const std::int32_t tensor : {1, 2, 3}) CHECK(found.model.tensor(tensor).quantization.scale() == Approx(0.41 * factor));
  if (found.layers[0].factor != 1) CHECK(found.layers[0].equal());  // also behind the second one's
}

TEST_CASE("equal scales: the scale of the network's input stays") {
  Pool2dAttributes pool;
  pool.filter = pool.stride = {2, 2};
  Model model;
  model.name = "pool";
  model.tensors = {int8_tensor("x", {1, 4, 4, 2}, 0.5, 0), int8_tensor("y", {1, 2, 2, 2}, 0.5, 0)};
  model.operations = {{OperationKind::average_pool2d, "pool", {0}, {1}, pool}};
  model.inputs = {0};
  model.outputs = {1};
  validate(model, "test");
  const SpecSheet a = find_backend("tflite_double"), b = find_backend("max78000");
  const EqualScales found = equal_scales(model, a, b);
  require_certified(found, a, b);
  REQUIRE(found.layers.size() == 1);
  CHECK(found.layers[0].left > 0);
  CHECK(found.layers[0].factor == 1);
  CHECK(found.model.tensor(0).quantization == model.tensor(0).quantization);
}

TEST_CASE("advice: with data it says what the equal scales become at the end") {
  const AdviseReport report = advise(network(0.5), half_up(), find_backend("vipnano_v8"), samples(60));
  REQUIRE_FALSE(report.equal());
  REQUIRE(report.scales.has_value());
  REQUIRE(report.all_scales.has_value());
  CHECK(report.scales->layers[0].factor != 1);
  if (report.scales->all_equal()) CHECK(report.all_scales->differing == 0);
  CHECK(report.all_scales->differing < report.search.by_count.front().agreement.differing);
  REQUIRE(report.layers.size() == 3);
  CHECK(report.layers[0].ties->differing == report.scales->layers[0].differing);
  CHECK(report.layers[0].ties->cases == report.scales->layers[0].cases);
}

TEST_CASE("census: of sums, products, pools, requantisation and concatenation, by what the devices deliver of every code") {
  const Shape pairs{1, 256, 256, 1}, pooled{1, 128, 128, 1}, joined_pairs{1, 256, 256, 2};
  Pool2dAttributes pool;
  pool.filter = pool.stride = {2, 2};
  struct TiedLayer {
    OperationKind kind;
    std::size_t inputs;
    Shape output;
    Attributes attributes;
    const char *a, *b;
    std::int64_t cases, copies;  ///< on the network's tensors every case stands so often
    bool rounds_twice = false;   ///< a: that is all in which they differ
  };
  const std::vector<TiedLayer> layers{
      {OperationKind::add, 2, pairs, ElementwiseAttributes{}, "tflite_double", "xnnpack", 65536, 1},
      {OperationKind::sub, 2, pairs, ElementwiseAttributes{}, "tflite_double", "xnnpack", 65536, 1},
      {OperationKind::mul, 2, pairs, ElementwiseAttributes{}, "tflite_double", "xnnpack", 65536, 1},
      {OperationKind::average_pool2d, 1, pooled, pool, "tflite_double", "max78000", 4 * 255 + 1, 0},
      {OperationKind::requantize, 1, pairs, RequantizeAttributes{}, "tflite_double", "tflite_single", 256, 256, true},
      {OperationKind::concat, 2, joined_pairs, ConcatAttributes{.axis = 3}, "bernoulli2", "bernoulli2", 512, 256}};
  for (const TiedLayer& tested : layers) {
    INFO(name_of(tested.kind));
    const bool keeps = tested.kind == OperationKind::average_pool2d;
    Model model;
    for (std::size_t i = 0; i < tested.inputs; ++i)
      model.tensors.push_back(int8_tensor("x" + std::to_string(i), pairs, keeps ? 0.5 : i == 0 ? 0.25 : 0.5, 0));
    const auto y = static_cast<std::int32_t>(tested.inputs);
    model.tensors.push_back(int8_tensor("y", tested.output, 0.5, 0));
    Operation operation{tested.kind, "layer", {}, {y}, tested.attributes};
    for (std::int32_t i = 0; i < y; ++i) operation.inputs.push_back(i);
    model.inputs = operation.inputs;
    model.outputs = operation.outputs;
    model.operations = {operation};
    validate(model, "test");
    const SpecSheet a = find_backend(tested.a), b = find_backend(tested.b);
    const auto census = tie_census(model, a, b).at(0);
    REQUIRE(census.has_value());
    CHECK(census->cases == tested.cases);
    CHECK(census->either.on > 0);
    if (tested.rounds_twice) CHECK(census->differing_at.near == census->differing);
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < tested.inputs; ++i) {
      Tensor& codes = inputs.emplace_back(ElementType::int8, pairs);
      for (std::size_t at = 0; at < 65536; ++at)
        codes.values<std::int8_t>()[at] = static_cast<std::int8_t>(static_cast<std::int64_t>(i == 0 ? at / 256 : at % 256) - 128);
    }
    if (keeps) {  // every window has the sum that its number says
      for (std::int64_t at = 0; at < 65536; ++at) {
        const std::int64_t row = at / 256, column = at % 256, window = row / 2 * 128 + column / 2, place = row % 2 * 2 + column % 2;
        inputs[0].values<std::int8_t>()[static_cast<std::size_t>(at)] =
            static_cast<std::int8_t>(std::clamp<std::int64_t>(window % 1021 - 255 * place, 0, 255) - 128);
      }
    }
    const auto delivered = [&](const SpecSheet& device) {
      return *run(model, device.backend, inputs).tensors[static_cast<std::size_t>(y)];
    };
    const Tensor on_a = delivered(a), on_b = delivered(b);
    std::int64_t differing = 0;
    for (std::int64_t i = 0; i < (keeps ? 1021 : on_b.element_count()); ++i) differing += on_a.integer_at(i) != on_b.integer_at(i) ? 1 : 0;
    CHECK(census->differing * (keeps ? 1 : tested.copies) == differing);
  }
}
