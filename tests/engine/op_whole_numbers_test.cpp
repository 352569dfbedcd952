// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Whole numbers that stand for themselves: the same on every backend of integers. Expected values come from exact 128-bit integers.
#include <cmath>
#include <limits>

#include "lastbit/emulator.hpp"
#include "lastbit/op/whole_number.hpp"
#include "lastbit/registry.hpp"
#include "support/catch.hpp"
#include "support/one_operation.hpp"
#include "support/oracle.hpp"
#include "support/refusal.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

template <class T>
std::vector<T> edges() {
  constexpr T least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
  return {least, least + 1, least / 2, -7, -2, -1, 0, 1, 2, 7, most / 2, most / 2 + 1, most - 1, most};
}

/// Every pair.
template <class T>
std::vector<Tensor> pairs(bool with_zero) {
  std::vector<T> a, b;
  for (const T first : edges<T>()) {
    for (const T second : edges<T>()) {
      if (second == 0 && !with_zero) continue;
      a.push_back(first);
      b.push_back(second);
    }
  }
  return {Tensor::from<T>({std::ssize(a)}, a), Tensor::from<T>({std::ssize(b)}, b)};
}

Tensor of(OperationKind kind, const std::vector<Tensor>& inputs, ElementType type, const char* backend = "tflite_double") {
  const Model model = one_operation(kind, default_attributes(kind), inputs, {inputs[0].shape()}, type);
  return *run(model, find_backend(backend).backend, inputs).tensors[static_cast<std::size_t>(model.outputs[0])];
}

template <class T, class Oracle>
void check_pairs(OperationKind kind, bool with_zero, const Oracle& oracle) {
  std::vector<Tensor> inputs = pairs<T>(with_zero);
  const std::vector<Tensor> both = inputs;
  if (kind == OperationKind::neg || kind == OperationKind::abs) inputs.pop_back();
  const auto found = values_of<T>(of(kind, inputs, element_type_of<T>));
  REQUIRE(found.size() > 150);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Int128 a = both[0].values<T>()[i], b = both[1].values<T>()[i];
    INFO(name_of(kind) << " of " << both[0].values<T>()[i] << " and " << both[1].values<T>()[i]);
    CHECK(Int128{found[i]} == wrapped(oracle(a, b), int{sizeof(T)} * 8));
  }
}

template <class T>
void check_all() {
  check_pairs<T>(OperationKind::add, true, [](Int128 a, Int128 b) { return a + b; });
  check_pairs<T>(OperationKind::sub, true, [](Int128 a, Int128 b) { return a - b; });
  check_pairs<T>(OperationKind::mul, true, [](Int128 a, Int128 b) { return a * b; });
  check_pairs<T>(OperationKind::floor_div, false,
                 [](Int128 a, Int128 b) { return rounded(b < 0 ? -a : a, magnitude(b), Rounding::floor); });
  check_pairs<T>(OperationKind::maximum, true, [](Int128 a, Int128 b) { return a < b ? b : a; });
  check_pairs<T>(OperationKind::minimum, true, [](Int128 a, Int128 b) { return a < b ? a : b; });
  check_pairs<T>(OperationKind::neg, true, [](Int128 a, Int128) { return -a; });
  check_pairs<T>(OperationKind::abs, true, [](Int128 a, Int128) { return magnitude(a); });
}

}  // namespace

TEST_CASE("whole numbers: arithmetic is exact, or modulo 2^bits") {
  check_all<std::int32_t>();
  check_all<std::int64_t>();
}

TEST_CASE("whole numbers: comparisons and choices tell numbers apart that float32 does not") {
  const std::vector<std::int64_t> large{(std::int64_t{1} << 53) + 1, 5}, other{std::int64_t{1} << 53, 5};
  const std::vector<Tensor> two{Tensor::from<std::int64_t>({2}, large), Tensor::from<std::int64_t>({2}, other)};
  CHECK(values_of<bool>(of(OperationKind::less, two, ElementType::boolean)) == std::vector<bool>{false, false});
  CHECK(values_of<bool>(of(OperationKind::less_or_equal, two, ElementType::boolean)) == std::vector<bool>{false, true});
  const Tensor same = of(OperationKind::equal, two, ElementType::boolean);
  CHECK(values_of<bool>(same) == std::vector<bool>{false, true});
  CHECK(values_of<std::int64_t>(of(OperationKind::select, {same, two[0], two[1]}, ElementType::int64)) ==
        std::vector<std::int64_t>{std::int64_t{1} << 53, 5});
}

TEST_CASE("whole numbers: every backend of integers has them, whatever else it lacks") {
  const std::vector<Tensor> inputs{Tensor::from<std::int32_t>({2}, std::vector{7, -7}), Tensor::from<std::int32_t>({1}, std::vector{2})};
  for (const SpecSheet& sheet : builtin_backends()) {
    INFO(sheet.name);
    const Tensor quotient = of(OperationKind::floor_div, inputs, ElementType::int32, sheet.name.c_str());
    if (sheet.backend.domain == Domain::real) CHECK(values_of<float>(quotient) == std::vector<float>{3, -4});
    else CHECK(values_of<std::int32_t>(quotient) == std::vector<std::int32_t>{3, -4});
  }
}

TEST_CASE("whole numbers: joined along any axis") {
  const Tensor a = Tensor::from<std::int32_t>({2, 1}, std::vector{1, 2}), b = Tensor::from<std::int32_t>({2, 2}, std::vector{3, 4, 5, 6});
  const Model model = one_operation(OperationKind::concat, ConcatAttributes{1}, {a, b}, {{2, 3}}, ElementType::int32);
  const Trace trace = run(model, find_backend("gna2").backend, {{a, b}});
  CHECK(values_of<std::int32_t>(*trace.tensors[static_cast<std::size_t>(model.outputs[0])]) == std::vector{1, 3, 4, 2, 5, 6});
}

TEST_CASE("whole numbers: casts truncate reals, wrap integers and round to float32") {
  const Tensor reals = Tensor::from<float>({4}, std::vector{2.75F, -2.75F, -0.5F, 0x1p31F - 128});
  CHECK(values_of<std::int32_t>(of(OperationKind::cast, {reals}, ElementType::int32)) == std::vector{2, -2, 0, 2147483520});
  CHECK(values_of<float>(of(OperationKind::cast, {reals}, ElementType::int32, "float")) == std::vector{2.0F, -2.0F, -0.0F, 0x1p31F - 128});
  const Tensor wide = Tensor::from<std::int64_t>({3}, std::vector<std::int64_t>{300, -1, (std::int64_t{1} << 32) + 5});
  CHECK(values_of<std::uint8_t>(of(OperationKind::cast, {wide}, ElementType::uint8)) == std::vector<std::uint8_t>{44, 255, 5});
  CHECK(values_of<std::int32_t>(of(OperationKind::cast, {wide}, ElementType::int32)) == std::vector{300, -1, 5});
  const Tensor ties = Tensor::from<std::int64_t>({2}, std::vector<std::int64_t>{(1 << 24) + 1, (1 << 24) + 3});
  CHECK(values_of<float>(of(OperationKind::cast, {ties}, ElementType::float32)) == std::vector{0x1p24F, 0x1p24F + 4});
}

TEST_CASE("whole numbers: which reals a type has the integer part of") {
  CHECK(has_truncated<std::int8_t>(127.99F));
  CHECK_FALSE(has_truncated<std::int8_t>(128));
  CHECK(has_truncated<std::int8_t>(-128.99F));
  CHECK_FALSE(has_truncated<std::int8_t>(-129));
  CHECK(has_truncated<std::uint8_t>(-0.99F));
  CHECK_FALSE(has_truncated<std::uint8_t>(-1));
  CHECK(has_truncated<std::int64_t>(-0x1p63F));
  CHECK_FALSE(has_truncated<std::int64_t>(0x1p63F));
  CHECK_FALSE(has_truncated<std::int64_t>(std::nextafter(-0x1p63F, -0x1p64F)));
  CHECK_FALSE(has_truncated<std::int32_t>(std::nanf("")));
}

TEST_CASE("whole numbers: what has no result is said where it occurs") {
  const auto said = [](OperationKind kind, const std::vector<Tensor>& inputs, ElementType type) {
    const auto refusal = refusal_of([&] { return of(kind, inputs, type); });
    return refusal ? refusal->message : std::string("no error");
  };
  const Tensor one = Tensor::from<std::int32_t>({1}, std::vector{1}), zero = Tensor::from<std::int32_t>({1}, std::vector{0});
  CHECK(said(OperationKind::floor_div, {one, zero}, ElementType::int32) == "floor_div 'output2': a division of 1 by 0");
  const Tensor large = Tensor::from<float>({1}, std::vector{3e9F});
  CHECK(said(OperationKind::cast, {large}, ElementType::int32) ==
        "cast 'output1': a cast of 3000000000.000000, for which its type has no number");
  CHECK(said(OperationKind::cast, {large}, ElementType::int64) == "no error");
}

TEST_CASE("whole numbers: no activation, no scale") {
  ModelBuilder builder;
  const auto a = builder.input({"a", ElementType::int32, {2}});
  builder.operation(OperationKind::add, {a, a}, {"y", ElementType::int32, {2}}, ElementwiseAttributes{{.activation = Activation::relu}});
  const auto refused = refusal_of([&] { return builder.finished({1}); });
  REQUIRE(refused);
  CHECK(refused->says("it has two operands, and no activation"));
  ModelBuilder coded;
  const auto x = coded.input({"x", ElementType::int8, {2}, {{0.5}, {0}, 0}});
  coded.operation(OperationKind::cast, {x}, {"y", ElementType::float32, {2}}, {});
  const auto of_codes = refusal_of([&] { return coded.finished({1}); });
  REQUIRE(of_codes);
  CHECK(of_codes->says("tensor 'x' has a scale"));
}

TEST_CASE("round_half_even and truncate of reals; a floor of a quotient that float32 would round up") {
  const auto each = [](OperationKind kind) {
    const Tensor x = Tensor::from<float>({8}, std::vector{-2.5F, -1.5F, -0.5F, 0.5F, 1.5F, 2.5F, 2.75F, -2.25F});
    return values_of<float>(of(kind, {x}, ElementType::float32, "float"));
  };
  CHECK(each(OperationKind::round_half_even) == std::vector<float>{-2, -2, -0.0F, 0, 2, 2, 3, -2});
  CHECK(each(OperationKind::truncate) == std::vector<float>{-2, -1, -0.0F, 0, 1, 2, 2, -2});
  const std::vector<Tensor> near{Tensor::from<float>({1}, std::vector{std::nextafter(3.0F, 0.0F)}),
                                 Tensor::from<float>({1}, std::vector{std::nextafter(0.1F, 1.0F)})};
  const double quotient = double{near[0].values<float>()[0]} / double{near[1].values<float>()[0]};
  CHECK(values_of<float>(of(OperationKind::floor_div, near, ElementType::float32, "float")) ==
        std::vector<float>{static_cast<float>(std::floor(quotient))});
}

}  // namespace lastbit
