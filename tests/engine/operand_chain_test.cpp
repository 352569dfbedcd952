// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Terms that pass an operand chain before they are added, and codes that are added as they are, in every operation that is a sum of codes or
// of products: against loops that know nothing of the engine's. No built-in device has such a chain in front of a sum of products.
#include <random>

#include "lastbit/emulator.hpp"
#include "lastbit/error.hpp"
#include "lastbit/model_builder.hpp"
#include "lastbit/prove.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "support/catch.hpp"
#include "support/oracle.hpp"
#include "support/tally.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

constexpr std::int64_t x_zero = 7, w_zero = -3;

/// half_away(p / 16), kept in 8 bits.
const RescaleRule sixteenth{{}, {stage::shift_right_by(4, Rounding::half_away), stage::narrow_to(8, Overflow::saturate)}};
std::int64_t term_of(std::int64_t product) {
  return static_cast<std::int64_t>(std::clamp<Int128>(rounded(product, 16, Rounding::half_away), -128, 127));
}

/// A sum of 12 bits that saturates after every term.
constexpr AccumulatorRule narrow_sum{.bits = 12, .overflow = Overflow::saturate, .when = NarrowingPoint::every_add};
std::int64_t add_to(std::int64_t sum, std::int64_t term) { return std::clamp<std::int64_t>(sum + term, -2048, 2047); }

Backend device(Centring centring) {
  Backend backend = find_backend("tflite_double").backend;
  for (SumArithmetic* sum : {&backend.conv.i8.sum, &backend.depthwise_conv.i8.sum, &backend.transposed_conv.i8.sum,
                             &backend.fully_connected.i8.sum, &backend.matmul.i8.sum})
    *sum = {.centring = centring, .operand = sixteenth, .accumulator = narrow_sum, .output = sum->output};
  return backend;
}

struct Layer {
  Model model;
  std::vector<std::int8_t> x, w;
};

std::vector<std::int8_t> random_codes(std::size_t count, std::mt19937& random) {
  std::vector<std::int8_t> codes(count);
  for (std::int8_t& code : codes) code = static_cast<std::int8_t>(random());
  return codes;
}

std::size_t elements(const Shape& shape) { return static_cast<std::size_t>(shape.element_count()); }

/// An int32 output without a scale: the sums themselves. The second factor of a matmul is given at run time.
Layer layer_of(OperationKind kind, const Shape& x, const Shape& w, const Shape& y, std::optional<Attributes> attributes,
               std::mt19937& random) {
  ModelBuilder builder("layer");
  Layer layer{{}, random_codes(elements(x), random), random_codes(elements(w), random)};
  const auto input = builder.input({"x", ElementType::int8, x, {{0.5}, {x_zero}}});
  const auto weights = kind == OperationKind::matmul ? builder.input({"w", ElementType::int8, w, {{0.25}, {w_zero}}})
                                                     : builder.constant("w", w, layer.w, {{0.25}, {w_zero}});
  const auto output = builder.operation(kind, {input, weights}, {"y", ElementType::int32, y}, std::move(attributes));
  layer.model = builder.finished({output});
  return layer;
}

std::vector<std::int32_t> sums_of(const Layer& layer, const Backend& backend) {
  std::vector<Tensor> inputs{Tensor::from<std::int8_t>(layer.model.tensor(layer.model.inputs[0]).shape, layer.x)};
  if (layer.model.inputs.size() > 1) inputs.push_back(Tensor::from<std::int8_t>(layer.model.tensor(layer.model.inputs[1]).shape, layer.w));
  const Trace trace = run(layer.model, backend, inputs);
  const auto values = trace.tensors[static_cast<std::size_t>(layer.model.outputs[0])]->values<std::int32_t>();
  return {values.begin(), values.end()};
}

std::int64_t zero_of(Centring centring, std::int64_t zero) { return centring == Centring::nothing ? 0 : zero; }

constexpr Centring centrings[] = {Centring::own_zero_point, Centring::nothing};

TEST_CASE("an operand chain: rows and columns of a matrix") {
  std::mt19937 random(1);
  for (const Centring centring : centrings) {
    const std::int64_t zx = zero_of(centring, x_zero), zw = zero_of(centring, w_zero);
    constexpr std::size_t rows = 5, length = 40, outputs = 6;
    for (const bool is_matmul : {false, true}) {
      const Shape w = is_matmul ? Shape{length, outputs} : Shape{outputs, length};
      const Layer layer =
          layer_of(is_matmul ? OperationKind::matmul : OperationKind::fully_connected, {rows, length}, w, {rows, outputs}, {}, random);
      const auto sums = sums_of(layer, device(centring));
      Tally tally;
      for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t o = 0; o < outputs; ++o) {
          std::int64_t sum = 0;
          for (std::size_t i = 0; i < length; ++i)
            sum = add_to(sum, term_of((layer.x[r * length + i] - zx) * (layer.w[is_matmul ? i * outputs + o : o * length + i] - zw)));
          tally.equal(std::int64_t{sums[r * outputs + o]}, sum, r, o);
        }
      }
      tally.check(rows * outputs);
    }
  }
}

TEST_CASE("an operand chain: convolutions, the taps in the padding left out") {
  std::mt19937 random(2);
  constexpr std::int64_t size = 5, in = 3, out = 4, kernel = 3;
  for (const Centring centring : centrings) {
    const std::int64_t zx = zero_of(centring, x_zero), zw = zero_of(centring, w_zero);
    for (const bool depthwise : {false, true}) {
      Conv2dAttributes attributes;
      attributes.padding.mode = PaddingMode::same;
      const std::int64_t channels = depthwise ? in : out;
      const Layer layer = layer_of(depthwise ? OperationKind::depthwise_conv2d : OperationKind::conv2d, {1, size, size, in},
                                   depthwise ? Shape{1, kernel, kernel, in} : Shape{out, kernel, kernel, in}, {1, size, size, channels},
                                   attributes, random);
      const auto sums = sums_of(layer, device(centring));
      const auto x_at = [&](std::int64_t y, std::int64_t x, std::int64_t c) {
        return layer.x[static_cast<std::size_t>((y * size + x) * in + c)] - zx;
      };
      const auto w_at = [&](std::int64_t o, std::int64_t ky, std::int64_t kx, std::int64_t c) {
        const std::int64_t at = depthwise ? (ky * kernel + kx) * in + o : ((o * kernel + ky) * kernel + kx) * in + c;
        return layer.w[static_cast<std::size_t>(at)] - zw;
      };
      Tally tally;
      for (std::int64_t index = 0; index < size * size * channels; ++index) {
        const std::int64_t o = index % channels, x = index / channels % size, y = index / channels / size;
        std::int64_t sum = 0;
        for (std::int64_t tap = 0; tap < kernel * kernel; ++tap) {
          const std::int64_t ky = tap / kernel, kx = tap % kernel, iy = y + ky - 1, ix = x + kx - 1;
          if (iy < 0 || iy >= size || ix < 0 || ix >= size) continue;
          for (std::int64_t c = depthwise ? o : 0; c < (depthwise ? o + 1 : in); ++c)
            sum = add_to(sum, term_of(x_at(iy, ix, c) * w_at(o, ky, kx, c)));
        }
        tally.equal(std::int64_t{sums[static_cast<std::size_t>(index)]}, sum, y, x, o);
      }
      tally.check(size * size * channels);
    }
  }
}

TEST_CASE("an operand chain that rescales: every channel by its own scale, no scale behind the sum") {
  std::mt19937 random(3);
  Backend backend = find_backend("tflite_double").backend;
  backend.fully_connected.i8.sum.operand = {{.arithmetic = ScaleArithmetic::f64}, {stage::float_scale(Rounding::half_even)}};
  backend.fully_connected.i8.sum.output = {.chain = {stage::add_zero_point(), stage::clamp()}};
  require_stated(backend);
  constexpr std::int64_t length = 16, outputs = 3;
  const std::vector<std::int8_t> x = random_codes(length, random), w = random_codes(length * outputs, random);
  const std::vector<double> scales{0.5, 0.0625, 0.001};
  ModelBuilder builder("layer");
  const auto input = builder.input({"x", ElementType::int8, {1, length}, {{0.25}, {0}}});
  const auto weights = builder.constant("w", {outputs, length}, w, {scales, {0, 0, 0}, 0});
  const auto output =
      builder.operation(OperationKind::fully_connected, {input, weights}, {"y", ElementType::int8, {1, outputs}, {{16}, {5}}});
  const Model model = builder.finished({output});
  const std::vector<Tensor> inputs{Tensor::from<std::int8_t>({1, length}, x)};
  const Trace trace = run(model, backend, inputs);
  for (std::size_t o = 0; o < outputs; ++o) {
    Int128 sum = 5;
    const auto scale = static_cast<Int128>(std::ldexp(static_cast<double>(static_cast<float>(0.25 * scales[o] / 16)), 80));
    for (std::size_t i = 0; i < length; ++i) sum += rounded(Int128{x[i] * w[o * length + i]} * scale, two_to_the(80), Rounding::half_even);
    CHECK(trace.tensors[static_cast<std::size_t>(output)]->values<std::int8_t>()[o] == std::clamp<Int128>(sum, -128, 127));
  }
}

/// Of windows of 3x3 with padding, or of a whole image.
TEST_CASE("an operand chain: averages, means and pools by sum") {
  std::mt19937 random(4);
  constexpr std::int64_t size = 4;
  using enum OperationKind;
  for (const Centring centring : centrings) {
    for (const OperationKind kind : {average_pool2d, mean, sum_pool2d}) {
      for (const PaddingCount padding : {PaddingCount::excluded, PaddingCount::included}) {
        const SumArithmetic sum{.centring = centring,
                                .operand = {{}, {stage::shift_right_by(2, Rounding::half_up)}},
                                .accumulator = {.bits = 7, .overflow = Overflow::saturate, .when = NarrowingPoint::every_add},
                                .output = {.chain = {stage::clamp()}}};
        Backend backend = find_backend("tflite_double").backend;
        backend.average_pool = {.padding = padding, .output_scale = OutputScale::of_input, .sum = sum};
        backend.mean = {.count = CountIn::ratio, .sum = sum};
        backend.sum_pool = {.order = WindowOrder::rows_outermost, .i8 = sum};
        require_stated(backend);
        const std::vector<std::int8_t> x = random_codes(size * size, random);
        Pool2dAttributes pool;
        pool.filter = {3, 3};
        pool.padding.mode = kind == sum_pool2d ? PaddingMode::valid : PaddingMode::same;
        const std::int64_t places = kind == mean ? 1 : kind == sum_pool2d ? size - 2 : size;
        const auto attributes = kind == mean ? Attributes(MeanAttributes{{1, 2}, true}) : Attributes(pool);
        ModelBuilder builder("layer");
        const auto input = builder.input({"x", ElementType::int8, {1, size, size, 1}, {{0.5}, {x_zero}}});
        const auto output =
            builder.operation(kind, {input}, {"y", ElementType::int8, {1, places, places, 1}, {{0.5}, {x_zero}}}, attributes);
        const Trace trace = run(builder.finished({output}), backend, std::vector{Tensor::from<std::int8_t>({1, size, size, 1}, x)});
        const auto values = trace.tensors[static_cast<std::size_t>(output)]->values<std::int8_t>();
        const std::int64_t kernel = kind == mean ? size : 3, first = kind == mean || kind == sum_pool2d ? 0 : -1;
        for (std::int64_t place = 0; place < places * places; ++place) {
          std::int64_t expected = 0, outside = 0;
          const auto add = [&](std::int64_t code) {
            const auto term = static_cast<std::int64_t>(rounded(code - zero_of(centring, x_zero), 4, Rounding::half_up));
            expected = std::clamp<std::int64_t>(expected + term, -64, 63);
          };
          for (std::int64_t tap = 0; tap < kernel * kernel; ++tap) {
            const std::int64_t iy = place / places + first + tap / kernel, ix = place % places + first + tap % kernel;
            if (iy < 0 || iy >= size || ix < 0 || ix >= size) ++outside;
            else add(x[static_cast<std::size_t>(iy * size + ix)]);
          }
          for (; padding == PaddingCount::included && outside > 0; --outside) add(x_zero);
          INFO(name_of(kind) << " " << name_of(centring) << " " << name_of(padding) << " place " << place);
          CHECK(std::int64_t{values[static_cast<std::size_t>(place)]} == expected);
        }
      }
    }
  }
}

TEST_CASE("an operand chain is what a proof adds up: 127 each instead of 127 * 127") {
  std::mt19937 random(5);
  SpecSheet sheet = find_backend("tflite_double");
  sheet.backend = device(Centring::own_zero_point);
  const auto proof_of = [&](std::int64_t length) {
    return prove(layer_of(OperationKind::fully_connected, {1, length}, {1, length}, {1, 1}, {}, random).model, sheet, {}).layers[0];
  };
  CHECK(proof_of(15).safe());  // 15 * 128 < 2048
  const LayerProof unsafe = proof_of(60);
  REQUIRE_FALSE(unsafe.safe());
  REQUIRE(unsafe.example);
  CHECK(unsafe.example->overflows > 0);
  CHECK(unsafe.example->counted == unsafe.example->overflows);
}

TEST_CASE("a proof bounds the codes as they are where no zero point is subtracted") {
  SpecSheet sheet = find_backend("tflite_double");
  set_rule(sheet.backend, "fully_connected.i8.accumulator.bits", "12");
  ModelBuilder builder("layer");
  const auto input = builder.input({"x", ElementType::uint8, {1, 10}, {{0.5}, {128}}});
  const auto weights = builder.constant("w", {1, 10}, std::vector<std::int8_t>(10, 1), {{0.25}, {0}});
  const auto output = builder.operation(OperationKind::fully_connected, {input, weights}, {"y", ElementType::int32, {1, 1}});
  const Model model = builder.finished({output});
  CHECK(prove(model, sheet, {}).safe());  // 10 * 128 < 2048
  set_rule(sheet.backend, "fully_connected.i8.centring", "nothing");
  const LayerProof unsafe = prove(model, sheet, {}).layers[0];
  CHECK(unsafe.sums().upper == 2550);
  REQUIRE(unsafe.example);
  CHECK(unsafe.example->counted == unsafe.example->overflows);
}

TEST_CASE("what no sum of products has is refused when it is set") {
  Backend backend = find_backend("tflite_double").backend;
  CHECK_THROWS_AS(set_rule(backend, "conv.i8.centring", "first_zero_point_factor_rounded"), Error);
  CHECK_THROWS_AS(set_rule(backend, "average_pool.centring", "first_zero_point_product_rounded"), Error);
  CHECK_NOTHROW(set_rule(backend, "add.i8.centring", "first_zero_point_factor_rounded"));
  CHECK_NOTHROW(set_rule(backend, "conv.i8.rescale.chain.2.rounding", "floor"));  // the name of version 0.1
  CHECK(backend.conv.i8.sum.output.chain.stages[2].rounding == Rounding::floor);
}

}  // namespace
}  // namespace lastbit
