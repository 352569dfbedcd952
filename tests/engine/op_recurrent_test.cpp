// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// svdf and lstm against a second calculation in exact integers, call after call, on random layers.
#include <cmath>
#include <random>

#include "lastbit/arith/fixed_activation.hpp"
#include "lastbit/backends/tflite.hpp"
#include "lastbit/backends/vipnano.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/io/json_model.hpp"
#include "lastbit/rules.hpp"
#include "support/catch.hpp"
#include "support/oracle.hpp"
#include "support/refusal.hpp"

using namespace lastbit;
using namespace lastbit::test;

namespace {

using Numbers = std::vector<std::int64_t>;

enum class Builds : std::uint8_t { twice, once };

const Backend& backend_of(Builds builds) { return builds == Builds::twice ? tflite_double : tflite_single; }

/// A real scale as TFLite writes it: q * 2^31 rounded, and the exponent.
struct Multiplier {
  Int128 factor = 0;
  int exponent = 0;
};

Multiplier multiplier_of(double real) {
  Multiplier m;
  m.factor = static_cast<Int128>(std::floor(std::frexp(real, &m.exponent) * 2147483648.0 + 0.5));
  if (m.factor == two_to_the(31)) return {two_to_the(30), m.exponent + 1};
  return m;
}

Int128 rescaled(Int128 value, Multiplier m, Builds builds) {
  if (builds == Builds::once) return wrapped(rounded(value * m.factor, two_to_the(31 - m.exponent), Rounding::half_up), 32);
  const Int128 shifted = wrapped(value * two_to_the(std::max(m.exponent, 0)), 32);
  const Int128 high = saturated(rounded(shifted * m.factor, two_to_the(31), Rounding::half_up), 32);
  return rounded(high, two_to_the(std::max(-m.exponent, 0)), Rounding::half_away);
}

float in_float(double a, double b, double c) { return static_cast<float>(a) * static_cast<float>(b) / static_cast<float>(c); }

Model seed_model(const std::string& name) {
  return parse_json_model(file_text(seed_directory("json_model_fuzz") / (name + ".json")), "/nonexistent", name);
}

ModelTensor& tensor_of(Model& model, const std::string& name) {
  return model.tensors[static_cast<std::size_t>(model.find_tensor(name).value())];
}

Numbers numbers_of(const Tensor& tensor) {
  Numbers numbers;
  for (std::int64_t i = 0; i < tensor.element_count(); ++i) numbers.push_back(tensor.integer_at(i));
  return numbers;
}

void fill(Tensor& tensor, std::int64_t limit, std::mt19937& random) {
  visit_element_type(tensor.type(), [&]<class T>() {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
      for (T& value : tensor.values<T>())
        value = static_cast<T>(static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(2 * limit)) - limit);
  });
}

/// New random constants, and inputs for `samples` calls.
Tensor randomized(Model& model, std::int64_t samples, std::mt19937& random) {
  for (ModelTensor& tensor : model.tensors)
    if (tensor.constant) fill(tensor.constant.edit(), size_of(tensor.type) == 1 ? 128 : 3000, random);
  const ModelTensor& input = model.tensor(model.inputs[0]);
  std::vector<std::int64_t> sizes{samples};
  sizes.insert(sizes.end(), input.shape.sizes().begin(), input.shape.sizes().end());
  Tensor inputs(input.type, Shape(std::move(sizes)));
  fill(inputs, 128, random);
  return inputs;
}

Numbers constant(Model& model, const std::string& name) { return numbers_of(*tensor_of(model, name).constant); }
double scale(Model& model, const std::string& name) { return tensor_of(model, name).quantization.scale(); }
std::int64_t zero(Model& model, const std::string& name) { return tensor_of(model, name).quantization.zero_point(); }

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

/// What the trace holds of a tensor, all samples.
Numbers traced(const Model& model, const Trace& trace, const std::string& name) {
  return numbers_of(*trace.tensors[at(model.find_tensor(name).value())]);
}

enum class StateRule : std::uint8_t { bounded_then_wrapped, shifted_then_bounded };

/// The layer of svdf.json: 2 rows of 3 inputs, 4 filters of 3 memories, rank 2.
class SvdfOracle {
 public:
  SvdfOracle(Model& model, Builds builds, StateRule rule = StateRule::bounded_then_wrapped)
      : model_(model),
        builds_(builds),
        rule_(rule),
        bits_(static_cast<int>(size_of(tensor_of(model, "before").type)) * 8),
        state(24, zero(model, "before")) {}

  Numbers call(const Numbers& x) {
    Numbers y;
    for (std::int64_t row = 0; row < 2; ++row) {
      for (std::int64_t f = 0; f < 4; ++f) push(x, row, f);
      for (std::int64_t u = 0; u < 2; ++u) y.push_back(output(row, u));
    }
    return y;
  }

 private:
  void push(const Numbers& x, std::int64_t row, std::int64_t f) {
    Int128 sum = 0;
    for (std::int64_t i = 0; i < 3; ++i) sum += Int128{x[at(row * 3 + i)] - zero(model_, "x")} * features_[at(f * 3 + i)];
    const Multiplier m = multiplier_of(double{in_float(scale(model_, "x"), scale(model_, "features"), scale(model_, "before"))});
    const Int128 value = rescaled(wrapped(sum, 32), m, builds_);
    const std::int64_t zero_point = zero(model_, "before");
    const Int128 code = rule_ == StateRule::bounded_then_wrapped ? wrapped(saturated(value, bits_) + zero_point, bits_)
                                                                 : saturated(value + zero_point, bits_);
    const std::size_t first = at(row * 12 + f * 3);
    state[first] = state[first + 1];
    state[first + 1] = state[first + 2];
    state[first + 2] = static_cast<std::int64_t>(code);
  }

  std::int64_t output(std::int64_t row, std::int64_t u) {
    Int128 sum = bias_[at(u)];
    for (std::int64_t f = 2 * u; f < 2 * u + 2; ++f)
      for (std::int64_t m = 0; m < 3; ++m) sum += Int128{state[at(row * 12 + f * 3 + m)] - zero(model_, "before")} * times_[at(f * 3 + m)];
    const Multiplier m = multiplier_of(double{in_float(scale(model_, "before"), scale(model_, "times"), scale(model_, "y"))});
    return static_cast<std::int64_t>(saturated(rescaled(wrapped(sum, 32), m, builds_) + zero(model_, "y"), 8));
  }

  Model& model_;
  Builds builds_;
  StateRule rule_;
  int bits_;
  Numbers features_ = constant(model_, "features"), times_ = constant(model_, "times"), bias_ = constant(model_, "bias");

 public:
  Numbers state;
};

/// Runs samples through both and compares outputs and states.
void check_svdf(Model& model, const Backend& backend, SvdfOracle oracle, const Tensor& inputs) {
  const Trace trace = run(model, backend, {&inputs, 1}, {.threads = 3, .keep_all = true});
  const Numbers x = numbers_of(inputs);
  Numbers outputs, states;
  for (auto sample = x.begin(); sample != x.end(); sample += 6) {
    const Numbers y = oracle.call({sample, sample + 6});
    outputs.insert(outputs.end(), y.begin(), y.end());
    states.insert(states.end(), oracle.state.begin(), oracle.state.end());
  }
  CHECK(traced(model, trace, "after") == states);
  CHECK(traced(model, trace, "y") == outputs);
}

/// The layer of lstm.json: 2 rows, 3 steps of 3 inputs, 2 cells.
class LstmOracle {
 public:
  LstmOracle(Model& model, Builds builds) : hidden(4, zero(model, "h0")), cell(4, 0), model_(model), builds_(builds) {}

  Numbers call(const Numbers& x) {
    Numbers y(12);
    for (std::int64_t row = 0; row < 2; ++row) {
      for (std::int64_t t = 0; t < 3; ++t) {
        step(x, row, t);
        for (std::int64_t c = 0; c < 2; ++c) y[at((row * 3 + t) * 2 + c)] = hidden[at(row * 2 + c)];
      }
    }
    return y;
  }

  Numbers hidden, cell;

 private:
  Int128 part(const Numbers& x, std::size_t first, std::int64_t zero_point, const Numbers& weights, std::int64_t c, Int128 offset,
              double real) const {
    const std::size_t terms = weights.size() / 2;
    Int128 sum = offset;
    for (std::size_t i = 0; i < terms; ++i) sum += Int128{x[first + i] - zero_point} * weights[at(c) * terms + i];
    const int bits = size_of(model_.tensor(model_.inputs[0]).type) == 1 ? 32 : 64;
    Multiplier m = multiplier_of(real);
    if (bits == 32) return saturated(rescaled(wrapped(sum, 32), m, builds_), 16);
    m.factor = rounded(m.factor, two_to_the(16), Rounding::half_up);  // 15 bits
    return saturated(wrapped(rounded(sum * m.factor, two_to_the(15 - m.exponent), Rounding::half_up), 32), 16);
  }

  std::int16_t gate(const std::string& name, const Numbers& x, std::size_t first, std::int64_t row, std::int64_t c) {
    const double q3_12 = 1.0 / 4096.0;
    const Int128 from_input =
        part(x, first, zero(model_, "x"), constant(model_, name + "_weights"), c, constant(model_, name + "_bias")[at(c)],
             double{in_float(scale(model_, "x"), scale(model_, name + "_weights"), q3_12)});
    const Int128 from_hidden = part(hidden, at(row * 2), zero(model_, "h0"), constant(model_, name + "_recurrent"), c, 0,
                                    double{in_float(scale(model_, "h0"), scale(model_, name + "_recurrent"), q3_12)});
    const auto sum = static_cast<std::int16_t>(saturated(from_input + from_hidden, 16));
    return name == "cell" ? sigmoid_i16<Sigmoid::tanh>(sum, {3, 0}) : sigmoid_i16<Sigmoid::logistic>(sum, {3, 0});
  }

  void step(const Numbers& x, std::int64_t row, std::int64_t t) {
    const double cell_scale = scale(model_, "c0"), unit = 1.0 / 32768.0;
    const auto clip = static_cast<Int128>(std::get<LstmAttributes>(model_.operations[0].attributes).cell_clip / cell_scale);
    const std::size_t first = at((row * 3 + t) * 3);
    Numbers next;
    for (std::int64_t c = 0; c < 2; ++c) {
      const Int128 i = gate("input", x, first, row, c), f = gate("forget", x, first, row, c), g = gate("cell", x, first, row, c),
                   o = gate("output", x, first, row, c);
      const Int128 kept = saturated(rescaled(f * cell[at(row * 2 + c)], multiplier_of(unit), builds_), 16);
      const Int128 added = saturated(rescaled(i * g, multiplier_of(unit * unit / cell_scale), builds_), 16);
      const Int128 bound = std::min<Int128>(clip, 32767);
      const Int128 updated = std::max(-bound, std::min(saturated(kept + added, 16), bound));
      cell[at(row * 2 + c)] = static_cast<std::int64_t>(updated);
      // The table's unit is 1/12288 and the cell's scale is 2^-12 or 2^-10: 3 or 12 units.
      const std::int16_t activated =
          sigmoid_i16<Sigmoid::tanh>(static_cast<std::int16_t>(updated), {static_cast<std::int32_t>(cell_scale * 12288.0), 0});
      const Int128 product = rescaled(activated * o, multiplier_of(unit * unit / scale(model_, "h0")), builds_);
      const int bits = static_cast<int>(size_of(tensor_of(model_, "h0").type)) * 8;
      next.push_back(static_cast<std::int64_t>(saturated(product + zero(model_, "h0"), bits)));
    }
    for (std::int64_t c = 0; c < 2; ++c) hidden[at(row * 2 + c)] = next[at(c)];
  }

  Model& model_;
  Builds builds_;
};

void check_lstm(Model& model, Builds builds, std::mt19937& random) {
  const Tensor inputs = randomized(model, 5, random);
  const Trace trace = run(model, backend_of(builds), {&inputs, 1}, {.threads = 3, .keep_all = true});
  const Numbers x = numbers_of(inputs);
  LstmOracle oracle(model, builds);
  Numbers outputs, hidden, cells;
  for (auto sample = x.begin(); sample != x.end(); sample += 18) {
    const Numbers y = oracle.call({sample, sample + 18});
    outputs.insert(outputs.end(), y.begin(), y.end());
    hidden.insert(hidden.end(), oracle.hidden.begin(), oracle.hidden.end());
    cells.insert(cells.end(), oracle.cell.begin(), oracle.cell.end());
  }
  CHECK(traced(model, trace, "y") == outputs);
  CHECK(traced(model, trace, "h1") == hidden);
  CHECK(traced(model, trace, "c1") == cells);
}

void retype(Model& model, const std::vector<std::string>& names, ElementType type, const Quantization& quantization) {
  for (const auto& name : names) {
    ModelTensor& tensor = tensor_of(model, name);
    tensor.type = type;
    tensor.quantization = quantization;
    if (tensor.constant) tensor.constant = Tensor(type, tensor.shape);
  }
}

}  // namespace

TEST_CASE("svdf remembers and recalls as the formula says, in both builds") {
  constexpr unsigned seed = 20260;
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (const Builds builds : {Builds::twice, Builds::once}) {
    for (int repeat = 0; repeat < 20; ++repeat) {
      Model model = seed_model("svdf");
      for (const char* state : {"before", "after"})
        tensor_of(model, state).quantization = {{repeat % 2 == 0 ? 16.0 : 37.3}, {repeat * 9 - 90}, 0};
      const Tensor inputs = randomized(model, 5, random);
      check_svdf(model, backend_of(builds), SvdfOracle(model, builds), inputs);
    }
    Model wide = seed_model("svdf");
    retype(wide, {"before", "after"}, ElementType::int16, {{0.1}, {0}, 0});
    retype(wide, {"times"}, ElementType::int16, {{0.0001}, {0}, 0});
    const Tensor inputs = randomized(wide, 5, random);
    check_svdf(wide, backend_of(builds), SvdfOracle(wide, builds), inputs);
  }
}

TEST_CASE("two rules make svdf's state saturate, as later kernels do, instead of wrapping") {
  std::mt19937 random(3);
  Model model = seed_model("svdf");
  const Tensor inputs = randomized(model, 20, random);
  Backend later = tflite_double;
  set_rule(later, "svdf.state_i8.chain.3.kind", "add_zero_point");
  set_rule(later, "svdf.state_i8.chain.4.kind", "clamp");
  check_svdf(model, later, SvdfOracle(model, Builds::twice, StateRule::shifted_then_bounded), inputs);
  const auto states_on = [&](const Backend& backend) {
    return traced(model, run(model, backend, {&inputs, 1}, {.keep_all = true}), "after");
  };
  CHECK(states_on(later) != states_on(tflite_double));
}

TEST_CASE("svdf without bias starts from 0, and a fused activation bounds only where the device applies it") {
  std::mt19937 random(4);
  Model model = seed_model("svdf");
  const Tensor inputs = randomized(model, 8, random);
  for (auto& value : tensor_of(model, "bias").constant.edit().values<std::int32_t>()) value = 0;
  const Numbers with_zeros = traced(model, run(model, tflite_double, {&inputs, 1}), "y");
  model.operations[0].inputs.pop_back();
  CHECK(traced(model, run(model, tflite_double, {&inputs, 1}), "y") == with_zeros);
  Backend applies = tflite_double;
  set_rule(applies, "svdf.activation", "applied");
  Numbers bounded = with_zeros;
  for (auto& value : bounded) value = std::max(value, zero(model, "y"));
  REQUIRE(bounded != with_zeros);
  CHECK(traced(model, run(model, applies, {&inputs, 1}), "y") == bounded);
}

TEST_CASE("lstm goes through its steps as the formula says, in both builds") {
  constexpr unsigned seed = 20261;
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (const Builds builds : {Builds::twice, Builds::once}) {
    for (int repeat = 0; repeat < 20; ++repeat) {
      Model model = seed_model("lstm");
      const double cell = repeat % 2 == 0 ? 1.0 / 4096.0 : 1.0 / 1024.0;
      for (const char* state : {"c0", "c1"}) tensor_of(model, state).quantization = {{cell}, {}, 0};
      tensor_of(model, "x").quantization.scales = {repeat < 10 ? 0.03125 : 0.0113};
      std::get<LstmAttributes>(model.operations[0].attributes).cell_clip = repeat % 3 == 0 ? 0.7501 : 40.0;
      check_lstm(model, builds, random);
    }
  }
}

TEST_CASE("lstm of 16-bit data sums in 64 bits and keeps 15 bits of a multiplier") {
  std::mt19937 random(5);
  for (const Builds builds : {Builds::twice, Builds::once}) {
    Model model = seed_model("lstm");
    retype(model, {"x"}, ElementType::int16, {{0.02}, {0}, 0});
    retype(model, {"h0", "h1", "y"}, ElementType::int16, {{0.00003051851}, {0}, 0});
    retype(model, {"input_bias", "forget_bias", "cell_bias", "output_bias"}, ElementType::int64, {{0.0001}, {0}, 0});
    check_lstm(model, builds, random);
  }
}

TEST_CASE("time-major data is the same sequence laid out otherwise") {
  std::mt19937 random(6);
  Model model = seed_model("lstm");
  const Tensor inputs = randomized(model, 1, random);
  const Numbers rows = traced(model, run(model, tflite_double, {&inputs, 1}), "y");
  std::get<LstmAttributes>(model.operations[0].attributes).time_major = true;
  tensor_of(model, "x").shape = {3, 2, 3};
  tensor_of(model, "y").shape = {3, 2, 2};
  Tensor turned(ElementType::int8, {3, 2, 3});
  for (std::size_t i = 0; i < 18; ++i) turned.values<std::int8_t>()[i % 9 / 3 * 6 + i / 9 * 3 + i % 3] = inputs.values<std::int8_t>()[i];
  const Numbers steps = traced(model, run(model, tflite_double, {&turned, 1}), "y");
  for (std::size_t i = 0; i < 12; ++i) CHECK(steps[i % 6 / 2 * 4 + i / 6 * 2 + i % 2] == rows[i]);
}

TEST_CASE("what a device cannot remember is refused") {
  const auto refused = [](const std::string& seed, const Backend& backend, const std::string& reason, auto change) {
    Model model = seed_model(seed);
    change(model);
    const auto problems = check(model, backend);
    REQUIRE(problems.size() == 1);
    INFO(problems[0].message);
    CHECK(problems[0].message.find(reason) != std::string::npos);
  };
  const auto nothing = [](Model&) {};
  refused("svdf", vipnano_v8, "no such arithmetic", nothing);
  refused("lstm", vipnano_v8, "no arithmetic for int8 data", nothing);
  refused("svdf", tflite_double, "zero point 0", [](Model& model) { tensor_of(model, "times").quantization.zero_points = {1}; });
  refused("lstm", tflite_double, "zero point 0", [](Model& model) { tensor_of(model, "cell_recurrent").quantization.zero_points = {-1}; });
  refused("lstm", tflite_double, "power of two", [](Model& model) {
    for (const char* state : {"c0", "c1"}) tensor_of(model, state).quantization = {{0.0003}, {}, 0};
  });
  Backend changed = tflite_double;
  set_rule(changed, "lstm.sum", "exact");
  refused("lstm", changed, "wrap or saturate", nothing);
  changed = tflite_double;
  set_rule(changed, "svdf.state_i8.chain.5.bits", "9");
  refused("svdf", changed, "does not end in clamp", nothing);
}
