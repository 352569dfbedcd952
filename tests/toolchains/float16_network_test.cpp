// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// From a float network to float16: casts, the keep list, the smallest set; and that every float16 rule of a backend decides something.
#include "lastbit/float16_network.hpp"

#include <cmath>
#include <set>

#include "lastbit/error.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace lastbit {
namespace {

const Shape row{1, 4};

std::int32_t tensor(Model& model, const std::string& name, Constant constant = {}) {
  model.tensors.push_back({name, ElementType::float32, row, {}, std::move(constant)});
  return static_cast<std::int32_t>(model.tensors.size()) - 1;
}

Tensor real(const std::vector<float>& values) { return Tensor::from<float>(row, std::span(values)); }

void operation(Model& model, OperationKind kind, const std::string& name, const std::vector<std::int32_t>& inputs, std::int32_t output) {
  model.operations.push_back({kind, name, inputs, {output}, default_attributes(kind)});
}

/// double = x + x, product = double * 300, mean of the squares: product, then back to small numbers.
Model network() {
  Model model;
  model.name = "small";
  const auto x = tensor(model, "x"), twice = tensor(model, "twice"), factor = tensor(model, "factor", real({300, 300, 300, 300}));
  const auto large = tensor(model, "large"), share = tensor(model, "share", real({0.001F, 0.001F, 0.001F, 0.001F}));
  const auto small = tensor(model, "small"), gate = tensor(model, "gate");
  operation(model, OperationKind::add, "twice", {x, x}, twice);
  operation(model, OperationKind::mul, "large", {twice, factor}, large);
  operation(model, OperationKind::mul, "small", {large, share}, small);
  operation(model, OperationKind::logistic, "gate", {small}, gate);
  model.inputs = {x};
  model.outputs = {gate};
  validate(model, "test");
  return model;
}

QuantizationResult converted(const Model& model, const std::vector<std::vector<Tensor>>& samples, const std::string& keep) {
  return quantize(model, find_backend("ascend310"), samples, {{"keep", keep}});
}

std::set<std::string> kept_in(const Model& model) {
  std::set<std::string> names;
  for (const Operation& at : model.operations) {
    if (at.kind != OperationKind::cast && model.tensor(at.outputs[0]).type == ElementType::float32) names.insert(at.name);
  }
  return names;
}

ElementType type_of(const Model& model, const std::string& name) { return model.tensor(model.find_tensor(name).value()).type; }

bool has_note(const QuantizationResult& result, const std::string& text) {
  for (const std::string& note : result.report.notes) {
    if (note.find(text) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("without a keep list every operation runs in float16, behind a cast of the input") {
  const auto result = converted(network(), {{real({1, 2, 3, 4})}}, "none");
  const Model& model = result.model;
  CHECK(kept_in(model).empty());
  CHECK(type_of(model, "x") == ElementType::float32);
  CHECK(type_of(model, "x (float16)") == ElementType::float16);
  for (const char* name : {"twice", "factor", "large", "share", "small", "gate"}) CHECK(type_of(model, name) == ElementType::float16);
  REQUIRE(model.operations.size() == 5);
  CHECK(model.operations[0].kind == OperationKind::cast);
  CHECK(model.operations[1].inputs == std::vector<std::int32_t>(2, *model.find_tensor("x (float16)")));
  CHECK(has_note(result, "headroom of 'large' in float16: +4.77 bits (largest magnitude 2400)"));
  CHECK(has_note(result, "every operation runs in float16"));
}

TEST_CASE("a constant that operations of both types read stays float32, and the float16 one reads a cast") {
  Model model;
  const auto x = tensor(model, "x"), factor = tensor(model, "factor", real({2, 3, 4, 5}));
  const auto y = tensor(model, "y"), z = tensor(model, "z");
  operation(model, OperationKind::mul, "y", {x, factor}, y);
  operation(model, OperationKind::mul, "z", {y, factor}, z);
  model.inputs = {x};
  model.outputs = {z};
  const Model mixed = float16_network(model, {true, false}, ieee_float16);
  validate(mixed, "test");
  CHECK(type_of(mixed, "factor") == ElementType::float32);
  CHECK(type_of(mixed, "factor (float16)") == ElementType::float16);
  const Tensor input = real({1, 1, 1, 1});
  const Trace trace = run(mixed, find_backend("ascend310").backend, {&input, 1});
  const auto result = trace.tensors[static_cast<std::size_t>(mixed.outputs[0])]->values<Float16>();
  for (std::size_t i = 0; i < 4; ++i) CHECK(static_cast<float>(result[i]) == static_cast<float>((i + 2) * (i + 2)));
}

TEST_CASE("named operations stay in float32 between casts, tensors keep their names") {
  const Model model = converted(network(), {{real({1, 2, 3, 4})}}, "large").model;
  CHECK(kept_in(model) == std::set<std::string>{"large"});
  CHECK(type_of(model, "factor") == ElementType::float32);
  CHECK(type_of(model, "twice (float32)") == ElementType::float32);
  CHECK(type_of(model, "large (float16)") == ElementType::float16);
  CHECK(type_of(model, "small") == ElementType::float16);
  const auto refusal = test::refusal_of([] { static_cast<void>(converted(network(), {{real({1, 2, 3, 4})}}, "large,none such")); });
  REQUIRE(refusal);
  CHECK(refusal->says("no operation is named 'none such'"));
}

TEST_CASE("the smallest set: what reads or writes a value beyond float16, nothing else") {
  const std::vector<std::vector<Tensor>> samples{{real({1, 2, 3, 4})}, {real({1, 2, 3, 120})}};  // 120 * 2 * 300 = 72000
  const Model model = network();
  const auto result = converted(model, samples, "auto");
  CHECK(kept_in(result.model) == std::set<std::string>{"large", "small"});
  CHECK(has_note(result, "the first values to leave float16: tensor 'large' of operation 'large'"));
  CHECK(has_note(result, "headroom of 'large' in float16: -0.14 bits (largest magnitude 72000)"));
  const auto left = [&](const Model& device) {
    std::int64_t count = 0;
    for (const auto& sample : samples) {
      for (const Events& events : run(device, find_backend("ascend310").backend, sample, {.count_events = true}).events)
        count += events.saturated_outputs;
    }
    return count;
  };
  CHECK(left(result.model) == 0);
  for (const char* one : {"large", "small", "none"}) CHECK(left(converted(model, samples, one).model) > 0);
  CHECK(kept_in(converted(model, {samples[0]}, "auto").model).empty());
}

TEST_CASE("a partial sum beyond float16 keeps its operation, though no tensor leaves") {
  Model model;
  const auto a = tensor(model, "a"), b = tensor(model, "b"), c = tensor(model, "c"), sum = tensor(model, "sum"), end = tensor(model, "end");
  operation(model, OperationKind::add_n, "sum", {a, b, c}, sum);
  operation(model, OperationKind::relu, "end", {sum}, end);
  model.inputs = {a, b, c};
  model.outputs = {end};
  const Tensor plus = real({60000, 1, 2, 3}), minus = real({-60000, 1, 2, 3});
  CHECK(kept_in(converted(model, {{plus, plus, minus}}, "auto").model) == std::set<std::string>{"sum"});
  CHECK(kept_in(converted(model, {{plus, minus, plus}}, "auto").model).empty());
}

TEST_CASE("headroom is the logarithm of how far 65504 is away, and 65520 leaves") {
  CHECK(float16_headroom(65504) == 0);
  CHECK(float16_headroom(32752) == 1);
  CHECK(float16_headroom(131008) == -1);
  CHECK(std::isinf(float16_headroom(0)));
  const auto leaving = [](float value) {
    Model model;
    const auto x = tensor(model, "x"), y = tensor(model, "y");
    operation(model, OperationKind::relu, "y", {x}, y);
    model.inputs = {x};
    model.outputs = {y};
    const std::vector<std::vector<Tensor>> samples{{real({value, 0, 0, 1})}};
    return first_leaving_float16(model, calibrate(model, samples, 16)).has_value();
  };
  CHECK_FALSE(leaving(65519.996F));
  CHECK(leaving(65520));
  CHECK(leaving(-65520));
}

}  // namespace lastbit
