// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// ONNX operators on real numbers against their definitions, written out here.
#include <functional>

#include "support/onnx_checks.hpp"

using namespace lastbit;
using namespace lastbit::test;

namespace {

const std::vector<float> numbers{0.25F, 1, 2.5F, 9, 0.5F, 100};

Tensor computed(const OnnxFile& file, const std::vector<Tensor>& inputs) { return outputs(file.read(), "float", inputs)[0]; }

/// x [2, 3] → one node → y.
Tensor of_one(const std::string& op, const std::vector<float>& x, const std::function<void(onnx::NodeProto&)>& change = {}) {
  OnnxFile file(20);
  file.input("x", {2, 3});
  auto& node = file.node(op, {"x"}, {"y"});
  if (change) change(node);
  file.output("y");
  return computed(file, {Tensor::from<float>({2, 3}, x)});
}

void check_function(const std::string& op, double (*expected)(double)) {
  INFO(op);
  for (const float sign : {1.0F, -1.0F}) {
    std::vector<float> x = numbers, wanted;
    for (float& value : x) wanted.push_back(static_cast<float>(expected(double{value *= sign})));
    const std::vector<float> found = listed(of_one(op, x));
    for (std::size_t i = 0; i < x.size(); ++i) {
      INFO(x[i]);
      CHECK((found[i] == wanted[i] || (std::isnan(found[i]) && std::isnan(wanted[i]))));
    }
  }
}

Tensor of_two(const std::string& op, const Tensor& a, const Tensor& b) {
  OnnxFile file;
  const auto sizes = [](const Tensor& tensor) { return Integers(tensor.shape().sizes().begin(), tensor.shape().sizes().end()); };
  file.input("a", sizes(a)).input("b", sizes(b));
  file.node(op, {"a", "b"}, {"y"});
  return computed(file.output("y"), {a, b});
}

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace

TEST_CASE("functions of one value") {
  check_function("Sqrt", [](double x) { return std::sqrt(x); });
  check_function("Log", [](double x) { return std::log(x); });
  check_function("Erf", [](double x) { return std::erf(x); });
  check_function("Neg", [](double x) { return -x; });
  check_function("Abs", [](double x) { return std::abs(x); });
  check_function("Reciprocal", [](double x) { return 1 / x; });
}

TEST_CASE("Round: half to even") {
  CHECK(listed(of_one("Round", {0.5F, 1.5F, 2.5F, -0.5F, -1.5F, 2.75F})) == std::vector<float>{0, 2, 2, 0, -2, 3});
}

TEST_CASE("Gelu is x times the share of a normal distribution below it") {
  const std::vector<float> x{-3, -1, 0, 0.5F, 1, 4};
  std::vector<float> exact, by_tanh;
  for (const float value : x) {
    const double v = double{value};
    exact.push_back(static_cast<float>(v * 0.5 * (1 + std::erf(v / std::sqrt(2.0)))));
    by_tanh.push_back(static_cast<float>(v * 0.5 * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (v + 0.044715 * v * v * v)))));
  }
  require_near(of_one("Gelu", x), Tensor::from<float>({2, 3}, exact));
  require_near(of_one("Gelu", x, [](onnx::NodeProto& node) { set(node, "approximate", "tanh"); }), Tensor::from<float>({2, 3}, by_tanh));
  CHECK(exact[1] != by_tanh[1]);
}

TEST_CASE("two operands, which broadcast") {
  const Tensor a = Tensor::from<float>({2, 2}, std::vector<float>{1, -2, 3, 8});
  const Tensor b = Tensor::from<float>({2}, std::vector<float>{3, -2});
  CHECK(listed(of_two("Div", a, b)) == std::vector<float>{1.0F / 3, 1, 1, -4});
  CHECK(listed(of_two("Pow", a, b)) == std::vector<float>{1, 0.25F, 27, 1.0F / 64});
  CHECK(listed(of_two("Max", a, b)) == std::vector<float>{3, -2, 3, 8});
  CHECK(listed(of_two("Min", a, b)) == std::vector<float>{1, -2, 3, -2});
  const float nan = std::nanf("");
  const Tensor numbered = Tensor::from<float>({2}, std::vector<float>{nan, 1}),
               other = Tensor::from<float>({2}, std::vector<float>{1, nan});
  for (const char* const op : {"Max", "Min"})
    for (const float value : listed(of_two(op, numbered, other))) CHECK(std::isnan(value));
}

TEST_CASE("the largest of many, and a square, which is a product") {
  OnnxFile file;
  file.input("a", {2, 1}).input("b", {3}).input("c", {1}).constant<float>("two", {}, {2});
  file.node("Max", {"a", "b", "c"}, {"m"});
  file.node("Pow", {"m", "two"}, {"y"});
  const Model model = file.output("y").read();
  CHECK(count(model, K::mul) == 1);
  CHECK(count(model, K::pow) == 0);
  const auto tensor_of = [](const Shape& shape, const std::vector<float>& values) { return Tensor::from<float>(shape, values); };
  CHECK(listed(outputs(model, "float", {tensor_of({2, 1}, {1, 4}), tensor_of({3}, {0, 3, 5}), tensor_of({1}, {2})})[0]) ==
        std::vector<float>{4, 9, 25, 16, 16, 25});
}

TEST_CASE("an exponent of another shape widens a square") {
  OnnxFile file;
  file.input("x", {2}).constant<float>("two", {3, 1}, {2, 2, 2});
  file.node("Pow", {"x", "two"}, {"y"});
  const Tensor y = computed(file.output("y"), {Tensor::from<float>({2}, std::vector<float>{3, 4})});
  CHECK(y.shape() == Shape{3, 2});
  CHECK(listed(y) == std::vector<float>{9, 16, 9, 16, 9, 16});
}

TEST_CASE("reductions over any axes") {
  const Tensor x = floats({2, 3, 4});
  const auto reduced = [&](const std::string& op, const Integers& axes, int keep) {
    OnnxFile file(12);
    file.input("x", {2, 3, 4});
    auto& node = file.node(op, {"x"}, {"y"});
    if (!axes.empty()) set(node, "axes", axes);
    set(node, "keepdims", keep);
    return computed(file.output("y"), {x});
  };
  const auto at = [&](std::size_t i, std::size_t j, std::size_t k) { return x.values<float>()[(i * 3 + j) * 4 + k]; };
  const Tensor largest = reduced("ReduceMax", {1}, 0), least = reduced("ReduceMin", {0, -1}, 1), sum = reduced("ReduceSum", {1}, 1);
  CHECK(largest.shape() == Shape{2, 4});
  CHECK(least.shape() == Shape{1, 3, 1});
  CHECK(sum.shape() == Shape{2, 1, 4});
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t k = 0; k < 4; ++k) {
      CHECK(largest.values<float>()[i * 4 + k] == std::max({at(i, 0, k), at(i, 1, k), at(i, 2, k)}));
      CHECK(std::abs(sum.values<float>()[i * 4 + k] - (at(i, 0, k) + at(i, 1, k) + at(i, 2, k))) < 1e-6F);
    }
  }
  for (std::size_t j = 0; j < 3; ++j) {
    float smallest = at(0, j, 0);
    for (std::size_t i = 0; i < 2; ++i)
      for (std::size_t k = 0; k < 4; ++k) smallest = std::min(smallest, at(i, j, k));
    CHECK(least.values<float>()[j] == smallest);
  }
  CHECK(reduced("ReduceMax", {}, 0).shape() == Shape{});
}

TEST_CASE("ArgMax is the first of the largest") {
  OnnxFile file;
  file.input("x", {2, 3});
  set(file.node("ArgMax", {"x"}, {"y"}), "axis", -1);
  const Tensor x = Tensor::from<float>({2, 3}, std::vector<float>{1, 5, 5, 7, -1, 2});
  const Model model = file.output("y").read();
  CHECK(tensor(model, "y").type == ElementType::int64);
  const Tensor y = outputs(model, "float", {x})[0];
  CHECK(y.shape() == Shape{2, 1});
  CHECK(listed(y) == std::vector<float>{1, 0});
}

TEST_CASE("Expand repeats, and leaves what is wide enough") {
  OnnxFile file;
  file.input("x", {2, 1}).constant<std::int64_t>("sizes", {3}, {2, 1, 3});
  file.node("Expand", {"x", "sizes"}, {"y"});
  const Tensor y = computed(file.output("y"), {Tensor::from<float>({2, 1}, std::vector<float>{3, -4})});
  CHECK(y.shape() == Shape{2, 2, 3});
  CHECK(listed(y) == std::vector<float>{3, 3, 3, -4, -4, -4, 3, 3, 3, -4, -4, -4});
}

TEST_CASE("Gather at constant indices is made of slices") {
  const auto gathered = [](const Integers& shape, const Integers& indices) {
    OnnxFile file;
    file.input("x", {2, 4}).constant<std::int64_t>("i", shape, indices);
    set(file.node("Gather", {"x", "i"}, {"y"}), "axis", 1);
    return computed(file.output("y"), {Tensor::from<float>({2, 4}, std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7})});
  };
  CHECK(listed(gathered({2}, {1, 3})) == std::vector<float>{1, 3, 5, 7});
  CHECK(listed(gathered({3}, {-1, 2, 1})) == std::vector<float>{3, 2, 1, 7, 6, 5});
  CHECK(gathered({}, {2}).shape() == Shape{2});
  CHECK(listed(gathered({}, {2})) == std::vector<float>{2, 6});
  const Tensor uneven = gathered({2, 2}, {0, 1, 3, 3});
  CHECK(uneven.shape() == Shape{2, 2, 2});
  CHECK(listed(uneven) == std::vector<float>{0, 1, 3, 3, 4, 5, 7, 7});
}

TEST_CASE("normalised by mean and variance") {
  const Tensor x = floats({2, 3, 4});
  const auto normalised = [&](const std::string& op, const Integers& scales) {
    OnnxFile file(17);
    file.input("x", {2, 3, 4});
    file.constant<float>("scale", scales,
                         std::vector<float>{2, 0.5F, 1, 3}.size() == static_cast<std::size_t>(scales[0]) ? std::vector<float>{2, 0.5F, 1, 3}
                                                                                                         : std::vector<float>{2, 0.5F, 1});
    file.constant<float>("offset", scales, std::vector<float>(static_cast<std::size_t>(scales[0]), 0.25F));
    set(file.node(op, {"x", "scale", "offset"}, {"y"}), "epsilon", 0.01F);
    return computed(file.output("y"), {x});
  };
  const std::vector<float> factors{2, 0.5F, 1, 3};
  const Tensor layer = normalised("LayerNormalization", {4}), instance = normalised("InstanceNormalization", {3});
  for (std::size_t row = 0; row < 6; ++row) {
    double mean = 0, square = 0;
    for (std::size_t i = 0; i < 4; ++i) mean += double{x.values<float>()[row * 4 + i]} / 4;
    for (std::size_t i = 0; i < 4; ++i) square += std::pow(double{x.values<float>()[row * 4 + i]} - mean, 2) / 4;
    for (std::size_t i = 0; i < 4; ++i) {
      const double normal = (double{x.values<float>()[row * 4 + i]} - mean) / std::sqrt(square + 0.01);
      CHECK(std::abs(double{layer.values<float>()[row * 4 + i]} - (normal * double{factors[i]} + 0.25)) < 1e-5);
      CHECK(std::abs(double{instance.values<float>()[row * 4 + i]} - (normal * double{factors[row % 3]} + 0.25)) < 1e-5);
    }
  }
}

TEST_CASE("bounds of Clip may be computed") {
  OnnxFile file;
  file.input("x", {3}).input("low", {}).input("high", {});
  file.node("Clip", {"x", "low", "high"}, {"y"});
  file.node("Clip", {"x", "", "high"}, {"z"});
  const Model model = file.output("y").output("z").read();
  const auto scalar = [](float value) { return Tensor::from<float>({}, std::vector<float>{value}); };
  const auto found = outputs(model, "float", {Tensor::from<float>({3}, std::vector<float>{-5, 0.5F, 5}), scalar(-1), scalar(2)});
  CHECK(listed(found[0]) == std::vector<float>{-1, 0.5F, 2});
  CHECK(listed(found[1]) == std::vector<float>{-5, 0.5F, 2});
}

namespace {

/// One direction of an LSTM by its definition; gates in the file's order: input, output, forget, cell.
struct Reference {
  std::int64_t steps, inputs, cells;
  std::vector<float> w, r, b;

  [[nodiscard]] std::vector<double> run(const std::vector<float>& x, bool reversed, std::vector<double> h, std::vector<double> c) const {
    std::vector<double> all(static_cast<std::size_t>(steps * cells));
    for (std::int64_t t = 0; t < steps; ++t) {
      const std::int64_t at = reversed ? steps - 1 - t : t;
      const std::vector<double> before = h;
      for (std::int64_t i = 0; i < cells; ++i) {
        const auto gate = [&](std::int64_t number) {
          const std::int64_t row = number * cells + i;
          double sum = double{b[static_cast<std::size_t>(row)]} + double{b[static_cast<std::size_t>(4 * cells + row)]};
          for (std::int64_t k = 0; k < inputs; ++k)
            sum += double{w[static_cast<std::size_t>(row * inputs + k)]} * double{x[static_cast<std::size_t>(at * inputs + k)]};
          for (std::int64_t k = 0; k < cells; ++k)
            sum += double{r[static_cast<std::size_t>(row * cells + k)]} * before[static_cast<std::size_t>(k)];
          return sum;
        };
        double& state = c[static_cast<std::size_t>(i)];
        state = logistic(gate(2)) * state + logistic(gate(0)) * std::tanh(gate(3));
        h[static_cast<std::size_t>(i)] = logistic(gate(1)) * std::tanh(state);
        all[static_cast<std::size_t>(at * cells + i)] = h[static_cast<std::size_t>(i)];
      }
    }
    all.insert(all.end(), h.begin(), h.end());
    all.insert(all.end(), c.begin(), c.end());
    return all;
  }
};

}  // namespace

TEST_CASE("an LSTM in both directions, from a state and to it") {
  constexpr std::int64_t steps = 4, inputs = 3, cells = 2;
  OnnxFile file(14);
  file.input("x", {steps, 1, inputs}).input("h", {2, 1, cells}).input("c", {2, 1, cells});
  const std::vector<float> w = listed(floats({2, 4 * cells, inputs}, 1)), r = listed(floats({2, 4 * cells, cells}, 2)),
                           b = listed(floats({2, 8 * cells}, 3));
  file.constant<float>("w", {2, 4 * cells, inputs}, w);
  file.constant<float>("r", {2, 4 * cells, cells}, r);
  file.constant<float>("b", {2, 8 * cells}, b);
  auto& node = file.node("LSTM", {"x", "w", "r", "b", "", "h", "c"}, {"y", "y_h", "y_c"});
  set(node, "direction", "bidirectional");
  set(node, "hidden_size", 2);
  const Model model = file.output("y").output("y_h").output("y_c").read();
  CHECK(tensor(model, "y").shape == Shape{steps, 2, 1, cells});
  CHECK(tensor(model, "y_h").shape == Shape{2, 1, cells});
  const Tensor x = floats({steps, 1, inputs}, 4), h = floats({2, 1, cells}, 5), c = floats({2, 1, cells}, 6);
  const auto found = outputs(model, "float", {x, h, c});
  for (std::size_t d = 0; d < 2; ++d) {
    const auto half = [&](const std::vector<float>& all) {
      const auto size = static_cast<std::ptrdiff_t>(all.size() / 2), begin = static_cast<std::ptrdiff_t>(d) * size;
      return std::vector<float>(all.begin() + begin, all.begin() + begin + size);
    };
    const auto before = [&](const Tensor& state) {
      const std::vector<float> own = half(listed(state));
      return std::vector<double>(own.begin(), own.end());
    };
    const Reference reference{steps, inputs, cells, half(w), half(r), half(b)};
    const std::vector<double> wanted = reference.run(listed(x), d == 1, before(h), before(c));
    for (std::size_t i = 0; i < cells; ++i) {
      for (std::size_t t = 0; t < steps; ++t)
        CHECK(std::abs(double{listed(found[0])[(t * 2 + d) * cells + i]} - wanted[t * cells + i]) < 1e-6);
      CHECK(std::abs(double{listed(found[1])[d * cells + i]} - wanted[steps * cells + i]) < 1e-6);
      CHECK(std::abs(double{listed(found[2])[d * cells + i]} - wanted[(steps + 1) * cells + i]) < 1e-6);
    }
  }
}

TEST_CASE("an LSTM of which the last state alone is read, backwards") {
  OnnxFile file(14);
  file.input("x", {3, 1, 2}).constant<float>("w", {1, 4, 2}, listed(floats({4, 2}, 1)));
  file.constant<float>("r", {1, 4, 1}, listed(floats({4, 1}, 2)));
  set(file.node("LSTM", {"x", "w", "r"}, {"", "y_h"}), "direction", "reverse");
  const Tensor x = floats({3, 1, 2}, 3), found = computed(file.output("y_h"), {x});
  const Reference reference{3, 2, 1, listed(floats({4, 2}, 1)), listed(floats({4, 1}, 2)), std::vector<float>(8)};
  CHECK(found.shape() == Shape{1, 1, 1});
  CHECK(std::abs(double{found.values<float>()[0]} - reference.run(listed(x), true, {0}, {0})[3]) < 1e-6);
}

TEST_CASE("what an LSTM has besides is refused") {
  const auto refused = [](const std::function<void(OnnxFile&, onnx::NodeProto&)>& change) {
    OnnxFile file(14);
    file.input("x", {4, 1, 3});
    file.constant<float>("w", {1, 8, 3}, std::vector<float>(24));
    file.constant<float>("r", {1, 8, 2}, std::vector<float>(16));
    file.constant<float>("short", {1, 7, 2}, std::vector<float>(14));
    file.constant<std::int32_t>("lengths", {1}, {3});
    file.constant<float>("p", {1, 6}, std::vector<float>(6));
    auto& node = file.node("LSTM", {"x", "w", "r", "", "", "", "", ""}, {"y"});
    change(file, node);
    return refusal(file.output("y"));
  };
  const std::string place = "test.onnx: LSTM (node 0): ";
  using File = OnnxFile;
  using Node = onnx::NodeProto;
  CHECK(refused([](File&, Node&) {}) == "no error");
  CHECK(refused([](File&, Node& node) { set(node, "layout", 1); }) == place + "layout 1 is not supported");
  CHECK(refused([](File&, Node& node) { set(node, "clip", 1.0F); }) == place + "clip is not supported");
  CHECK(refused([](File&, Node& node) { set(node, "direction", "up"); }) == place + "direction 'up'");
  CHECK(refused([](File&, Node& node) { node.set_input(7, "p"); }) == place + "a peephole is not supported");
  CHECK(refused([](File&, Node& node) { node.set_input(4, "lengths"); }) == place + "a sequence shorter than the others is not supported");
  CHECK(refused([](File&, Node& node) { node.set_input(2, "short"); }) == place + "input 2 is 1x7x2, not 1x8x2");
}

TEST_CASE("integer devices refuse what is of real numbers, by name") {
  OnnxFile file;
  file.input("x", {2, 3});
  file.node("Sqrt", {"x"}, {"y"});
  const auto problems = check(file.output("y").read(), find_backend("vipnano_v8").backend);
  REQUIRE(problems.size() == 1);
  CHECK_THAT(problems[0].text(), contains_text("sqrt 'y'"));
}
