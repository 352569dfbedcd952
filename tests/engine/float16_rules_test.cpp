// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Every float16 rule of the sheets decides a result: replaced by any other value it changes an output of a few small models.
#include <functional>
#include <map>

#include "lastbit/backends/ascend.hpp"
#include "lastbit/error.hpp"
#include "lastbit/rules.hpp"
#include "support/catch.hpp"
#include "support/float16_steps.hpp"
#include "support/one_operation.hpp"

namespace lastbit {
namespace {

using namespace test;

struct Case {
  Model model;
  std::vector<Tensor> inputs;
};

constexpr auto float16 = ElementType::float16;

Case one(OperationKind kind, const Attributes& attributes, std::vector<Tensor> inputs, const Shape& output, ElementType type = float16) {
  Model model = one_operation(kind, attributes, inputs, {output}, type);
  return {std::move(model), std::move(inputs)};
}

Case converted(OperationKind kind, const Tensor& input, const Quantization& in, ElementType type, const Quantization& out) {
  return {conversion(kind, input, in, type, out), {input}};
}

/// Every pattern with a small step, special ones included.
std::vector<Float16> patterns() {
  std::vector<Float16> all;
  for (unsigned bits = 0; bits < 0x10000; bits += 13) all.push_back({static_cast<std::uint16_t>(bits)});
  for (const unsigned bits : {0x7C00U, 0xFC00U, 0x7E00U}) all.push_back({static_cast<std::uint16_t>(bits)});
  return all;
}

std::vector<Case> cases() {
  std::mt19937 random(5);
  const std::vector<Float16> all = patterns();
  std::vector<Float16> turned(all.rbegin(), all.rend());
  const Shape shape{static_cast<std::int64_t>(all.size())};
  const auto random_half = [&](const Shape& s, double largest) {
    return halves(s, random_halves(static_cast<std::size_t>(s.element_count()), random, largest));
  };
  std::vector<float> reals;
  for (int i = -3000; i < 3000; ++i) reals.push_back(static_cast<float>(i) * 31.77777F);
  for (const float real : {65519.0F, 65520.0F, 1e6F, -1e6F, INFINITY, NAN, 1e-8F, 0x1p-25F, 0x3p-25F}) reals.push_back(real);
  const Tensor real = Tensor::from<float>({static_cast<std::int64_t>(reals.size())}, std::span(std::as_const(reals)));
  std::vector<Case> list;
  const std::vector<Tensor> two{halves(shape, all), halves(shape, turned)};
  for (const auto kind : {OperationKind::add, OperationKind::mul}) list.push_back(one(kind, ElementwiseAttributes{}, two, shape));
  list.push_back(one(OperationKind::cast, {}, {real}, real.shape()));
  for (const auto kind : {OperationKind::logistic, OperationKind::tanh, OperationKind::hard_swish, OperationKind::relu, OperationKind::exp})
    list.push_back(one(kind, {}, {two[0]}, shape));
  std::vector<Tensor> terms;
  for (int i = 0; i < 37; ++i) terms.push_back(random_half({64}, i % 3 == 0 ? 60000 : 100));
  list.push_back(one(OperationKind::add_n, ElementwiseAttributes{}, terms, {64}));
  list.push_back(one(OperationKind::mean, MeanAttributes{{1}, false}, {random_half({64, 37}, 3000)}, {64}));
  list.push_back(one(OperationKind::mean, MeanAttributes{{1}, false}, {random_half({8, 37}, 60000)}, {8}));
  const Pool2dAttributes window{{5, 5}, {1, 1}, {PaddingMode::same, 0, 0, 0, 0}, {}};
  list.push_back(one(OperationKind::average_pool2d, window, {random_half({1, 8, 8, 4}, 3000)}, {1, 8, 8, 4}));
  list.push_back(one(OperationKind::average_pool2d, window, {random_half({1, 8, 8, 4}, 60000)}, {1, 8, 8, 4}));
  list.push_back(one(OperationKind::softmax, SoftmaxAttributes{}, {random_half({256, 300}, 3)}, {256, 300}));
  const std::vector<Tensor> layer{random_half({1, 6, 6, 20}, 300), random_half({4, 3, 3, 20}, 3), random_half({4}, 9000)};
  list.push_back(one(OperationKind::conv2d, Conv2dAttributes{}, layer, {1, 4, 4, 4}, ElementType::float32));
  list.push_back(one(OperationKind::conv2d, Conv2dAttributes{}, {random_half({1, 6, 6, 20}, 3000), layer[1]}, {1, 4, 4, 4}));
  list.push_back(converted(OperationKind::quantize, real, {}, ElementType::int8, {{300.7}, {3}, 0}));
  std::vector<std::int32_t> sums;
  for (int i = 0; i < 2000; ++i) sums.push_back(i * 7919 - 7000000);
  const Tensor accumulators = Tensor::from<std::int32_t>({2000}, std::span(std::as_const(sums)));
  list.push_back(converted(OperationKind::dequantize, accumulators, {{0.0012345}, {}, 0}, float16, {}));
  // Ties and their neighbours for the rounding of AscendQuant: codes and a half.
  std::vector<Float16> ties;
  for (int i = -90; i < 90; ++i) ties.push_back(half(i * 0.25));
  list.push_back(converted(OperationKind::quantize, halves({180}, ties), {}, ElementType::int8, {{0.5}, {0}, 0}));
  return list;
}

std::vector<std::vector<std::byte>> results(const std::vector<Case>& cases, const Backend& backend) {
  std::vector<std::vector<std::byte>> all;
  for (const Case& at : cases) {
    const Tensor output = *run(at.model, backend, at.inputs).tensors.back();
    all.emplace_back(output.bytes().begin(), output.bytes().end());
  }
  return all;
}

const std::string no_tie = "a quotient of float16 values is no tie, but for subnormal ones, which the functions do not make of these";

/// Rules, or values of them, with which no operation has another result.
const std::map<std::string, std::string> silent{
    {"float16.quotient.top_exponent", "the operands of the functions' quotients are finite"},
    {"float16.quotient.rounding = half_up", no_tie},
    {"float16.quotient.rounding = half_down", no_tie},
    {"float16.quotient.rounding = half_away", no_tie},
    {"float16.quotient.rounding = half_toward_zero", no_tie},
};

bool is_silent(const std::string& path, const std::string& value) { return silent.contains(path) || silent.contains(path + " = " + value); }

std::vector<std::string> other_values(const RuleText& rule) {
  Backend copy = ascend310;
  std::string list;
  try {
    set_rule(copy, rule.path, "?");
  } catch (const Error& error) {
    list = error.what();
  }
  list.erase(0, list.find("one of: ") + 8);
  if (list.starts_with("integers")) return {rule.path.ends_with("scale_bits") ? "11" : "4"};
  std::vector<std::string> values;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(", "), list.size());
    if (list.substr(0, end) != rule.value) values.push_back(list.substr(0, end));
    list.erase(0, std::min(end + 2, list.size()));
  }
  return values;
}

}  // namespace

TEST_CASE("every float16 rule decides a result, but for those listed as silent") {
  const std::vector<Case> all = cases();
  const auto expected = results(all, ascend310);
  std::size_t tried = 0;
  for (const RuleText& rule : list_rules(ascend310)) {
    if (!rule.path.starts_with("float16.") || rule.path == "float16.method") continue;
    for (const std::string& value : other_values(rule)) {
      Backend changed = ascend310;
      set_rule(changed, rule.path, value);
      const bool differs = results(all, changed) != expected;
      INFO(rule.path << " = " << value);
      CHECK(differs != is_silent(rule.path, value));
      ++tried;
    }
  }
  CHECK(tried > 60);
}

}  // namespace lastbit
