// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/advise.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "lastbit/backends/golden.hpp"
#include "lastbit/explain.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "support/catch.hpp"
#include "support/residual_network.hpp"

using namespace lastbit;

namespace {

const Backend golden = float_golden;

Tensor random_int8(const Shape& shape, std::mt19937& random) {
  Tensor tensor(ElementType::int8, shape);
  for (std::int8_t& value : tensor.values<std::int8_t>()) value = static_cast<std::int8_t>(random() % 255 - 127);
  return tensor;
}

ModelTensor int8_tensor(const std::string& name, const Shape& shape, double scale, std::int64_t zero_point) {
  return {name, ElementType::int8, shape, {{scale}, {zero_point}, 0}, {}};
}

/// Convolutions in a row, with a reshape and a residual sum on the way.
Model network(unsigned seed) {
  std::mt19937 random(seed);
  Model model;
  model.name = "network";
  const Shape image{1, 6, 6, 4}, filter{4, 3, 3, 4};
  model.tensors.push_back(int8_tensor("x", image, 0.05, 3));
  std::int32_t at = 0;
  const auto add = [&](OperationKind kind, const std::string& name, std::vector<std::int32_t> inputs, const Shape& shape, double scale,
                       std::int64_t zero_point, Attributes attributes) {
    model.tensors.push_back(int8_tensor(name, shape, scale, zero_point));
    at = static_cast<std::int32_t>(model.tensors.size()) - 1;
    model.operations.push_back({kind, name, std::move(inputs), {at}, std::move(attributes)});
  };
  const auto convolution = [&](const std::string& name) {
    model.tensors.push_back(int8_tensor(name + "/w", filter, 0.0023, 0));
    model.tensors.back().constant = random_int8(filter, random);
    const auto weights = static_cast<std::int32_t>(model.tensors.size()) - 1;
    Conv2dAttributes attributes;
    attributes.padding.mode = PaddingMode::same;
    add(OperationKind::conv2d, name, {at, weights}, image, 0.05, static_cast<std::int64_t>(random() % 9) - 4, attributes);
  };
  convolution("c1");
  const std::int32_t first = at;
  convolution("c2");
  convolution("c3");
  add(OperationKind::add, "sum", {first, at}, image, 0.07, 1, ElementwiseAttributes{});
  add(OperationKind::reshape, "flat", {at}, {1, 144}, 0.07, 1, {});
  const Shape weights{10, 144};
  model.tensors.push_back(int8_tensor("fc/w", weights, 0.004, 0));
  model.tensors.back().constant = random_int8(weights, random);
  add(OperationKind::fully_connected, "fc", {at, static_cast<std::int32_t>(model.tensors.size()) - 1}, {1, 10}, 0.2, 0,
      FullyConnectedAttributes{});
  model.inputs = {0};
  model.outputs = {at};
  validate(model, "test");
  return model;
}

std::vector<std::vector<Tensor>> samples_of(int count) {
  std::mt19937 random(99);
  std::vector<std::vector<Tensor>> samples;
  for (int i = 0; i < count; ++i) samples.push_back({random_int8({1, 6, 6, 4}, random)});
  return samples;
}

Tensor batch_of(const std::vector<std::vector<Tensor>>& samples) {
  Tensor batch(ElementType::int8, {static_cast<std::int64_t>(samples.size()), 1, 6, 6, 4});
  auto* out = batch.values<std::int8_t>().data();
  for (const auto& sample : samples) out = std::copy_n(sample[0].values<std::int8_t>().data(), 144, out);
  return batch;
}

Tensor output_of(const Model& model, const Trace& trace) { return *trace.tensors[static_cast<std::size_t>(model.outputs[0])]; }

OperationSet set_of(const Model& model, std::initializer_list<std::size_t> operations) {
  OperationSet set(model.operations.size());
  for (const std::size_t operation : operations) set[operation] = true;
  return set;
}

const Backend& tflite() {
  static const SpecSheet sheet = find_backend("tflite_double");
  return sheet.backend;
}
const Backend& vipnano() {
  static const SpecSheet sheet = find_backend("vipnano_v8");
  return sheet.backend;
}
/// Rounds down where the other rounds to the nearest: every layer differs.
const Backend& floored() {
  static const Backend backend = [] {
    Backend made = vipnano();
    for (const char* rule :
         {"conv.i8.output.chain.2.rounding", "fully_connected.i8.output.chain.2.rounding", "add.i8.output.chain.2.rounding"})
      set_rule(made, rule, "floor");
    return made;
  }();
  return backend;
}

}  // namespace

TEST_CASE("run_mixed: all on a is a's run, none is b's") {
  const Model model = network(1);
  const std::vector<Tensor> codes{batch_of(samples_of(3))};
  const std::vector<Tensor> reals{dequantized(codes[0], model.tensor(0).quantization)};
  struct BackendPair {
    const Backend &a, &b;
  };
  for (const BackendPair& pair : {BackendPair{tflite(), vipnano()}, BackendPair{golden, vipnano()}, BackendPair{vipnano(), golden},
                                  BackendPair{floored(), tflite()}}) {
    for (const auto* inputs : {&codes, &reals}) {
      const OperationSet all(model.operations.size(), true), none(model.operations.size(), false);
      REQUIRE(output_of(model, run_mixed(model, pair.a, pair.b, all, *inputs)) == output_of(model, run(model, pair.a, *inputs)));
      REQUIRE(output_of(model, run_mixed(model, pair.a, pair.b, none, *inputs)) == output_of(model, run(model, pair.b, *inputs)));
    }
  }
}

TEST_CASE("run_mixed: every choice is what the two emulators give operation by operation") {
  const Model model = network(2);
  const std::vector<std::vector<Tensor>> samples = samples_of(2);
  const Emulator a(model, tflite()), b(model, floored());
  MixedRun mixed(model, tflite(), floored());
  MixedRun forgetful(model, tflite(), floored(), 0);  // keeps nothing from one run to the next
  for (unsigned choice = 0; choice < 64; ++choice) {
    OperationSet on_a(model.operations.size());
    for (std::size_t i = 0; i < on_a.size(); ++i) on_a[i] = (choice >> i & 1U) != 0;
    for (const auto& sample : samples) {
      std::vector<Tensor> tensors(model.tensors.size());
      tensors[0] = sample[0];
      for (std::size_t i = 0; i < on_a.size(); ++i) {
        const Operation& operation = model.operations[i];
        std::vector<const Tensor*> inputs;
        for (const auto index : operation.inputs)
          inputs.push_back(model.tensor(index).constant ? nullptr : &tensors[static_cast<std::size_t>(index)]);
        tensors[static_cast<std::size_t>(operation.outputs[0])] = (on_a[i] ? a : b).run_operation(i, inputs)[0];
      }
      const Tensor& expected = tensors[static_cast<std::size_t>(model.outputs[0])];
      REQUIRE(mixed.outputs(sample, on_a)[0] == expected);
      REQUIRE(forgetful.outputs(sample, on_a)[0] == expected);
    }
  }
  REQUIRE(mixed.computed() < forgetful.computed() / 2);
}

TEST_CASE("run_mixed: between a float layer and a device layer stand dequantize and the device's own rounding") {
  const Model model = network(3);
  const std::vector<Tensor> sample = samples_of(1)[0];
  const Trace device = run(model, vipnano(), sample, {.keep_all = true});
  const Model layer = extract_operation(model, 1);
  const std::vector<Tensor> in{*device.tensors[static_cast<std::size_t>(model.operations[1].inputs[0])]};
  const Tensor real = output_of(layer, run(layer, golden, in));
  Model rest = model;  // the network from there on, fed with floats that the device quantises
  rest.operations.erase(rest.operations.begin() + 1);
  rest.inputs = {model.inputs[0], model.operations[1].outputs[0]};
  const Tensor expected = output_of(rest, run(rest, vipnano(), std::vector{sample[0], real}));
  REQUIRE(output_of(model, run_mixed(model, golden, vipnano(), set_of(model, {1}), sample)) == expected);
}

TEST_CASE("run_mixed: a float32 network on a float16 device is float16_network() with the same set kept") {
  Model model = dequantized(network(4));
  const SpecSheet ascend = find_backend("ascend310");
  const std::vector<Tensor> sample{dequantized(samples_of(1)[0][0], network(4).tensor(0).quantization)};
  const OperationSet missing = without_float16(model, ascend.backend);
  for (unsigned choice = 0; choice < 64; ++choice) {
    OperationSet kept = missing;
    for (std::size_t i = 0; i < kept.size(); ++i) kept[i] = kept[i] || (choice >> i & 1U) != 0;
    const Model device = float16_network(model, kept, ascend.backend.float16.conversion);
    const Tensor expected = output_of(device, run(device, ascend.backend, sample));
    const Tensor found = output_of(model, run_mixed(model, golden, ascend.backend, kept, sample));
    REQUIRE(found == expected);
  }
}

TEST_CASE("run_mixed: what b lacks runs on a, and what a lacks is an error") {
  const Model model = network(5);
  Backend lacking = vipnano();
  lacking.add = {};
  MixedRun mixed(model, tflite(), lacking);
  REQUIRE(mixed.only_on_a() == set_of(model, {3}));
  REQUIRE(mixed.missing().size() == 1);
  const std::vector<Tensor> sample = samples_of(1)[0];
  REQUIRE(mixed.outputs(sample, set_of(model, {})) == MixedRun(model, tflite(), vipnano()).outputs(sample, set_of(model, {3})));
  REQUIRE_THROWS_AS(MixedRun(model, lacking, tflite()), Error);
  REQUIRE_THROWS_AS(mixed.outputs(std::vector{Tensor(ElementType::int8, {1, 6, 6, 3})}, set_of(model, {})), Error);
  REQUIRE_THROWS_AS(mixed.outputs(std::vector{Tensor(ElementType::int16, {1, 6, 6, 4})}, set_of(model, {})), Error);
  REQUIRE_THROWS_AS(mixed.outputs(sample, OperationSet(2)), Error);
}

TEST_CASE("advice: a layer that stays on a rests on none of the device's assumptions") {
  test::ResidualNetwork residual(1);
  residual.model.tensors[9].quantization.scales = {1.0 / 128};  // the softmax kernel's is 1/256
  SpecSheet device = find_backend("tflite_double");
  device.evidence.clear();
  const auto is_of = [](const char* rules) { return [rules](const Assumption& assumption) { return assumption.rule.starts_with(rules); }; };
  REQUIRE(std::ranges::any_of(assumptions_of(residual.model, device), is_of("softmax")));
  Tensor sample = residual.inputs[0];
  sample.reshape({1, 8, 8, 4});
  const AdviseReport report = advise(residual.model, find_backend("float"), device, std::vector<std::vector<Tensor>>{{sample}});
  REQUIRE(report.missing.size() == 1);
  CHECK(std::ranges::none_of(report.assumptions, is_of("softmax")));
  CHECK(std::ranges::any_of(report.assumptions, is_of("conv")));
}

TEST_CASE("advice: pairs that the device merges are taken as the file states them, and it says so") {
  test::ResidualNetwork residual(1);
  Tensor sample = residual.inputs[0];
  sample.reshape({1, 8, 8, 4});
  const std::vector<std::vector<Tensor>> samples{{sample}};
  const SpecSheet device = find_backend("onnxruntime"), base = find_backend("onnxruntime_unfused");
  const AdviseReport stated = advise(residual.model, base, device, samples);
  ModelTensor& held = residual.model.tensors[static_cast<std::size_t>(residual.model.operations[0].outputs[0])];
  held.merged = held.quantization;
  held.merged->scales[0] *= 4;
  const AdviseReport merged = advise(residual.model, base, device, samples);
  CHECK(merged.search.greedy[0].agreement.error_energy == stated.search.greedy[0].agreement.error_energy);
  CHECK(std::ranges::any_of(merged.assumptions, [](const Assumption& assumption) { return assumption.rule == "fusion"; }));
  CHECK(std::ranges::none_of(stated.assumptions, [](const Assumption& assumption) { return assumption.rule == "fusion"; }));
}

TEST_CASE("movements follow what they move") {
  const Model model = network(6);  // c1 c2 c3 sum flat fc
  REQUIRE(with_movements(model, set_of(model, {3})) == set_of(model, {3, 4}));
  REQUIRE(with_movements(model, set_of(model, {4, 5})) == set_of(model, {5}));
}

TEST_CASE("fallbacks: the best set is found where it is known") {
  // Only c1 and sum differ between the two: the device's add and first convolution are changed, the others are the same.
  Model model = network(7);
  model.operations[0].kind = OperationKind::conv2d;
  Backend device = tflite();
  set_rule(device, "add.i8.output.chain.2.rounding", "floor");
  set_rule(device, "fully_connected.i8.output.chain.2.rounding", "floor");
  const std::vector<std::vector<Tensor>> samples = samples_of(4);
  const FallbackSearch found = search_fallbacks(model, tflite(), device, samples, Objective::differing);
  REQUIRE(found.by_count.back().agreement.differing == 0);
  REQUIRE(found.by_count.back().operations == std::vector<std::size_t>{3, 5});
  REQUIRE(found.greedy.size() == 3);
  REQUIRE(found.alone.size() == 5);  // the reshape is no layer
  REQUIRE(found.candidates == std::vector<std::size_t>{0, 1, 2, 3, 5});
  REQUIRE(found.by_macs.back().agreement.differing == 0);
  REQUIRE(found.by_macs.back().macs == multiply_accumulates(model, model.operations[5]));
}

TEST_CASE("fallbacks: of every size the exact choice is the best of all subsets, and never worse than the greedy one") {
  for (const unsigned seed : {11U, 12U, 13U, 14U}) {
    const Model model = network(seed);
    const std::vector<std::vector<Tensor>> samples = samples_of(3);
    for (const Objective objective : {Objective::differing, Objective::cosine, Objective::distance, Objective::relative_error}) {
      const FallbackSearch found = search_fallbacks(model, tflite(), floored(), samples, objective);
      REQUIRE(found.candidates.size() == 5);
      std::vector<double> best(6, std::numeric_limits<double>::infinity());
      const Emulator reference(model, tflite());
      for (unsigned mask = 0; mask < 32; ++mask) {
        OperationSet on_a(model.operations.size());
        for (std::size_t i = 0; i < 5; ++i) on_a[found.candidates[i]] = (mask >> i & 1U) != 0;
        const std::vector<Tensor> inputs{batch_of(samples)};
        const Trace mixed = run_mixed(model, tflite(), floored(), with_movements(model, on_a), inputs), wanted = reference.run(inputs);
        const Tensor x = output_of(model, wanted), y = output_of(model, mixed);
        double cost = 0, error = 0, energy = 0;
        for (std::int64_t s = 0; s < 3; ++s) {
          double xx = 0, yy = 0, xy = 0;
          for (std::int64_t i = s * 10; i < s * 10 + 10; ++i) {
            const auto p = static_cast<double>(x.integer_at(i)), q = static_cast<double>(y.integer_at(i));
            if (objective == Objective::differing) cost += p != q ? 1 / 30.0 : 0;
            xx += p * p, yy += q * q, xy += p * q;
            error += (p - q) * (p - q), energy += p * p;
          }
          const double cosine = xx == yy && xx == xy ? 1 : xy / std::sqrt(xx * yy);
          if (objective == Objective::cosine) cost += (1 - cosine) / 3;
          if (objective == Objective::distance) cost += std::sqrt(2 - 2 * cosine) / 3;
        }
        if (objective == Objective::relative_error) cost = std::sqrt(error / energy);
        const auto size = static_cast<std::size_t>(std::popcount(mask));
        best[size] = std::min(best[size], cost);
      }
      for (std::size_t size = 0; size <= 5; ++size) {
        const double exact = cost_of(found.exact[size].agreement, objective);
        REQUIRE(exact == Approx(best[size]).margin(1e-6));
        if (size < found.greedy.size()) REQUIRE(exact <= cost_of(found.greedy[size].agreement, objective));
        REQUIRE(found.exact[size].operations.size() == size);
      }
      for (std::size_t i = 1; i < found.by_count.size(); ++i) {
        REQUIRE(found.by_count[i].operations.size() > found.by_count[i - 1].operations.size());
        REQUIRE(cost_of(found.by_count[i].agreement, objective) <= cost_of(found.by_count[i - 1].agreement, objective));
      }
      for (std::size_t i = 1; i < found.by_macs.size(); ++i) REQUIRE(found.by_macs[i].macs > found.by_macs[i - 1].macs);
    }
  }
}

TEST_CASE("fallbacks: where the effort does not reach, fewer samples and candidates decide, and it is said") {
  const Model model = network(15);
  const std::vector<std::vector<Tensor>> samples = samples_of(6);
  AdviseOptions options;
  options.effort = 1e-4;
  const FallbackSearch found = search_fallbacks(model, tflite(), floored(), samples, Objective::differing, options);
  REQUIRE(found.greedy_samples == 1);
  REQUIRE(found.exact_samples == 1);
  REQUIRE(found.candidates.size() < 5);
  REQUIRE(found.by_count.front().agreement.samples == 6);
}

TEST_CASE("agreement: intervals") {
  // Wilson's interval by its definition: the shares p whose normal deviate of the observed share is 1.96.
  for (const auto& [hits, trials] : {std::pair{1, 10}, {0, 7}, {5, 5}, {30, 100}}) {
    const Interval interval = wilson_interval(hits, trials);
    const double share = static_cast<double>(hits) / trials;
    for (const double p : {interval.low, interval.high}) {
      if (p == share) continue;
      REQUIRE(std::abs(share - p) / std::sqrt(p * (1 - p) / trials) == Approx(1.959963984540054).epsilon(1e-9));
    }
    REQUIRE(interval.low <= share);
    REQUIRE(interval.high >= share);
  }
  REQUIRE(wilson_interval(0, 7).low == 0);
  REQUIRE(wilson_interval(5, 5).high == 1);
  REQUIRE_FALSE(bootstrap_interval(std::vector<double>{1}).has_value());
  const auto constant = bootstrap_interval(std::vector<double>(5, 2.0));
  REQUIRE((constant->low == 2 && constant->high == 2));
  std::vector<double> values;
  for (int i = 0; i < 400; ++i) values.push_back(i % 2);
  const auto interval = bootstrap_interval(values);  // the mean of 400 coins: 0.5 ± 1.96 * 0.025
  REQUIRE(interval->low == Approx(0.451).margin(0.008));
  REQUIRE(interval->high == Approx(0.549).margin(0.008));
  REQUIRE(bootstrap_interval(values)->low == interval->low);
}

TEST_CASE("multiply_accumulates: by the size of the sums") {
  const Model model = network(16);
  REQUIRE(multiply_accumulates(model, model.operations[0]) == 6 * 6 * 4 * 3 * 3 * 4);
  REQUIRE(multiply_accumulates(model, model.operations[3]) == 0);
  REQUIRE(multiply_accumulates(model, model.operations[5]) == 1440);
  for (const bool transpose_a : {false, true}) {
    Model product;
    product.tensors = {{"a", ElementType::int8, transpose_a ? Shape{2, 7, 3} : Shape{2, 3, 7}, {}, {}},
                       {"b", ElementType::int8, {2, 7, 5}, {}, {}},
                       {"y", ElementType::int8, {2, 3, 5}, {}, {}}};
    product.operations = {{OperationKind::matmul, "product", {0, 1}, {2}, MatmulAttributes{.transpose_a = transpose_a, .bounds = {}}}};
    CHECK(multiply_accumulates(product, product.operations[0]) == 2 * 3 * 5 * 7);
  }
}
