// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The cube: products exact, float32 sums in the order of the rule, one conversion. The oracle lists the terms of an output by walking the
// image, and adds them as exact numbers rounded to float32.
#include "lastbit/backends/ascend.hpp"
#include "lastbit/rules.hpp"
#include "support/catch.hpp"
#include "support/float16_steps.hpp"
#include "support/one_operation.hpp"

namespace lastbit {
namespace {

using namespace test;

constexpr auto float16 = ElementType::float16;

Dyadic plus(Dyadic a, Dyadic b) {
  const int exponent = std::min(a.exponent, b.exponent);
  return {a.significand * two_to_the(a.exponent - exponent) + b.significand * two_to_the(b.exponent - exponent), exponent};
}
/// Trailing zeros go, so that exponents stay in reach.
Dyadic lean(Dyadic value) {
  while (value.significand != 0 && !is_odd(value.significand)) value = {value.significand / 2, value.exponent + 1};
  return value.significand == 0 ? Dyadic{} : value;
}
Dyadic add32(Dyadic a, Dyadic b) { return lean(as_float32(plus(a, b))); }

Dyadic tree(const std::vector<Dyadic>& terms) {
  std::vector<Dyadic> next;
  for (std::size_t i = 0; i < terms.size(); i += 2) next.push_back(i + 1 < terms.size() ? add32(terms[i], terms[i + 1]) : terms[i]);
  return next.size() == 1 ? next[0] : tree(next);
}

Dyadic chain(const std::vector<Dyadic>& terms) {
  Dyadic sum = terms[0];
  for (std::size_t i = 1; i < terms.size(); ++i) sum = add32(sum, terms[i]);
  return sum;
}

Dyadic sum_in(SumOrder order, const std::vector<Dyadic>& terms, Dyadic start) {
  if (order == SumOrder::pairwise) return add32(start, tree(terms));
  if (order == SumOrder::sequential) {
    std::vector<Dyadic> all{start};
    all.insert(all.end(), terms.begin(), terms.end());
    return chain(all);
  }
  Dyadic sum = start;
  for (std::size_t at = 0; at < terms.size(); at += 16) {
    const std::vector<Dyadic> block(terms.begin() + static_cast<std::ptrdiff_t>(at),
                                    terms.begin() + static_cast<std::ptrdiff_t>(std::min(at + 16, terms.size())));
    Dyadic exact{};
    for (const Dyadic& term : block) exact = lean(plus(exact, term));
    sum = add32(sum, order == SumOrder::blocks_exact      ? lean(as_float32(exact))
                     : order == SumOrder::blocks_pairwise ? tree(block)
                                                          : chain(block));
  }
  return sum;
}

struct Image {
  Shape shape;
  std::vector<Float16> values;
  /// Zero outside.
  [[nodiscard]] Dyadic at(std::int64_t y, std::int64_t x, std::int64_t c) const {
    if (y < 0 || y >= shape[1] || x < 0 || x >= shape[2] || c >= shape[3]) return {};
    return lean({float16_units(values[static_cast<std::size_t>((y * shape[2] + x) * shape[3] + c)]), -24});
  }
};

Image random_image(const Shape& shape, std::mt19937& random, double largest) {
  return {shape, random_halves(static_cast<std::size_t>(shape.element_count()), random, largest)};
}

/// Products in the order of the rule; product(ky, kx, c), and zeros that fill a block.
template <class Product>
std::vector<Dyadic> ordered_terms(TermOrder order, std::int64_t kh, std::int64_t kw, std::int64_t channels, Product&& product_at) {
  std::vector<Dyadic> terms;
  const std::int64_t block = order == TermOrder::kernel_then_channel ? channels : 16;
  for (std::int64_t first = 0; first < channels; first += block) {
    for (std::int64_t ky = 0; ky < kh; ++ky) {
      for (std::int64_t kx = 0; kx < kw; ++kx) {
        for (std::int64_t c = first; c < first + block; ++c) terms.push_back(c < channels ? product_at(ky, kx, c) : Dyadic{});
      }
    }
  }
  return terms;
}

struct Choice {
  SumOrder order;
  TermOrder terms;
  BiasAt bias;
};
std::vector<Choice> choices() {
  std::vector<Choice> all;
  for (const auto order :
       {SumOrder::sequential, SumOrder::pairwise, SumOrder::blocks_sequential, SumOrder::blocks_pairwise, SumOrder::blocks_exact}) {
    for (const auto terms : {TermOrder::kernel_then_channel, TermOrder::channel_block_then_kernel}) {
      for (const auto bias : {BiasAt::accumulator_start, BiasAt::accumulator_end}) all.push_back({order, terms, bias});
    }
  }
  return all;
}

Backend with(const Choice& choice) {
  Backend backend = ascend310;
  backend.float16.cube = {{StepPrecision::float32, choice.order, 16}, choice.terms, choice.bias};
  return backend;
}

Float16 delivered(const Choice& choice, const std::vector<Dyadic>& terms, Dyadic bias) {
  const bool at_start = choice.bias == BiasAt::accumulator_start;
  const Dyadic sum = sum_in(choice.order, terms, at_start ? bias : Dyadic{});
  return HalfOracle{Mode::saturation}.of(at_start ? sum : add32(sum, bias));
}

Dyadic of(Float16 value) { return lean({float16_units(value), -24}); }

/// Positive and negative zeros are one number here: the oracle's numbers have no sign of zero.
bool same(Float16 a, Float16 b) { return a == b || (a.bits % 0x8000 == 0 && b.bits % 0x8000 == 0); }

/// Runs and compares; returns how many outputs there were.
template <class Expected>
void compare(const Model& model, const std::vector<Tensor>& inputs, const Choice& choice, Expected&& expected) {
  const auto found = values_of<Float16>(*run(model, with(choice), inputs).tensors.back());
  for (std::size_t i = 0; i < found.size(); ++i) {
    INFO("output " << i << ", order " << static_cast<int>(choice.order) << ", terms " << static_cast<int>(choice.terms) << ", bias "
                   << static_cast<int>(choice.bias));
    REQUIRE(same(found[i], expected(static_cast<std::int64_t>(i))));
  }
}

constexpr unsigned seed = 20211;

}  // namespace

TEST_CASE("a grouped, padded, strided, dilated convolution on the cube, in every order") {
  std::mt19937 random(seed);
  const Image image = random_image({1, 5, 6, 40}, random, 200), weights = random_image({4, 3, 2, 20}, random, 30);
  const Image bias = random_image({4, 1, 1, 1}, random, 20000);
  const Conv2dAttributes attributes{{2, 1}, {1, 2}, {PaddingMode::explicit_sizes, 1, 1, 1, 1}, {}};
  const std::vector<Tensor> inputs{halves(image.shape, image.values), halves(weights.shape, weights.values), halves({4}, bias.values)};
  const Model model = one_operation(OperationKind::conv2d, attributes, inputs, {{1, 3, 6, 4}}, float16);
  for (const Choice& choice : choices()) {
    compare(model, inputs, choice, [&](std::int64_t i) {
      const std::int64_t o = i % 4, x = i / 4 % 6, y = i / 24, group = o / 2;
      const auto terms = ordered_terms(choice.terms, 3, 2, 20, [&](std::int64_t ky, std::int64_t kx, std::int64_t c) {
        const Dyadic weight = of(weights.values[static_cast<std::size_t>(((o * 3 + ky) * 2 + kx) * 20 + c)]);
        return lean(product(image.at(2 * y + ky - 1, x + 2 * kx - 1, group * 20 + c), weight));
      });
      return delivered(choice, terms, of(bias.values[static_cast<std::size_t>(o)]));
    });
  }
}

TEST_CASE("a depthwise convolution on the cube") {
  std::mt19937 random(seed + 1);
  const Image image = random_image({1, 4, 4, 3}, random, 200), weights = random_image({1, 3, 3, 6}, random, 30);
  const Conv2dAttributes attributes{{1, 1}, {1, 1}, {PaddingMode::same, 0, 0, 0, 0}, {}};
  const std::vector<Tensor> inputs{halves(image.shape, image.values), halves(weights.shape, weights.values)};
  const Model model = one_operation(OperationKind::depthwise_conv2d, attributes, inputs, {{1, 4, 4, 6}}, float16);
  for (const Choice& choice : choices()) {
    compare(model, inputs, choice, [&](std::int64_t i) {
      const std::int64_t o = i % 6, x = i / 6 % 4, y = i / 24;
      const auto terms = ordered_terms(choice.terms, 3, 3, 1, [&](std::int64_t ky, std::int64_t kx, std::int64_t) {
        return lean(product(image.at(y + ky - 1, x + kx - 1, o / 2), weights.at(ky, kx, o)));
      });
      return delivered(choice, terms, {});
    });
  }
}

TEST_CASE("a transposed convolution on the cube: a convolution of the image spread out, with the kernel turned") {
  std::mt19937 random(seed + 2);
  const Image image = random_image({1, 3, 2, 5}, random, 200), weights = random_image({2, 3, 3, 5}, random, 30);
  const Conv2dAttributes attributes{{2, 2}, {1, 1}, {PaddingMode::explicit_sizes, 1, 0, 0, 0}, {}};
  const std::vector<Tensor> inputs{halves(image.shape, image.values), halves(weights.shape, weights.values)};
  const Model model = one_operation(OperationKind::transposed_conv2d, attributes, inputs, {{1, 6, 5, 2}}, float16);
  for (const Choice& choice : choices()) {
    compare(model, inputs, choice, [&](std::int64_t i) {
      const std::int64_t o = i % 2, x = i / 2 % 5, y = i / 10;
      const auto terms = ordered_terms(choice.terms, 3, 3, 5, [&](std::int64_t dy, std::int64_t dx, std::int64_t c) {
        const std::int64_t ky = 2 - dy, kx = 2 - dx, spread_y = y + 1 - ky, spread_x = x - kx;
        const bool on_pixel = spread_y % 2 == 0 && spread_x % 2 == 0;
        const Dyadic weight = of(weights.values[static_cast<std::size_t>(((o * 3 + ky) * 3 + kx) * 5 + c)]);
        return on_pixel ? lean(product(image.at(spread_y / 2, spread_x / 2, c), weight)) : Dyadic{};
      });
      return delivered(choice, terms, {});
    });
  }
}

TEST_CASE("fully connected rows with a float32 bias, and matrices stored either way") {
  std::mt19937 random(seed + 3);
  const auto a = random_halves(2 * 37, random, 200), b = random_halves(3 * 37, random, 30);
  const std::vector<float> bias{1000.0625F, -3.3F, 0};
  const std::vector<Tensor> inputs{halves({2, 37}, a), halves({3, 37}, b), Tensor::from<float>({3}, std::span(bias))};
  const Model dense = one_operation(OperationKind::fully_connected, FullyConnectedAttributes{}, inputs, {{2, 3}}, float16);
  const auto at = [](const std::vector<Float16>& values, std::int64_t index) { return of(values[static_cast<std::size_t>(index)]); };
  const auto terms_of = [&](TermOrder order, std::int64_t row, std::int64_t column) {
    return ordered_terms(order, 1, 1, 37, [&](std::int64_t, std::int64_t, std::int64_t c) {
      return lean(product(at(a, row * 37 + c), at(b, column * 37 + c)));
    });
  };
  std::vector<Float16> b_transposed(b.size()), a_transposed(a.size());
  for (std::size_t c = 0; c < 37; ++c) {
    for (std::size_t n = 0; n < 3; ++n) b_transposed[c * 3 + n] = b[n * 37 + c];
    for (std::size_t m = 0; m < 2; ++m) a_transposed[c * 2 + m] = a[m * 37 + c];
  }
  const std::vector<Tensor> turned{halves({37, 2}, a_transposed), halves({37, 3}, b_transposed)}, plain{inputs[0], inputs[1]};
  const Model from_turned = one_operation(OperationKind::matmul, MatmulAttributes{true, false, {}}, turned, {{2, 3}}, float16);
  const Model from_plain = one_operation(OperationKind::matmul, MatmulAttributes{false, true, {}}, plain, {{2, 3}}, float16);
  for (const Choice& choice : choices()) {
    compare(dense, inputs, choice, [&](std::int64_t i) {
      return delivered(choice, terms_of(choice.terms, i / 3, i % 3), lean(dyadic(bias[static_cast<std::size_t>(i % 3)])));
    });
    const auto expected = [&](std::int64_t i) { return delivered(choice, terms_of(choice.terms, i / 3, i % 3), {}); };
    compare(from_turned, turned, choice, expected);
    compare(from_plain, plain, choice, expected);
  }
}

TEST_CASE("the orders differ where they must, and overflow is counted once per output") {
  // 2^24 swallows a 1 that comes alone, not two that come together.
  const std::vector<Float16> a{half(4096), half(1), half(1), half(-4096)}, b{half(4096), half(1), half(1), half(4096)};
  const std::vector<Tensor> inputs{halves({1, 4}, a), halves({1, 4}, b)};
  const Model model = one_operation(OperationKind::fully_connected, FullyConnectedAttributes{}, inputs, {{1, 1}}, float16);
  const auto sum = [&](SumOrder order) {
    const Choice choice{order, TermOrder::kernel_then_channel, BiasAt::accumulator_start};
    return real_of(values_of<Float16>(*run(model, with(choice), inputs).tensors.back())[0]);
  };
  CHECK(sum(SumOrder::sequential) == 0);
  CHECK(sum(SumOrder::pairwise) == 1);  // (2^24 + 1) + (1 - 2^24)
  CHECK(sum(SumOrder::blocks_exact) == 2);
  const std::vector<Tensor> large{halves({1, 4}, {half(60000), half(60000), half(0), half(0)}),
                                  halves({1, 4}, std::vector<Float16>(4, half(1)))};
  const Trace trace = run(model, ascend310, large, {.count_events = true});
  CHECK(trace.events[0].saturated_outputs == 1);
  CHECK(trace.tensors.back()->values<Float16>()[0].bits == 0x7BFF);
  CHECK(run(model, ascend910b, large).tensors.back()->values<Float16>()[0].bits == 0x7C00);
}

TEST_CASE("int8 convolutions deliver accumulators that a scale per channel turns into float16") {
  std::mt19937 random(seed + 4);
  Model model;
  const Shape image{1, 2, 2, 3}, filter{2, 1, 1, 3}, out{1, 2, 2, 2};
  std::vector<std::int8_t> pixels(12), weights(6);
  for (auto* list : {&pixels, &weights}) {
    for (std::int8_t& value : *list) value = static_cast<std::int8_t>(random() % 255 - 127);
  }
  model.tensors = {
      {"image", ElementType::int8, image, {{0.1}, {0}, 0}, {}},
      {"weights", ElementType::int8, filter, {{0.01, 0.02}, {}, 0}, Tensor::from<std::int8_t>(filter, std::span(std::as_const(weights)))},
      {"sums", ElementType::int32, out, {{0.001, 0.002}, {}, 3}, {}},
      {"real", float16, out, {}, {}}};
  model.operations = {{OperationKind::conv2d, "conv", {0, 1}, {2}, Conv2dAttributes{}},
                      {OperationKind::dequantize, "dequant", {2}, {3}, {}}};
  model.inputs = {0};
  model.outputs = {2, 3};
  validate(model, "test");
  const Tensor input = Tensor::from<std::int8_t>(image, std::span(std::as_const(pixels)));
  const Trace trace = run(model, ascend310, {&input, 1});
  for (std::size_t i = 0; i < 8; ++i) {
    std::int32_t sum = 0;
    for (std::size_t c = 0; c < 3; ++c) sum += std::int32_t{pixels[i / 2 * 3 + c]} * weights[i % 2 * 3 + c];
    REQUIRE(trace.tensors[2]->values<std::int32_t>()[i] == sum);
    const float scale = i % 2 == 0 ? 0.001F : 0.002F;
    REQUIRE(same(trace.tensors[3]->values<Float16>()[i], HalfOracle{Mode::saturation}.of(as_float32(product({sum, 0}, dyadic(scale))))));
  }
}

}  // namespace lastbit
