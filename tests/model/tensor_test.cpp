// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/tensor.hpp"

#include <array>
#include <vector>

#include "lastbit/error.hpp"
#include "lastbit/tensor_view.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

using namespace lastbit;

TEST_CASE("a tensor is made of a braced list") {
  const Tensor tensor = Tensor::from<float>({1, 4}, {0.5F, 1, 2, -1});
  CHECK(tensor.type() == ElementType::float32);
  CHECK(tensor.shape() == Shape{1, 4});
  const auto values = tensor.values<float>();
  CHECK(std::vector<float>(values.begin(), values.end()) == std::vector<float>{0.5F, 1, 2, -1});
  const std::array<std::int8_t, 2> codes{3, -4};
  CHECK(Tensor::from<std::int8_t>({2}, codes) == Tensor::from<std::int8_t>({2}, {3, -4}));
}

TEST_CASE("values that are more or fewer than the shape says are refused") {
  const auto fewer = test::refusal_of([] { return Tensor::from<float>({1, 4}, {0.5F, 1}); });
  REQUIRE(fewer.has_value());
  CHECK(fewer->code == ErrorCode::shape_mismatch);
  CHECK(fewer->message == "tensor: 2 values for shape 1x4, which has 4");
  const std::vector<std::int32_t> five(5);
  CHECK(test::refusal_of([&] { return Tensor::from<std::int32_t>({1, 4}, five); }).has_value());
}

TEST_CASE("values of another type are refused by both names") {
  Tensor tensor = Tensor::from<float>({2}, {0.5F, 1});
  const auto said = [](auto&& read) {
    const auto refusal = test::refusal_of(read);
    return refusal && refusal->code == ErrorCode::type_mismatch ? refusal->message : "no refusal";
  };
  CHECK(said([&] { static_cast<void>(tensor.values<Float16>()); }) == "tensor: holds float32, not float16");
  CHECK(said([&] { static_cast<void>(std::as_const(tensor).values<std::int32_t>()); }) == "tensor: holds float32, not int32");
  CHECK(said([&] { static_cast<void>(TensorView(tensor).values<std::int8_t>()); }) == "tensor: holds float32, not int8");
  CHECK(tensor.values<float>()[1] == 1);
}
