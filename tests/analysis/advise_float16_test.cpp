// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Constants rescaled by powers of two so that a network stays within float16.
#include <algorithm>
#include <cmath>

#include "lastbit/advise.hpp"
#include "lastbit/backends/golden.hpp"
#include "lastbit/quantizer.hpp"
#include "lastbit/registry.hpp"
#include "support/catch.hpp"

using namespace lastbit;

namespace {

const Shape pixel{1, 1, 1, 4};

struct Builder {
  Model model;

  std::int32_t tensor(const std::string& name, const Shape& shape, Constant constant = {}) {
    model.tensors.push_back({name, ElementType::float32, shape, {}, std::move(constant)});
    return static_cast<std::int32_t>(model.tensors.size()) - 1;
  }
  std::int32_t constant(const std::string& name, const Shape& shape, float value) {
    const std::vector<float> values(static_cast<std::size_t>(shape.element_count()), value);
    return tensor(name, shape, Tensor::from<float>(shape, values));
  }
  std::int32_t operation(OperationKind kind, const std::string& name, std::vector<std::int32_t> inputs) {
    const std::int32_t output = tensor(name, pixel);
    model.operations.push_back({kind, name, std::move(inputs), {output}, default_attributes(kind)});
    return output;
  }
  std::int32_t convolution(const std::string& name, std::int32_t input, float weight, float bias) {
    return operation(OperationKind::conv2d, name, {input, constant(name + "/w", {4, 1, 1, 4}, weight), constant(name + "/b", {4}, bias)});
  }
};

/// up makes values of about 10^5, relu and a sum pass them on, down makes them small again.
Model network(OperationKind between) {
  Builder build;
  const std::int32_t x = build.tensor("x", pixel);
  const std::int32_t up = build.convolution("up", x, 20000, 3);
  const std::int32_t middle = build.operation(between, "middle", {up});
  const std::int32_t sum = build.operation(OperationKind::add, "sum", {middle, middle});
  const std::int32_t down = build.convolution("down", sum, 1e-5F, 0.5F);
  const std::int32_t end = build.operation(OperationKind::logistic, "end", {down});
  build.model.name = "up and down";
  build.model.inputs = {x};
  build.model.outputs = {end};
  validate(build.model, "test");
  return build.model;
}

std::vector<std::vector<Tensor>> samples() {
  std::vector<std::vector<Tensor>> all;
  for (const float scale : {0.25F, 1.0F, -0.5F}) {
    const std::vector<float> values{scale, 2 * scale, -scale / 2, scale};
    all.push_back({Tensor::from<float>(pixel, values)});
  }
  return all;
}

std::vector<float> run_float(const Model& model, const std::vector<Tensor>& sample) {
  const Trace trace = run(model, float_golden, sample);
  const auto values = trace.tensors[static_cast<std::size_t>(model.outputs[0])]->values<float>();
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE("rescaling: between linear operations, and the float network stays what it was") {
  const Model model = network(OperationKind::relu);
  const Calibration calibration = calibrate(model, samples(), 64);
  const Rescaling found = find_rescaling(model, calibration);
  REQUIRE(found.refused.empty());
  REQUIRE(found.pairs.size() == 1);
  const RescalingPair& pair = found.pairs[0];
  REQUIRE(pair.producers == std::vector<std::size_t>{0});
  REQUIRE(pair.consumers == std::vector<std::size_t>{3});
  REQUIRE(pair.tensors.size() == 3);  // up, middle, sum
  const double largest = calibration.tensors[static_cast<std::size_t>(model.find_tensor("sum").value())].largest_magnitude();
  REQUIRE(std::ldexp(largest, -pair.exponent) <= largest_float16 / 2);
  REQUIRE(std::ldexp(largest, 1 - pair.exponent) > largest_float16 / 2);
  const Model changed = rescaled(model, found);
  for (const auto& sample : samples()) REQUIRE(run_float(changed, sample) == run_float(model, sample));
  const Calibration after = calibrate(changed, samples(), 64);
  for (const TensorStatistics& statistics : after.tensors) REQUIRE(statistics.largest_magnitude() < first_beyond_float16);
}

TEST_CASE("rescaling: not through an operation that is not linear") {
  const Model model = network(OperationKind::hard_swish);
  const Rescaling found = find_rescaling(model, calibrate(model, samples(), 64));
  REQUIRE(found.pairs.empty());
  REQUIRE_FALSE(found.refused.empty());
  REQUIRE(found.refused[0].why.find("hard_swish 'middle'") != std::string::npos);
}

TEST_CASE("rescaling: an output of the model keeps its scale") {
  Model model = network(OperationKind::relu);
  model.outputs.push_back(model.find_tensor("sum").value());
  const Rescaling found = find_rescaling(model, calibrate(model, samples(), 64));
  REQUIRE(found.pairs.empty());
  REQUIRE(found.refused[0].why.find("an output of the model") != std::string::npos);
}

TEST_CASE("advice for float16: rescaled constants keep every operation in float16, the other way is float32") {
  const Model model = network(OperationKind::relu);
  for (const char* name : {"ascend310", "ascend910a", "ascend910b"}) {
    INFO(name);
    const AdviseReport report = advise(model, find_backend("float"), find_backend(name), samples());
    REQUIRE(report.float16);
    REQUIRE(report.objective == Objective::relative_error);
    REQUIRE(report.halves.has_value());
    const Float16Advice& halves = *report.halves;
    REQUIRE(halves.alone.left > 0);
    REQUIRE(halves.kept.left == 0);
    REQUIRE_FALSE(halves.kept.kept.empty());
    REQUIRE(halves.with_rescaling.left == 0);
    REQUIRE(halves.with_rescaling.kept.empty());
    REQUIRE(halves.with_rescaling.agreement.relative_error() < 0.01);
    REQUIRE(halves.alone.agreement.relative_error() > halves.with_rescaling.agreement.relative_error());
    REQUIRE_FALSE(report.scales.has_value());
  }
  REQUIRE_THROWS_AS(advise(model, find_backend("tflite_double"), find_backend("ascend310"), samples()), Error);
}
