// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <random>
#include <vector>

#include "engine/parallel.hpp"
#include "support/catch.hpp"
#include "support/layer_model.hpp"
#include "support/one_operation.hpp"

using namespace lastbit;
using namespace lastbit::test;

namespace {

std::vector<Tensor> moved(OperationKind kind, const Attributes& attributes, const Tensor& input, const std::vector<Shape>& outputs,
                          std::int64_t zero_point = 0) {
  Model model = one_operation(kind, attributes, {input}, outputs, input.type());
  if (is_integer(input.type())) {
    for (ModelTensor& tensor : model.tensors) tensor.quantization = {{0.5}, {zero_point}, 0};
  }
  return execute(model, executor_of(prepare_movement(model, model.operations[0])), {input});
}

template <class T>
std::vector<T> moved_values(OperationKind kind, const Attributes& attributes, const Shape& from, const Shape& to) {
  return values_of<T>(moved(kind, attributes, counting<T>(from), {to})[0]);
}

}  // namespace

TEMPLATE_TEST_CASE("movement keeps every bit of every element type", "", std::int8_t, std::uint8_t, std::int16_t, std::uint16_t,
                   std::int32_t, std::int64_t, float, double) {
  using T = TestType;
  using enum OperationKind;
  CHECK(moved_values<T>(transpose, TransposeAttributes{{1, 0}}, {2, 3}, {3, 2}) == std::vector<T>{1, 4, 2, 5, 3, 6});
  CHECK(moved_values<T>(slice, SliceAttributes{{1, 1}, {}}, {3, 4}, {2, 2}) == std::vector<T>{6, 7, 10, 11});
  CHECK(moved_values<T>(reshape, std::monostate{}, {2, 3}, {6}) == std::vector<T>{1, 2, 3, 4, 5, 6});
  CHECK(moved_values<T>(squeeze, std::monostate{}, {1, 3, 1}, {3}) == std::vector<T>{1, 2, 3});
}

TEST_CASE("transpose of four axes") {
  using enum OperationKind;
  const auto out = moved_values<std::int16_t>(transpose, TransposeAttributes{{0, 2, 3, 1}}, {1, 2, 2, 3}, {1, 2, 3, 2});
  CHECK(out == std::vector<std::int16_t>{1, 7, 2, 8, 3, 9, 4, 10, 5, 11, 6, 12});
  CHECK(moved_values<std::int16_t>(transpose, TransposeAttributes{{2, 0, 1}}, {2, 2, 2}, {2, 2, 2}) ==
        std::vector<std::int16_t>{1, 3, 5, 7, 2, 4, 6, 8});
}

TEST_CASE("strided slices") {
  const auto slices = [](const Shape& from, const Shape& to, const SliceAttributes& attributes) {
    return moved_values<std::int32_t>(OperationKind::strided_slice, attributes, from, to);
  };
  using Values = std::vector<std::int32_t>;
  CHECK(slices({7}, {3}, {{1}, {2}}) == Values{2, 4, 6});
  CHECK(slices({7}, {7}, {{6}, {-1}}) == Values{7, 6, 5, 4, 3, 2, 1});             // backwards over everything
  CHECK(slices({3, 4}, {2, 2}, {{2, 3}, {-2, -3}}) == Values{12, 9, 4, 1});        // backwards on both axes
  CHECK(slices({3, 4}, {1, 4}, {{1, 0}, {1000000007, 1}}) == Values{5, 6, 7, 8});  // one element: its step is never taken
  CHECK(slices({2, 3, 2}, {2, 2, 2}, {{0, 0, 0}, {1, 2, 1}}) == Values{1, 2, 5, 6, 7, 8, 11, 12});
}

TEST_CASE("gather: along any axis, with indices of any shape, constants or given") {
  const auto gathered = [](std::int64_t axis, const Shape& from, const Tensor& indices, const Shape& to) {
    const Tensor data = counting<std::int16_t>(from);
    const Model model = one_operation(OperationKind::gather, GatherAttributes{axis}, {data, indices}, {to}, ElementType::int16);
    return values_of<std::int16_t>(execute(model, executor_of(prepare_movement(model, model.operations[0])), {data, indices})[0]);
  };
  using Values = std::vector<std::int16_t>;
  CHECK(gathered(0, {3, 2}, tensor_of<std::int32_t>({2}, {2, 0}), {2, 2}) == Values{5, 6, 1, 2});
  CHECK(gathered(1, {2, 3}, tensor_of<std::int64_t>({1, 2}, {1, 1}), {2, 1, 2}) == Values{2, 2, 5, 5});
  CHECK(gathered(1, {2, 3}, tensor_of<std::int32_t>({}, {2}), {2}) == Values{3, 6});
  CHECK(gathered(0, {3}, tensor_of<std::int32_t>({4}, {-1, 3, 2147483647, -2147483647 - 1}), {4}) == Values{1, 3, 3, 1});
}

TEST_CASE("split along the first, a middle and the last axis") {
  using Values = std::vector<std::int8_t>;
  const auto split = [](std::int64_t axis, const Shape& from, const Shape& part, std::size_t parts) {
    std::vector<Values> out;
    for (const Tensor& tensor :
         moved(OperationKind::split, SplitAttributes{axis}, counting<std::int8_t>(from), std::vector<Shape>(parts, part))) {
      out.push_back(values_of<std::int8_t>(tensor));
    }
    return out;
  };
  CHECK(split(0, {2, 2}, {1, 2}, 2) == std::vector<Values>{{1, 2}, {3, 4}});
  CHECK(split(1, {2, 2, 2}, {2, 1, 2}, 2) == std::vector<Values>{{1, 2, 5, 6}, {3, 4, 7, 8}});
  CHECK(split(1, {2, 3}, {2, 1}, 3) == std::vector<Values>{{1, 4}, {2, 5}, {3, 6}});
}

TEST_CASE("pad fills with the zero point, or with the stated value") {
  using Values = std::vector<std::int8_t>;
  const PadAttributes around{{{1, 0}, {0, 2}}, {}, {}};
  const Tensor input = counting<std::int8_t>({2, 2});
  CHECK(values_of<std::int8_t>(moved(OperationKind::pad, around, input, {{3, 4}}, -7)[0]) ==
        Values{-7, -7, -7, -7, 1, 2, -7, -7, 3, 4, -7, -7});
  const PadAttributes stated{{{0, 0}, {1, 1}}, 9, {}};
  CHECK(values_of<std::int8_t>(moved(OperationKind::pad, stated, input, {{2, 4}}, -7)[0]) == Values{9, 1, 2, 9, 9, 3, 4, 9});
}

TEST_CASE("pad of floats fills with zero, or with the real value") {
  using Values = std::vector<float>;
  const Tensor input = counting<float>({2});
  CHECK(values_of<float>(moved(OperationKind::pad, PadAttributes{{{1, 1}}, {}, {}}, input, {{4}})[0]) == Values{0, 1, 2, 0});
  CHECK(values_of<float>(moved(OperationKind::pad, PadAttributes{{{1, 1}}, {}, -0.5}, input, {{4}})[0]) == Values{-0.5, 1, 2, -0.5});
}

TEST_CASE("pads on several threads and on one: every element is the input's or the padding, whatever the axes") {
  const ScopedFinestParts finest;
  std::mt19937_64 random(20261129);
  const auto below = [&](std::uint64_t limit) { return static_cast<std::int64_t>(random() % limit); };
  for (int round = 0; round < 300; ++round) {
    const std::size_t rank = 1 + random() % 4;
    std::vector<std::int64_t> from, to;
    PadAttributes pad;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      from.push_back(1 + below(5));
      pad.paddings.push_back({below(3), below(3)});
      to.push_back(from[axis] + pad.paddings[axis][0] + pad.paddings[axis][1]);
    }
    const Shape padded(to);
    std::vector<std::int16_t> expected;
    for (std::int64_t place = 0; place < padded.element_count(); ++place) {
      std::int64_t rest = place, source = 0, step = 1;
      bool inside = true;
      for (std::size_t axis = rank; axis-- > 0; rest /= to[axis], step *= from[axis]) {
        const std::int64_t index = rest % to[axis] - pad.paddings[axis][0];
        inside = inside && index >= 0 && index < from[axis];
        source += index * step;
      }
      expected.push_back(static_cast<std::int16_t>(inside ? source + 1 : -7));
    }
    for (const int threads : {1, 3}) {
      INFO(round << ' ' << threads << ' ' << padded.text());
      with_threads(threads, [&] {
        CHECK(values_of<std::int16_t>(moved(OperationKind::pad, pad, counting<std::int16_t>(Shape(from)), {padded}, -7)[0]) == expected);
      });
    }
  }
}

TEST_CASE("a scalar is moved too") {
  CHECK(moved_values<std::int16_t>(OperationKind::reshape, std::monostate{}, {}, {1, 1}) == std::vector<std::int16_t>{1});
}

TEST_CASE("only movements move") {
  const Tensor input = counting<float>({2});
  const Model model = one_operation(OperationKind::relu, std::monostate{}, {input}, {{2}}, ElementType::float32);
  CHECK_FALSE(is_movement(OperationKind::relu));
  CHECK_THROWS_AS(prepare_movement(model, model.operations[0]), Error);
}
