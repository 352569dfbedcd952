// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A whole device as a file: Gemmini, by values worked out by hand from its macros.
#include <algorithm>
#include <fstream>
#include <string>

#include "lastbit/emulator.hpp"
#include "lastbit/model_builder.hpp"
#include "lastbit/registry.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"

namespace lastbit {
namespace {

std::string content(const char* file) {
  std::ifstream in(test::source_directory() / file);
  return {std::istreambuf_iterator<char>(in), {}};
}

const Backend& gemmini() {
  static const Backend backend = find_backend((test::source_directory() / "examples/own_device/gemmini.json").string()).backend;
  return backend;
}

std::vector<int> codes_of(const Model& model, const std::vector<Tensor>& inputs) {
  const Trace trace = run(model, gemmini(), inputs);
  const auto codes = trace.tensors[static_cast<std::size_t>(model.outputs[0])]->values<std::int8_t>();
  return {codes.begin(), codes.end()};
}

Tensor int8s(const std::vector<std::int8_t>& values) {
  return Tensor::from<std::int8_t>({1, static_cast<std::int64_t>(values.size())}, values);
}

/// Every code times the weight 1, plus the bias; a sum is a quarter of an output step.
std::vector<int> layer_of(const std::vector<std::int8_t>& values, std::int32_t bias, Activation activation = Activation::none) {
  const auto count = static_cast<std::int64_t>(values.size());
  ModelBuilder builder;
  const auto x = builder.input({"x", ElementType::int8, {count, 1, 1, 1}, {{0.5}, {0}}});
  const auto weight = builder.constant<std::int8_t>("weight", {1, 1, 1, 1}, {1}, {{0.5}, {0}});
  const auto offset = builder.constant<std::int32_t>("bias", {1}, {bias}, {{0.25}, {0}});
  const auto y = builder.operation(OperationKind::conv2d, {x, weight, offset}, {"y", ElementType::int8, {count, 1, 1, 1}, {{1.0}, {0}}},
                                   Conv2dAttributes{.padding = {}, .bounds = {.activation = activation}});
  return codes_of(builder.finished({y}), {Tensor::from<std::int8_t>({count, 1, 1, 1}, values)});
}

std::vector<int> sum_of(double a_scale, const std::vector<std::int8_t>& a, double b_scale, const std::vector<std::int8_t>& b) {
  const Tensor first = int8s(a), second = int8s(b);
  ModelBuilder builder;
  const auto x = builder.input({"a", ElementType::int8, first.shape(), {{a_scale}, {0}}});
  const auto y = builder.input({"b", ElementType::int8, second.shape(), {{b_scale}, {0}}});
  const auto sum = builder.operation(OperationKind::add, {x, y}, {"sum", ElementType::int8, first.shape(), {{1.0}, {0}}});
  return codes_of(builder.finished({sum}), {first, second});
}

TEST_CASE("Gemmini is a file of at most 40 lines, and the page shows it as it is") {
  const std::string file = content("examples/own_device/gemmini.json");
  CHECK(std::ranges::count(file, '\n') <= 40);
  CHECK(!file.empty());
  CHECK(content("docs/own-device.md").find(file) != std::string::npos);
}

TEST_CASE("Gemmini: a sum times a float32 scale, ties to even, clipped; the rectifier acts after that") {
  //                                   0.5 1.5 2.5 -0.5 -1.5 0.75
  CHECK(layer_of({2, 6, 10, -2, -6, 3}, 0) == std::vector{0, 2, 2, 0, -2, 1});
  CHECK(layer_of({2, 6, 10, -2, -6, 3}, 0, Activation::relu) == std::vector{0, 2, 2, 0, 0, 1});
  CHECK(layer_of({0, 127}, 1000) == std::vector{127, 127});
  CHECK(layer_of({0, 1}, 2147483647) == std::vector{127, -128});  // 2^31 wraps
}

TEST_CASE("Gemmini: a residual addition rounds both operands to 8 bits first") {
  // Both operands on a tie: 0.5 and 0.5 make 0, not 1; 1.5 and 1.5 make 4, not 3; 2.5 and -1.5 make 0, not 1.
  CHECK(sum_of(0.5, {1, 3, 5}, 0.25, {2, 6, -6}) == std::vector{0, 4, 0});
  // 2 * 100 saturates before it is added; a sum beyond 8 bits after.
  CHECK(sum_of(2, {100, 100, -100}, 1, {-100, 100, -100}) == std::vector{27, 127, -128});
}

TEST_CASE("Gemmini: what the file does not state is refused") {
  ModelBuilder builder;
  const auto x = builder.input({"x", ElementType::int8, {1, 4, 4, 1}, {{0.5}, {0}}});
  const Pool2dAttributes windows{.filter = {2, 2}, .stride = {2, 2}, .padding = {}};
  const TensorDescription y{"y", ElementType::int8, {1, 2, 2, 1}, {{0.5}, {0}}};
  const auto largest = builder.operation(OperationKind::max_pool2d, {x}, y, windows);
  CHECK(check(builder.finished({largest}), gemmini()).empty());
  const auto average = builder.operation(OperationKind::average_pool2d, {x}, {"mean", y.type, y.shape, y.quantization}, windows);
  CHECK_FALSE(check(builder.finished({average}), gemmini()).empty());
}

}  // namespace
}  // namespace lastbit
