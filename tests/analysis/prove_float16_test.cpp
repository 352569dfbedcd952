// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <random>

#include "lastbit/float16_network.hpp"
#include "lastbit/prove.hpp"
#include "lastbit/registry.hpp"
#include "support/catch.hpp"
#include "support/network.hpp"

using namespace lastbit;

namespace {

std::vector<float> random_values(std::size_t count, float size, std::mt19937& random) {
  std::vector<float> values(count);
  for (float& value : values) value = (static_cast<float>(random() % 2001) - 1000.0F) / 1000.0F * size;
  return values;
}

/// conv, add, pool, mul by a constant, logistic; `gain` decides whether the middle leaves float16.
test::Network network(float gain, std::mt19937& random) {
  test::Network net;
  const auto x = net.real("x", {1, 6, 6, 2});
  const auto w = net.constant<float>("w", {3, 3, 3, 2}, random_values(54, gain, random));
  const auto b = net.constant<float>("b", {3}, random_values(3, gain, random));
  const auto y = net.real("y", {1, 6, 6, 3}), s = net.real("sum", {1, 6, 6, 3}), p = net.real("pooled", {1, 1, 1, 3});
  const auto f = net.constant<float>("factor", {1}, std::vector<float>{0.01F / gain});
  const auto m = net.real("scaled", {1, 1, 1, 3}), z = net.real("z", {1, 1, 1, 3});
  Conv2dAttributes same;
  same.padding.mode = PaddingMode::same;
  net.operation(OperationKind::conv2d, {x, w, b}, {y}, same);
  net.operation(OperationKind::add, {y, y}, {s});
  net.operation(OperationKind::global_average_pool, {s}, {p});
  net.operation(OperationKind::mul, {p, f}, {m});
  net.operation(OperationKind::logistic, {m}, {z});
  net.model.inputs = {x};
  net.model.outputs = {z};
  validate(net.model, "test");
  return net;
}

Tensor inputs_within(const Shape& shape, float size, std::mt19937& random) {
  return Tensor::from<float>(shape, random_values(static_cast<std::size_t>(shape.element_count()), size, random));
}

std::int64_t left_float16(const Model& device, const Backend& backend, const Tensor& input) {
  std::int64_t left = 0;
  const Trace trace = run(device, backend, std::vector{input}, {.count_events = true});
  for (const Events& events : trace.events) left += events.saturated_outputs;
  return left;
}

}  // namespace

TEST_CASE("prove: values in float16 stay below the bound, and what is proven to stay never leaves") {
  const SpecSheet sheet = find_backend("ascend310");
  int proven = 0, leaving = 0;
  for (const float gain : {0.01F, 0.3F, 5.0F, 60.0F, 3000.0F}) {
    std::mt19937 random(static_cast<unsigned>(gain * 100));
    const test::Network net = network(gain, random);
    // The first sample has both ends of the range.
    Tensor first = inputs_within({1, 6, 6, 2}, 4, random);
    first.values<float>()[0] = 4;
    first.values<float>()[1] = -4;
    const ProveReport report = prove(net.model, sheet, std::vector{first});
    REQUIRE(report.float16);
    const Float16Proof& proof = *report.float16;
    const Model device = float16_network(net.model, OperationSet(net.model.operations.size()), sheet.backend.float16.conversion);
    std::int64_t left = 0;
    for (int repeat = 0; repeat < 40; ++repeat) {
      const Tensor input = repeat == 0 ? first : inputs_within({1, 6, 6, 2}, 4, random);
      const Trace trace = run(device, sheet.backend, std::vector{input}, {.keep_all = true});
      for (const Float16Tensor& tensor : proof.tensors) {
        const auto index = device.find_tensor(tensor.name);
        if (tensor.constant || !index || !trace.tensors[static_cast<std::size_t>(*index)] || !tensor.bound ||
            *tensor.bound > largest_float16)
          continue;
        const Tensor& values = *trace.tensors[static_cast<std::size_t>(*index)];
        if (values.type() != ElementType::float16) continue;
        for (const Float16 value : values.values<Float16>())
          REQUIRE(std::abs(static_cast<double>(static_cast<float>(value))) <= *tensor.bound);
      }
      left += left_float16(device, sheet.backend, input);
    }
    INFO("gain " << gain);
    if (!proof.first_by_bound) REQUIRE(left == 0);
    if (proof.first_on_data) REQUIRE(left > 0);
    REQUIRE(proof.safe() == (!proof.first_by_bound && !proof.first_on_data));
    proven += proof.safe() ? 1 : 0;
    leaving += proof.first_on_data ? 1 : 0;
  }
  CHECK(proven >= 2);
  CHECK(leaving >= 1);
}

TEST_CASE("prove: the first tensor to leave float16, the operations to keep in float32, and the powers of two are named") {
  std::mt19937 random(3);
  test::Network net;
  const auto x = net.real("x", {4});
  const auto two = net.constant<float>("two", {1}, std::vector<float>{2}),
             small = net.constant<float>("small", {1}, std::vector<float>{1e-3F});
  const auto big = net.real("big", {4}), sum = net.real("sum", {4}), scaled = net.real("scaled", {4});
  net.operation(OperationKind::mul, {x, two}, {big});
  net.operation(OperationKind::add_n, {big, big, big}, {sum});
  net.operation(OperationKind::mul, {sum, small}, {scaled});
  net.model.inputs = {x};
  net.model.outputs = {scaled};
  validate(net.model, "test");
  const Tensor input = Tensor::from<float>({4}, std::vector<float>{20000, 1, -20000, 3});
  const SpecSheet sheet = find_backend("ascend310");
  const ProveReport report = prove(net.model, sheet, std::vector{input});
  const Float16Proof& proof = *report.float16;
  REQUIRE_FALSE(report.safe());
  REQUIRE(proof.tensors[*proof.first_on_data].name == "sum");  // 120000
  REQUIRE(proof.tensors[*proof.first_by_bound].name == "sum");
  REQUIRE(proof.keep == std::vector<std::string>{"op1", "op2"});
  REQUIRE(proof.rescale.size() == 1);
  REQUIRE(proof.rescale[0].before == std::vector<std::string>{"op0"});
  REQUIRE(proof.rescale[0].behind == std::vector<std::string>{"op2"});
  REQUIRE(proof.rescale[0].bits >= 1);
  REQUIRE(proof.left_after_rescaling == 0);
  REQUIRE(proof.unscalable.empty());
  REQUIRE(to_text(report).find("'sum'") != std::string::npos);
  REQUIRE_THROWS_AS(prove(net.model, sheet, {}), Error);
  REQUIRE_THROWS_AS(prove(net.model, sheet, std::vector{input}, {.bits = 8}), Error);
}
