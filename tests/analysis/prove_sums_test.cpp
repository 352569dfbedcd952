// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Proofs of what sums without weights: additions, pools and products of two tensors; and what a padding lets follow.
#include <random>

#include "analysis/prove/ranges.hpp"
#include "lastbit/model_builder.hpp"
#include "lastbit/op/add.hpp"
#include "lastbit/prove.hpp"
#include "lastbit/registry.hpp"
#include "support/catch.hpp"
#include "support/network.hpp"
#include "support/two_convolutions.hpp"

using namespace lastbit;

namespace {

/// One operation on 8-bit data whose inputs are all given at run time.
Model elementwise(OperationKind kind, const std::vector<Quantization>& inputs, const Quantization& output) {
  test::Network net;
  std::vector<std::int32_t> places;
  for (const Quantization& q : inputs)
    places.push_back(net.tensor("x" + std::to_string(places.size()), ElementType::int8, {1, 4, 4, 2}, q));
  const auto y = net.tensor("y", ElementType::int8, {1, 4, 4, 2}, output);
  net.operation(kind, places, {y});
  net.model.inputs = places;
  net.model.outputs = {y};
  validate(net.model, "test");
  return net.model;
}

Quantization scale_and_zero(double scale, std::int64_t zero_point) { return {{scale}, {zero_point}, 0}; }

}  // namespace

TEST_CASE("prove: the sum of an add is bounded as it is added, and counted on data where it leaves the width") {
  const Model model = elementwise(OperationKind::add, {scale_and_zero(0.05, 3), scale_and_zero(0.02, -7)}, scale_and_zero(0.06, 0));
  const SpecSheet sheet = find_backend("vipnano_v8");
  const LayerProof proof = prove(model, sheet, {}).layers.at(0);
  const SumArithmetic& rule = sheet.backend.add.i8;
  SumLayer layer;
  layer.operands = {{0.05, 3, 1}, {0.02, -7, 1}};
  layer.out_scale = 0.06;
  const ResolvedSum add = resolve(rule, layer);
  const auto sum_at = [&](std::int64_t a, std::int64_t b) { return sum_of(rule, add, std::vector{a, b}); };
  std::int64_t least = 0, most = 0;
  for (std::int64_t a = -128; a <= 127; ++a) {
    for (std::int64_t b = -128; b <= 127; ++b) {
      const std::int64_t sum = sum_at(a, b);
      least = std::min(least, sum);
      most = std::max(most, sum);
    }
  }
  REQUIRE(proof.safe());
  REQUIRE(proof.sums() == SumRange{least, most});
  std::mt19937 random(8);
  const std::vector<Tensor> inputs{test::random_int8({1, 4, 4, 2}, random), test::random_int8({1, 4, 4, 2}, random)};
  const int bits = proof.bits() - 2;
  const LayerProof narrow = prove(model, sheet, inputs, {.bits = bits}).layers.at(0);
  std::int64_t overflowing = 0;
  for (std::int64_t i = 0; i < 32; ++i) {
    const std::int64_t sum = sum_at(inputs[0].integer_at(i), inputs[1].integer_at(i));
    overflowing += fits_width(sum, bits) ? 0 : 1;
  }
  REQUIRE(narrow.on_data);
  REQUIRE(narrow.on_data->overflowing == overflowing);
  REQUIRE(overflowing > 0);
  REQUIRE(narrow.example);
  const std::int64_t a = narrow.example->inputs.at(0).integer_at(0), b = narrow.example->inputs.at(1).integer_at(0);
  const std::int64_t sum = sum_at(a, b);
  REQUIRE(narrow.example->sum == sum);
  REQUIRE_FALSE(fits_width(sum, bits));
}

TEST_CASE("prove: adds of every backend have a bound, and it is never smaller than the sum of some inputs") {
  for (const char* name : {"tflite_double", "tflite_single", "vipnano_v8", "bernoulli2"}) {
    const bool symmetric = std::string(name) == "bernoulli2";
    const Model model =
        elementwise(OperationKind::sub, {scale_and_zero(0.05, symmetric ? 0 : 3), scale_and_zero(0.02, 0)}, scale_and_zero(0.06, 0));
    const ProveReport report = prove(model, find_backend(name), {});
    INFO(name);
    REQUIRE(report.layers.size() == 1);
    REQUIRE(report.safe());
    const ProveReport less = prove(model, find_backend(name), {}, {.bits = report.layers[0].bits() - 1});
    REQUIRE_FALSE(less.safe());
    REQUIRE(less.layers[0].example);
    REQUIRE_FALSE(less.layers[0].example->inputs.empty());
    // On the inputs of the example, taken as data, the same sum is found.
    const ProveReport again = prove(model, find_backend(name), less.layers[0].example->inputs, {.bits = report.layers[0].bits() - 1});
    REQUIRE(again.layers[0].on_data->overflowing == 32);
    REQUIRE(again.layers[0].on_data->first->sum == less.layers[0].example->sum);
  }
  Model twice = elementwise(OperationKind::add, {scale_and_zero(0.05, 3), scale_and_zero(0.02, -7)}, scale_and_zero(0.06, 0));
  twice.operations[0].inputs = {0, 0};
  twice.inputs = {0};
  const LayerProof doubled = prove(twice, find_backend("vipnano_v8"), {}, {.bits = 8}).layers.at(0);
  REQUIRE_FALSE(doubled.safe());
  REQUIRE(doubled.example->inputs.empty());  // one tensor cannot be chosen twice
  const Model same = elementwise(OperationKind::add_n, std::vector<Quantization>(5, scale_and_zero(0.05, 0)), scale_and_zero(0.05, 0));
  const ProveReport report = prove(same, find_backend("n2d2_fixed_mult16"), {});
  REQUIRE(report.layers.at(0).sums() == SumRange{-5 * 128, 5 * 127});
}

TEST_CASE("prove: what a padding adds is part of the range behind it") {
  ModelBuilder builder;
  const Quantization quantization{{0.5}, {5}};
  const auto x = builder.input({"x", ElementType::int8, {1, 4}, quantization});
  const auto range_behind = [&](std::optional<std::int64_t> value) {
    ModelBuilder one = builder;
    const PadAttributes attributes{.paddings = {{0, 0}, {1, 0}}, .value = value, .real_value = {}};
    const auto y = one.operation(OperationKind::pad, {x}, {"y", ElementType::int8, {1, 5}, quantization}, attributes);
    const Model model = one.finished({y});
    TensorRanges ranges = ranges_by_type(model);
    ranges[0] = {10, 20};
    return range_after(model, model.operations[0], find_backend("tflite_double").backend, ranges);
  };
  CHECK(range_behind(-100) == IntegerRange{-100, 20});
  CHECK(range_behind(15) == IntegerRange{10, 20});
  CHECK(range_behind({}) == IntegerRange{5, 20});  // the zero point
}

TEST_CASE("prove: a pool's sum is bounded by its window, at the borders too") {
  test::Network net;
  const Quantization q = scale_and_zero(0.1, -20);
  const auto x = net.tensor("x", ElementType::int8, {1, 5, 5, 2}, q), y = net.tensor("y", ElementType::int8, {1, 3, 3, 2}, q);
  Pool2dAttributes pool;
  pool.filter = {3, 3};
  pool.stride = {2, 2};
  pool.padding.mode = PaddingMode::same;
  net.operation(OperationKind::average_pool2d, {x}, {y}, pool);
  net.model.inputs = {x};
  net.model.outputs = {y};
  validate(net.model, "test");
  const LayerProof proof = prove(net.model, find_backend("tflite_double"), {}).layers.at(0);
  REQUIRE(proof.has_width);
  REQUIRE(proof.sums() == SumRange{9 * -128, 9 * 127});  // the codes as they are: the zero point cancels
  REQUIRE(proof.safe());
  Tensor data(ElementType::int8, {1, 5, 5, 2});
  for (std::int8_t& value : data.values<std::int8_t>()) value = 100;
  const LayerProof on_data = prove(net.model, find_backend("tflite_double"), std::vector{data}, {.range = InputRange::data}).layers.at(0);
  REQUIRE(on_data.sums() == SumRange{4 * 100, 9 * 100});  // the corners see four pixels
  const LayerProof narrow = prove(net.model, find_backend("tflite_double"), std::vector{data}, {.bits = 10}).layers.at(0);
  REQUIRE(narrow.on_data->overflowing == 10);  // 900 of the middle window, 600 of the four at the edges, in both channels
}

TEST_CASE("prove: a matrix product of two tensors is bounded by their ranges") {
  test::Network net;
  const auto a = net.tensor("a", ElementType::int8, {1, 3, 7}, scale_and_zero(0.1, 5)),
             b = net.tensor("b", ElementType::int8, {1, 7, 2}, scale_and_zero(0.1, 0));
  const auto y = net.tensor("y", ElementType::int8, {1, 3, 2}, scale_and_zero(0.1, 0));
  net.operation(OperationKind::matmul, {a, b}, {y});
  net.model.inputs = {a, b};
  net.model.outputs = {y};
  validate(net.model, "test");
  const LayerProof proof = prove(net.model, find_backend("tflite_double"), {}).layers.at(0);
  REQUIRE(proof.sums() == SumRange{-7 * 133 * 127, 7 * 133 * 128});  // a - 5 from -133 to 122, b from -128 to 127
}
