// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Vector operations on float16 data against steps rounded by definition.
#include <cmath>
#include <limits>

#include "lastbit/backends/ascend.hpp"
#include "lastbit/error.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "support/catch.hpp"
#include "support/float16_steps.hpp"
#include "support/one_operation.hpp"

namespace lastbit {
namespace {

using namespace test;

constexpr auto float16 = ElementType::float16;

Trace traced(const Backend& backend, OperationKind kind, const Attributes& attributes, const std::vector<Tensor>& inputs,
             const Shape& output, ElementType type = float16) {
  const Model model = one_operation(kind, attributes, inputs, {output}, type);
  return run(model, backend, inputs, {.count_events = true});
}

std::vector<Float16> computed(const Backend& backend, OperationKind kind, const Attributes& attributes, const std::vector<Tensor>& inputs,
                              const Shape& output) {
  return values_of<Float16>(*traced(backend, kind, attributes, inputs, output).tensors.back());
}

struct Device {
  Backend backend = no_rules;
  HalfOracle oracle;
};
const std::vector<Device> devices{{ascend310, {Mode::saturation}}, {ascend910b, {Mode::infinity}}};

/// Zeros, the least and largest subnormal and normal values, ties of sums and products, both signs.
std::vector<Float16> chosen() {
  std::vector<Float16> values;
  for (const int bits :
       {0, 1, 2, 0x3FF, 0x400, 0x401, 0x1400, 0x3555, 0x3BFF, 0x3C00, 0x3C01, 0x3E00, 0x4248, 0x5640, 0x6BFF, 0x7801, 0x7BFE, 0x7BFF}) {
    values.push_back({static_cast<std::uint16_t>(bits)});
    values.push_back({static_cast<std::uint16_t>(bits + 0x8000)});
  }
  return values;
}

struct Pairs {
  std::vector<Float16> a, b;
};
Pairs pairs() {
  Pairs all;
  for (const Float16 a : chosen()) {
    for (const Float16 b : chosen()) {
      all.a.push_back(a);
      all.b.push_back(b);
    }
  }
  return all;
}

Float16 pattern(int bits) { return {static_cast<std::uint16_t>(bits)}; }

}  // namespace

TEST_CASE("float16 sums, differences and products are exact results rounded once") {
  const auto [a, b] = pairs();
  const Shape shape{static_cast<std::int64_t>(a.size())};
  const std::vector<Tensor> inputs{halves(shape, a), halves(shape, b)};
  for (const auto& [backend, oracle] : devices) {
    const auto sum = computed(backend, OperationKind::add, ElementwiseAttributes{}, inputs, shape);
    const auto difference = computed(backend, OperationKind::sub, ElementwiseAttributes{}, inputs, shape);
    const auto product = computed(backend, OperationKind::mul, ElementwiseAttributes{}, inputs, shape);
    for (std::size_t i = 0; i < a.size(); ++i) {
      INFO(a[i].bits << " and " << b[i].bits);
      REQUIRE(sum[i] == oracle.sum(a[i], b[i]));
      REQUIRE(difference[i] == oracle.sum(a[i], oracle.opposite(b[i])));
      REQUIRE(product[i] == oracle.product(a[i], b[i]));
    }
  }
}

TEST_CASE("results that leave float16 are counted, and only they") {
  const auto [a, b] = pairs();
  const Shape shape{static_cast<std::int64_t>(a.size())};
  const std::vector<Tensor> inputs{halves(shape, a), halves(shape, b)};
  std::int64_t expected = 0;
  for (std::size_t i = 0; i < a.size(); ++i) expected += HalfOracle{Mode::infinity}.sum(a[i], b[i]).bits % 0x8000 == 0x7C00;
  REQUIRE(expected > 0);
  for (const auto& [backend, oracle] : devices) {
    const Trace trace = traced(backend, OperationKind::add, ElementwiseAttributes{}, inputs, shape);
    CHECK(trace.events[0].saturated_outputs == expected);
    CHECK(trace.events[0].outputs == shape[0]);
  }
}

TEST_CASE("NaN and infinities: kept in infinity mode, 0 and 65504 in saturation mode, wherever they come from") {
  const std::vector<Float16> special{pattern(0x7C00), pattern(0xFC00), pattern(0x7E00), pattern(0x3C00)};
  const std::vector<Tensor> input{halves({4}, special)};
  const std::vector<Float16> settled{pattern(0x7BFF), pattern(0xFBFF), pattern(0), pattern(0x3C00)};
  for (const auto kind : {OperationKind::cast, OperationKind::relu_n1_to_1}) {
    const bool is_bound = kind == OperationKind::relu_n1_to_1;
    const auto expect = [&](std::vector<Float16> values) {
      if (is_bound) values[0] = pattern(0x3C00), values[1] = pattern(0xBC00);
      return values;
    };
    CHECK(computed(ascend310, kind, {}, input, {4}) == expect(settled));
    CHECK(computed(ascend910b, kind, {}, input, {4}) == expect(special));
  }
  const std::vector<Tensor> both{halves({1}, {pattern(0x7C00)}), halves({1}, {pattern(0xFC00)})};
  CHECK(computed(ascend910b, OperationKind::add, ElementwiseAttributes{}, both, {1})[0] == pattern(0x7E00));  // whatever the host's NaN is
  CHECK(computed(ascend310, OperationKind::add, ElementwiseAttributes{}, both, {1})[0] == pattern(0));
}

TEST_CASE("casts to float32 are exact for every pattern, and back they are the identity") {
  const auto all = finite_halves();
  const Shape shape{static_cast<std::int64_t>(all.size())};
  const Tensor real = *traced(ascend310, OperationKind::cast, {}, {halves(shape, all)}, shape, ElementType::float32).tensors.back();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].bits % 0x8000 != 0) REQUIRE(same_number(dyadic(real.values<float>()[i]), {float16_units(all[i]), -24}));
  }
  CHECK(computed(ascend310, OperationKind::cast, {}, {real}, shape) == all);
}

TEST_CASE("casts from float32 round half to even, and saturate from 65520 on") {
  const std::vector<float> values{65519.996F, 65520, 1e30F, -65520, 1 + 0x1p-11F, 1 + 0x3p-11F, 0x1p-25F, 0x1.8p-25F, -0.0F};
  const std::vector<Tensor> input{Tensor::from<float>({9}, std::span(values))};
  const auto saturated = computed(ascend310, OperationKind::cast, {}, input, {9});
  CHECK(saturated == std::vector<Float16>{pattern(0x7BFF), pattern(0x7BFF), pattern(0x7BFF), pattern(0xFBFF), pattern(0x3C00),
                                          pattern(0x3C02), pattern(0), pattern(1), pattern(0x8000)});
  CHECK(computed(ascend910b, OperationKind::cast, {}, input, {9})[1] == pattern(0x7C00));
  CHECK(computed(ascend_ge2021, OperationKind::cast, {}, input, {9})[1] == pattern(0x7FFF));
  CHECK(computed(ascend_ge2021, OperationKind::cast, {}, input, {9})[2] == pattern(0x7BFF));
}

TEST_CASE("casts from float32 to float32 move their values") {
  const std::vector<float> values{1e30F, -0x1p-140F, 1 + 0x1p-20F, -std::numeric_limits<float>::infinity(), 65520, -0.0F, 3};
  const Shape shape{std::ssize(values)};
  const Tensor input = Tensor::from<float>(shape, std::span(values));
  for (const auto& [backend, oracle] : devices) {
    const Trace trace = traced(backend, OperationKind::cast, {}, {input}, shape, ElementType::float32);
    CHECK(*trace.tensors.back() == input);
    CHECK(trace.events[0].outputs == shape[0]);
    CHECK(trace.events[0].saturated_outputs == 0);
  }
}

TEST_CASE("add_n adds input after input: with saturating sums the order is part of the result") {
  const auto sum_of = [](const Backend& backend, const std::vector<double>& terms) {
    std::vector<Tensor> inputs;
    for (const double term : terms) inputs.push_back(halves({1}, {half(term)}));
    return real_of(computed(backend, OperationKind::add_n, ElementwiseAttributes{}, inputs, {1})[0]);
  };
  CHECK(sum_of(ascend310, {60000, 60000, -60000}) == 5504);
  CHECK(sum_of(ascend310, {60000, -60000, 60000}) == 60000);
  Backend changed = ascend310;
  set_rule(changed, "float16.add_n.order", "pairwise");
  CHECK(sum_of(ascend310, {40000, -30000, 60000, -60000}) == 5504);  // 10000, 65504, 5504
  CHECK(sum_of(changed, {40000, -30000, 60000, -60000}) == 10000);
  changed = ascend310;
  set_rule(changed, "float16.add_n.precision", "float32");
  CHECK(sum_of(changed, {60000, 60000, -60000}) == 60000);
  CHECK(sum_of(ascend310, {2048, 1, 1}) == 2048);  // a tie, twice
  CHECK(sum_of(changed, {2048, 1, 1}) == 2050);
}

TEST_CASE("functions in float16 steps, every finite value") {
  const auto all = finite_halves();
  const Shape shape{static_cast<std::int64_t>(all.size())};
  const std::vector<Tensor> input{halves(shape, all)};
  const HalfOracle o{Mode::saturation};
  const auto logistic = computed(ascend310, OperationKind::logistic, {}, input, shape);
  const auto exponential = computed(ascend310, OperationKind::exp, {}, input, shape);
  const auto tangent = computed(ascend310, OperationKind::tanh, {}, input, shape);
  const auto swish = computed(ascend310, OperationKind::hard_swish, {}, input, shape);
  const auto leaky = computed(ascend310, OperationKind::leaky_relu, LeakyReluAttributes{0.1}, input, shape);
  const auto exp16 = [&](Float16 x) {
    const double value = std::exp(real_of(x));
    return std::isinf(value) ? pattern(0x7BFF) : value < 1e-30 ? pattern(0) : o.of(dyadic(value));
  };
  const Float16 one = half(1);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Float16 x = all[i], size = pattern(x.bits % 0x8000);
    INFO(real_of(x));
    REQUIRE(exponential[i] == exp16(x));
    REQUIRE(logistic[i] == o.quotient(one, o.sum(exp16(o.opposite(x)), one)));
    const Float16 e = exp16(o.product(size, half(-2)));
    const Float16 above = o.sum(x, o.opposite(o.product(e, x))), below = o.product(o.sum(e, one), o.sum(size, half(0x1p-14)));
    REQUIRE(tangent[i] == o.quotient(above, below));
    Float16 gate = o.sum(x, half(3));
    gate = real_of(gate) < 0 ? half(0) : real_of(gate) > 6 ? half(6) : gate;
    REQUIRE(swish[i] == o.product(o.product(x, gate), half(1.0 / 6)));
    REQUIRE(leaky[i] == (real_of(x) < 0 ? o.product(x, half(0.1)) : x));
  }
}

TEST_CASE("the same functions in float32 steps are within half a float16 step of the function") {
  const auto all = finite_halves();
  const Shape shape{static_cast<std::int64_t>(all.size())};
  const auto found = computed(ascend310p, OperationKind::logistic, {}, {halves(shape, all)}, shape);
  std::size_t exact = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double x = real_of(all[i]);
    exact += found[i] == half(1 / (1 + std::exp(-x)));
  }
  CHECK(exact > all.size() - 100);  // where float32 steps and the exact value lie on two sides of a tie
  CHECK(computed(ascend910a, OperationKind::logistic, {}, {halves({1}, {half(-20)})}, {1}) !=
        computed(ascend310, OperationKind::logistic, {}, {halves({1}, {half(-20)})}, {1}));  // the 910A bounds x from below
}

TEST_CASE("softmax: the difference in float16, then the exponentials and their sum by the rules") {
  const std::vector<Float16> row{half(1.5), half(-0.75), half(3.125), half(2.0)};
  const HalfOracle o{Mode::saturation};
  for (const auto* backend : {&ascend310, &ascend310p}) {
    const auto found = computed(*backend, OperationKind::softmax, SoftmaxAttributes{}, {halves({4}, row)}, {4});
    std::vector<float> powers;
    for (const Float16 value : row) {
      const double power = std::exp(real_of(o.sum(value, o.opposite(row[2]))));
      powers.push_back(backend == &ascend310 ? static_cast<float>(real_of(half(power))) : static_cast<float>(power));
    }
    const float sum = ((powers[0] + powers[1]) + powers[2]) + powers[3];
    for (std::size_t i = 0; i < 4; ++i) CHECK(found[i] == half(double{powers[i] / sum}));
  }
}

TEST_CASE("means: every value scaled before the sum, or the sum scaled; each step rounded") {
  const std::vector<Float16> values{half(1000.5), half(3.25), half(-7.125), half(0.333), half(20000), half(1)};
  const HalfOracle o{Mode::saturation};
  const Float16 third = half(1.0 / 3);
  const auto mean = computed(ascend310, OperationKind::mean, MeanAttributes{{1}, false}, {halves({2, 3}, values)}, {2});
  for (std::size_t r = 0; r < 2; ++r) {
    const auto scaled = [&](std::size_t i) { return o.product(values[3 * r + i], third); };
    CHECK(mean[r] == o.sum(o.sum(scaled(0), scaled(1)), scaled(2)));
  }
  const Pool2dAttributes window{{1, 2}, {1, 1}, {PaddingMode::same, 0, 0, 0, 0}, {}};
  const auto pooled = computed(ascend310, OperationKind::average_pool2d, window, {halves({1, 1, 6, 1}, values)}, {1, 1, 6, 1});
  for (std::size_t i = 0; i < 5; ++i) CHECK(pooled[i] == o.product(o.sum(values[i], values[i + 1]), half(0.5)));
  CHECK(pooled[5] == values[5]);  // a tap in the padding is not counted
  const std::vector<Tensor> with_nan{halves({1, 1, 3, 1}, {pattern(0x3C00), pattern(0x7E00), pattern(0x4000)})};
  const Pool2dAttributes all{{1, 3}, {1, 1}, {}, {}};
  CHECK(computed(ascend910b, OperationKind::max_pool2d, all, with_nan, {1, 1, 1, 1})[0] == pattern(0x7E00));
  const auto largest = computed(ascend310, OperationKind::max_pool2d, window, {halves({1, 1, 6, 1}, values)}, {1, 1, 6, 1});
  CHECK(largest == std::vector<Float16>{values[0], values[1], values[3], values[4], values[4], values[5]});
}

TEST_CASE("AscendQuant: float16 steps, float32 data converted first") {
  const HalfOracle o{Mode::saturation};
  const std::vector<float> data{0.1F, -3.3333F, 12.5F, 1000, -1000, 0.051F, 65519};
  const Tensor real = Tensor::from<float>({7}, std::span(data));
  std::vector<Float16> converted;
  for (const float value : data) converted.push_back(half(double{value}));
  for (const Tensor& input : {real, halves({7}, converted)}) {
    const Model model = conversion(OperationKind::quantize, input, {}, ElementType::int8, {{0.1}, {-3}, 0});
    const Trace trace = run(model, ascend310, {&input, 1});
    for (std::size_t i = 0; i < 7; ++i) {
      const Float16 shifted = o.sum(o.product(converted[i], half(10)), half(-3));
      const Int128 code = std::clamp<Int128>(rounded(float16_units(shifted), two_to_the(24), Rounding::half_even), -128, 127);
      CHECK(trace.tensors[1]->integer_at(static_cast<std::int64_t>(i)) == static_cast<std::int64_t>(code));
    }
  }
}

TEST_CASE("AscendDequant: int32 accumulators with a scale per channel become float16; 11 bits of the scale as a setting") {
  const std::vector<std::int32_t> sums{100, -2000, 1 << 24, (1 << 24) + 1, 7, 8};
  const std::vector<double> scales{0.1, 0.003};
  const Tensor input = Tensor::from<std::int32_t>({3, 2}, std::span(sums));
  const Model model = conversion(OperationKind::dequantize, input, {scales, {}, 1}, float16, {});
  Backend cut = ascend310;
  set_rule(cut, "float16.dequantize.scale_bits", "11");
  for (const auto& [backend, bits] : std::vector<std::pair<Backend, int>>{{ascend310, 24}, {cut, 11}}) {
    const auto found = values_of<Float16>(*run(model, backend, {&input, 1}).tensors[1]);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      Dyadic scale = dyadic(static_cast<float>(scales[i % 2]));
      while (bit_length(scale.significand) > bits) scale = {scale.significand / 2, scale.exponent + 1};
      const Dyadic sum = as_float32({sums[i], 0});
      CHECK(found[i] == HalfOracle{Mode::saturation}.of(as_float32(product(sum, scale))));
    }
  }
}

TEST_CASE("a device without float16 refuses it in one line, and float32 operations run on the golden path") {
  const std::vector<Tensor> inputs{halves({1}, {half(1)}), halves({1}, {half(2)})};
  const Model model = one_operation(OperationKind::add, ElementwiseAttributes{}, inputs, {{1}}, float16);
  const auto problems = check(model, find_backend("tflite_double").backend);
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].message == "the backend has no float16 arithmetic");
  const float third = 1.0F / 3;
  const std::vector<Tensor> real{Tensor::from<float>({1}, std::span(&third, 1)), Tensor::from<float>({1}, std::span(&third, 1))};
  const Trace trace = traced(ascend310, OperationKind::add, ElementwiseAttributes{}, real, {1}, ElementType::float32);
  CHECK(trace.tensors.back()->values<float>()[0] == third + third);
}

}  // namespace lastbit
