// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a model remembers from one sample to the next: batches, threads, traces, files; and the golden path of what remembers.
#include <cmath>
#include <random>

#include "lastbit/backends/golden.hpp"
#include "lastbit/backends/tflite.hpp"
#include "lastbit/compare.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/io/json_model.hpp"
#include "lastbit/registry.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/scratch.hpp"

using namespace lastbit;
using namespace lastbit::test;

namespace {

Model seed_model(const std::string& name) {
  return parse_json_model(file_text(seed_directory("json_model_fuzz") / (name + ".json")), "/nonexistent", name);
}

std::int32_t index_of(const Model& model, const std::string& name) { return model.find_tensor(name).value(); }
const Tensor& traced(const Model& model, const Trace& trace, const std::string& name) {
  return *trace.tensors[static_cast<std::size_t>(index_of(model, name))];
}

/// A sequence of inputs for a model with one int8 input.
Tensor sequence(const Model& model, std::int64_t samples) {
  const Shape& shape = model.tensor(model.inputs[0]).shape;
  std::vector<std::int64_t> sizes{samples};
  sizes.insert(sizes.end(), shape.sizes().begin(), shape.sizes().end());
  Tensor inputs(ElementType::int8, Shape(std::move(sizes)));
  std::mt19937 random(1);
  for (auto& value : inputs.values<std::int8_t>()) value = static_cast<std::int8_t>(random());
  return inputs;
}

Tensor sample_of(const Tensor& batch, const Shape& shape, std::int64_t sample) {
  Tensor one(batch.type(), shape);
  const auto bytes = one.bytes();
  const auto from = batch.bytes().subspan(static_cast<std::size_t>(sample) * bytes.size(), bytes.size());
  std::copy(from.begin(), from.end(), bytes.begin());
  return one;
}

/// The same network with its states as inputs and outputs, which the caller carries.
Model with_open_states(Model model) {
  for (const State& state : model.states) {
    model.inputs.push_back(state.before);
    model.outputs.push_back(state.after);
  }
  model.states.clear();
  validate(model, "open");
  return model;
}

}  // namespace

TEST_CASE("a batch is a sequence of calls: what one leaves behind, the next begins with") {
  for (const char* name : {"svdf", "lstm"}) {
    const Model model = seed_model(name), open = with_open_states(model);
    const Tensor inputs = sequence(model, 6);
    const Trace batch = run(model, tflite_double, {&inputs, 1}, {.keep_all = true});
    std::vector<Tensor> call{inputs};
    for (const State& state : model.states)
      call.push_back(sample_of(*batch.tensors[static_cast<std::size_t>(state.before)], model.tensor(state.before).shape, 0));
    for (std::int64_t sample = 0; sample < 6; ++sample) {
      call[0] = sample_of(inputs, model.tensor(model.inputs[0]).shape, sample);
      const Trace one = run(open, tflite_double, call);
      for (const auto output : open.outputs) {
        const Shape& shape = model.tensor(output).shape;
        const auto place = static_cast<std::size_t>(output);
        CHECK(sample_of(*batch.tensors.at(place), shape, sample) == *one.tensors[place]);
      }
      for (std::size_t i = 0; i < model.states.size(); ++i) {
        const State& state = model.states[i];
        const Tensor& before = *batch.tensors[static_cast<std::size_t>(state.before)];
        CHECK(sample_of(before, model.tensor(state.before).shape, sample) == call[i + 1]);
        call[i + 1] = *one.tensors[static_cast<std::size_t>(state.after)];
      }
    }
  }
}

TEST_CASE("states begin at real 0: the zero point") {
  for (const char* name : {"svdf", "lstm"}) {
    const Model model = seed_model(name);
    const Tensor inputs = sequence(model, 1);
    const Trace trace = run(model, tflite_double, {&inputs, 1}, {.keep_all = true});
    for (const State& state : model.states) {
      const Tensor& before = *trace.tensors[static_cast<std::size_t>(state.before)];
      for (std::int64_t i = 0; i < before.element_count(); ++i)
        CHECK(before.integer_at(i) == model.tensor(state.before).quantization.zero_point());
    }
  }
}

TEST_CASE("threads change no bit of a sequence, and resetting makes its samples independent") {
  for (const char* name : {"svdf", "lstm"}) {
    const Model model = seed_model(name);
    const Tensor inputs = sequence(model, 5);
    const std::string output = model.tensor(model.outputs[0]).name;
    const Trace carried = run(model, tflite_single, {&inputs, 1}, {.threads = 1});
    const Trace reset = run(model, tflite_single, {&inputs, 1}, {.threads = 1, .states = StatesBetweenSamples::reset});
    for (const StatesBetweenSamples states : {StatesBetweenSamples::carried, StatesBetweenSamples::reset}) {
      const Trace threaded = run(model, tflite_single, {&inputs, 1}, {.threads = 4, .states = states});
      const Trace& alone = states == StatesBetweenSamples::carried ? carried : reset;
      CHECK(traced(model, threaded, output) == traced(model, alone, output));
    }
    CHECK(traced(model, carried, output) != traced(model, reset, output));
    for (std::int64_t sample = 0; sample < 5; ++sample) {
      const Tensor one = sample_of(inputs, model.tensor(model.inputs[0]).shape, sample);
      const Trace single = run(model, tflite_single, {&one, 1});
      CHECK(sample_of(traced(model, reset, output), model.tensor(model.outputs[0]).shape, sample) == traced(model, single, output));
    }
  }
}

TEST_CASE("a comparison feeds an operation that remembers with the other side's states") {
  for (const char* name : {"svdf", "lstm"}) {
    const Model model = seed_model(name);
    const Tensor inputs = sequence(model, 5);
    const auto sheet = [](const char* backend) { return find_backend(backend); };
    const CompareReport same = compare_backends(model, sheet("tflite_double"), sheet("tflite_double"), {&inputs, 1});
    CHECK(same.equal());
    std::size_t fed = 0;
    for (const LayerDifference& layer : same.layers) {
      if (!layer.same_input) continue;
      CHECK(layer.same_input->differing == 0);
      ++fed;
    }
    CHECK(fed == model.operations[0].outputs.size());
  }
}

TEST_CASE("states survive a model file") {
  const Scratch scratch;
  for (const char* name : {"svdf", "lstm"}) {
    const Model model = seed_model(name);
    const auto file = scratch.path() / (std::string(name) + ".json");
    write_json_model(file, model);
    const Model read = read_json_model(file);
    REQUIRE(read.states.size() == model.states.size());
    for (std::size_t i = 0; i < read.states.size(); ++i) {
      CHECK(read.states[i].before == model.states[i].before);
      CHECK(read.states[i].after == model.states[i].after);
    }
    const Tensor inputs = sequence(model, 3);
    CHECK(*run(read, tflite_double, {&inputs, 1}).tensors[static_cast<std::size_t>(read.outputs[0])] ==
          *run(model, tflite_double, {&inputs, 1}).tensors[static_cast<std::size_t>(model.outputs[0])]);
  }
}

TEST_CASE("states that nothing computes, or that two tensors share, are refused") {
  const auto refused = [](const std::string& reason, auto change) {
    Model model = seed_model("lstm");
    change(model);
    const auto refusal = refusal_of([&] { validate(model, "changed"); });
    REQUIRE(refusal);
    INFO(refusal->message);
    CHECK(refusal->is_one_line());
    CHECK(refusal->says(reason));
  };
  refused("already given", [](Model& model) { model.states[0].before = model.states[1].before; });
  refused("two states become the same", [](Model& model) { model.states[1].after = model.states[0].after; });
  refused("no operation computes", [](Model& model) { model.states[0].after = model.states[0].before; });
  refused("no operation computes", [](Model& model) { model.states[0].after = model.inputs[0]; });
  refused("a constant", [](Model& model) { model.states[0].before = index_of(model, "input_bias"); });
  refused("no operation computes", [](Model& model) { model.states[0].after = index_of(model, "input_bias"); });
  refused("tensor 99 of", [](Model& model) { model.states[0].after = 99; });
  refused("tensor -1 of", [](Model& model) { model.states[0].before = -1; });
  refused("differ between", [](Model& model) { std::swap(model.states[0].after, model.states[1].after); });
  refused("nothing has computed yet", [](Model& model) { model.states.pop_back(); });
}

TEST_CASE("the layers that remember, on real numbers") {
  const Model model = dequantized(seed_model("svdf"));
  const Tensor codes = sequence(seed_model("svdf"), 4);
  const Trace trace = run(seed_model("svdf"), float_unbounded, {&codes, 1}, {.keep_all = true});
  const auto constant = [&](const char* name) { return model.tensor(index_of(model, name)).constant->values<float>(); };
  const auto features = constant("features"), times = constant("times"), bias = constant("bias");
  const auto y = traced(model, trace, "y").values<float>();
  std::vector<double> state(24, 0.0);
  for (std::size_t sample = 0; sample < 4; ++sample) {
    for (std::size_t row = 0; row < 8; ++row) {  // 2 rows of 4 filters
      double sum = 0;
      for (std::size_t i = 0; i < 3; ++i)
        sum += 0.25 * (codes.values<std::int8_t>()[sample * 6 + row / 4 * 3 + i] + 3) * double{features[row % 4 * 3 + i]};
      state[row * 3] = state[row * 3 + 1], state[row * 3 + 1] = state[row * 3 + 2], state[row * 3 + 2] = sum;
    }
    for (std::size_t u = 0; u < 4; ++u) {
      double sum = double{bias[u % 2]};
      for (std::size_t m = 0; m < 6; ++m) sum += state[u * 6 + m] * double{times[u % 2 * 6 + m]};
      CHECK(y[sample * 4 + u] == static_cast<float>(std::max(sum, 0.0)));  // multiples of 2^-6: every sum is exact
    }
  }
}

TEST_CASE("a long short-term memory on real numbers") {
  const Model integer = seed_model("lstm"), model = dequantized(integer);
  const Tensor codes = sequence(integer, 2);
  const Trace trace = run(integer, float_unbounded, {&codes, 1}, {.keep_all = true});
  const auto value = [&](const std::string& name, std::size_t i) {
    return double{model.tensor(index_of(model, name)).constant->values<float>()[i]};
  };
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  std::vector<double> h(4, 0.0), c(4, 0.0);
  for (std::size_t step = 0; step < 12; ++step) {  // 2 samples of 2 rows of 3 steps
    const std::size_t row = step / 3 % 2;
    const std::vector<double> before = h;
    for (std::size_t cell = 0; cell < 2; ++cell) {
      const auto gate = [&](const std::string& name) {
        double sum = value(name + "_bias", cell);
        for (std::size_t i = 0; i < 3; ++i)
          sum += 0.03125 * (codes.values<std::int8_t>()[step * 3 + i] + 10) * value(name + "_weights", cell * 3 + i);
        for (std::size_t i = 0; i < 2; ++i) sum += before[row * 2 + i] * value(name + "_recurrent", cell * 2 + i);
        return sum;
      };
      const double updated = sigmoid(gate("forget")) * c[row * 2 + cell] + sigmoid(gate("input")) * std::tanh(gate("cell"));
      c[row * 2 + cell] = std::min(0.75, std::max(-0.75, updated));
      h[row * 2 + cell] = std::tanh(c[row * 2 + cell]) * sigmoid(gate("output"));
      CHECK(std::abs(double{traced(model, trace, "y").values<float>()[step * 2 + cell]} - h[row * 2 + cell]) < 1e-5);
    }
  }
}
