// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A model's constants: copies share their values until one of them changes them.
#include "lastbit/constant.hpp"

#include <vector>

#include "lastbit/model_builder.hpp"
#include "support/catch.hpp"

using namespace lastbit;

namespace {

Tensor numbers(std::int32_t first) { return Tensor::from<std::int32_t>({3}, std::vector{first, first + 1, first + 2}); }

}  // namespace

TEST_CASE("a constant is a tensor or none") {
  Constant constant;
  CHECK_FALSE(constant);
  CHECK_FALSE(constant.has_value());
  CHECK_THROWS_AS(constant.value(), std::bad_optional_access);
  constant = numbers(1);
  REQUIRE(constant);
  CHECK(constant->integer_at(2) == 3);
  CHECK(*constant == numbers(1));
  CHECK(&constant.value() == &*constant);
  constant.reset();
  CHECK(constant == Constant(std::nullopt));
}

TEST_CASE("copies share their values until one is edited, and the others keep theirs") {
  Constant first = numbers(1);
  const Constant second = first, third = numbers(1);
  CHECK(&*first == &*second);
  CHECK(&*first != &*third);
  CHECK(first == third);
  const Tensor* const shared = &*second;
  first.edit().values<std::int32_t>()[0] = 9;
  CHECK(&*first != shared);
  CHECK(first->integer_at(0) == 9);
  CHECK(*second == numbers(1));
  CHECK_FALSE(first == second);
  const Tensor* const own = &*first;
  first.edit().values<std::int32_t>()[1] = 8;  // nobody shares it: no copy
  CHECK(&*first == own);
}

TEST_CASE("a copy of a model costs none of its constants") {
  ModelBuilder builder("model");
  const std::int32_t weights = builder.constant("w", numbers(5));
  const Model& model = builder.model;
  Model copy = model;
  CHECK(&*copy.tensor(weights).constant == &*model.tensor(weights).constant);
  copy.tensors[static_cast<std::size_t>(weights)].constant.edit().values<std::int32_t>()[0] = 0;
  CHECK(*model.tensor(weights).constant == numbers(5));
}
