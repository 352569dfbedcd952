// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/model_builder.hpp"

#include "lastbit/error.hpp"
#include "support/catch.hpp"

using namespace lastbit;

TEST_CASE("a builder numbers tensors as they come, names an operation after its output and fills in default attributes") {
  ModelBuilder builder("two operations");
  const auto image = builder.input({"image", ElementType::int8, {1, 4, 4, 1}, {{0.5}, {3}, 0}});
  const auto weights = builder.constant<std::int8_t>("weights", {1, 1, 1, 1}, {7}, {{0.25}, {0}, 0});
  Conv2dAttributes halved;
  halved.stride = {2, 2};
  const auto convolved =
      builder.operation(OperationKind::conv2d, {image, weights}, {"conv", ElementType::int8, {1, 2, 2, 1}, {{1}, {0}, 0}}, halved);
  const auto pooled =
      builder.operation(OperationKind::global_average_pool, {convolved}, {"pool", ElementType::int8, {1, 1, 1, 1}, {{1}, {0}, 0}});
  const Model model = builder.finished({pooled});
  CHECK(model.name == "two operations");
  CHECK(model.inputs == std::vector{image});
  CHECK(model.outputs == std::vector{pooled});
  CHECK(std::vector{image, weights, convolved, pooled} == std::vector<std::int32_t>{0, 1, 2, 3});
  CHECK(model.tensor(weights).constant->values<std::int8_t>()[0] == 7);
  CHECK(model.tensor(image).quantization.zero_point() == 3);
  CHECK(model.operations[0].name == "conv");
  CHECK(std::get<Conv2dAttributes>(model.operations[0].attributes).stride == Extent2d{2, 2});
  CHECK(model.operations[1].attributes.index() == default_attributes(OperationKind::global_average_pool).index());
}

TEST_CASE("what a builder finishes is valid, or an error that names the place") {
  ModelBuilder builder;
  builder.operation(OperationKind::add, {0, 1}, {"sum", ElementType::int8, {1}});
  CHECK_THROWS_WITH(builder.finished({0}, "here"), test::contains_text("here"));
}
