// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/op/resize.hpp"

#include <random>

#include "lastbit/backends/onnxruntime.hpp"
#include "lastbit/backends/tflite.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/registry.hpp"
#include "support/catch.hpp"
#include "support/layer_model.hpp"
#include "support/one_operation.hpp"
#include "support/oracle.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;
using enum ResizeCoordinates;

Tensor resized(const Tensor& image, const Shape& to, const ResizeAttributes& attributes, const Backend& backend) {
  ModelBuilder builder;
  const Quantization codes{{0.5}, {3}, 0};
  const auto input = builder.input({"x", image.type(), image.shape(), codes});
  const auto output = builder.operation(OperationKind::resize, {input}, {"y", image.type(), to, codes}, attributes);
  return *run(builder.finished({output}), backend, {{image}}).tensors[static_cast<std::size_t>(output)];
}

struct Sizes {
  std::int64_t in, out;
};

/// 2^10 times the place of an output pixel, from the definition of ResizeGrid::step.
std::int64_t place(ResizeCoordinates coordinates, Sizes sizes, std::int64_t index) {
  const std::int64_t less = coordinates == align_corners && sizes.out > 1 ? 1 : 0;
  const auto step = static_cast<std::int64_t>(rounded(Int128{1024} * (sizes.in - less), sizes.out - less, Rounding::half_up));
  const std::int64_t half = coordinates == half_pixel ? static_cast<std::int64_t>(rounded(step, 2, Rounding::floor)) - 512 : 0;
  return std::clamp<std::int64_t>(index * step + half, 0, (sizes.in - 1) * 1024);
}

TEST_CASE("resize between two quantisations: TFLite's kernels resize the codes as they are, others refuse") {
  Tensor image(ElementType::int8, {1, 2, 3, 1});
  for (std::size_t i = 0; i < 6; ++i) image.values<std::int8_t>()[i] = static_cast<std::int8_t>(20 * i - 60);
  for (const ResizeMode mode : {ResizeMode::bilinear, ResizeMode::nearest}) {
    const ResizeAttributes attributes{.mode = mode, .coordinates = asymmetric, .nearest = Rounding::floor, .scales = {}};
    ModelBuilder builder;
    const auto input = builder.input({"x", ElementType::int8, image.shape(), {{0.5}, {3}, 0}});
    const auto output =
        builder.operation(OperationKind::resize, {input}, {"y", ElementType::int8, {1, 4, 5, 1}, {{0.25}, {-7}, 0}}, attributes);
    const Model model = builder.finished({output});
    for (const char* const name : {"tflite_double", "tflite_single", "tflite_builtin_double", "tflite_builtin_single"}) {
      INFO(name);
      const Backend& backend = find_backend(name).backend;
      CHECK(*run(model, backend, {{image}}).tensors[static_cast<std::size_t>(output)] == resized(image, {1, 4, 5, 1}, attributes, backend));
    }
    for (const char* const name : {"xnnpack", "vipnano_v8", "bernoulli2"}) {
      INFO(name);
      CHECK_FALSE(check(model, find_backend(name).backend).empty());
    }
  }
}

TEST_CASE("resize on a grid by its step: every weight and rounding, from the definition in integers") {
  constexpr unsigned seed = 5;
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const auto from = [&](std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(random() % static_cast<unsigned>(most - least + 1));
  };
  for (int turn = 0; turn < 300; ++turn) {
    const Sizes rows{from(1, 9), from(1, 20)}, columns{from(1, 9), from(1, 20)};
    const ResizeCoordinates coordinates = std::array{half_pixel, asymmetric, align_corners}[random() % 3];
    const bool once = random() % 2 == 0;
    Tensor image(ElementType::int8, {1, rows.in, columns.in, 1});
    for (std::int8_t& code : image.values<std::int8_t>()) code = static_cast<std::int8_t>(from(-128, 127));
    const Tensor found =
        resized(image, {1, rows.out, columns.out, 1}, {.mode = ResizeMode::bilinear, .coordinates = coordinates, .scales = {}},
                once ? tflite_single : tflite_double);
    const auto code_at = [&](std::int64_t y, std::int64_t x) {
      return Int128{image.integer_at(std::min(y, rows.in - 1) * columns.in + std::min(x, columns.in - 1))};
    };
    for (std::int64_t y = 0; y < rows.out; ++y) {
      for (std::int64_t x = 0; x < columns.out; ++x) {
        const std::int64_t py = place(coordinates, rows, y), px = place(coordinates, columns, x);
        const std::int64_t wy = py % 1024, wx = px % 1024, iy = py / 1024, ix = px / 1024;
        const Int128 sum = (code_at(iy, ix) * (1024 - wx) + code_at(iy, ix + 1) * wx) * (1024 - wy) +
                           (code_at(iy + 1, ix) * (1024 - wx) + code_at(iy + 1, ix + 1) * wx) * wy;
        const auto expected = rounded(sum, two_to_the(20), once ? Rounding::half_up : Rounding::half_away);
        REQUIRE(found.integer_at(y * columns.out + x) == expected);
      }
    }
  }
}

TEST_CASE("resize on a grid interpolates codes as they are: a negative tie goes away from zero, not from the zero point") {
  const Tensor image = tensor_of<std::int8_t>({1, 1, 2, 1}, {-2, -1});
  const ResizeAttributes corners{.mode = ResizeMode::bilinear, .coordinates = align_corners, .scales = {}};
  CHECK(resized(image, {1, 1, 3, 1}, corners, tflite_double) == tensor_of<std::int8_t>({1, 1, 3, 1}, {-2, -2, -1}));
  CHECK(resized(image, {1, 1, 3, 1}, corners, tflite_single) == tensor_of<std::int8_t>({1, 1, 3, 1}, {-2, -1, -1}));
  const Tensor above = tensor_of<std::int8_t>({1, 1, 2, 1}, {1, 2});  // below the zero point, 3
  CHECK(resized(above, {1, 1, 3, 1}, corners, tflite_double) == tensor_of<std::int8_t>({1, 1, 3, 1}, {1, 2, 2}));
}

TEST_CASE("resize of uint8 in float32: the order of products and sums decides, beyond the border too") {
  const struct {
    ResizeCoordinates coordinates;
    Tensor image;
    Shape to;
    std::vector<std::uint8_t> by_row, by_weight;
  } cases[] = {
      // values of a float32 program that shares no code with ours
      {half_pixel,
       tensor_of<std::uint8_t>({1, 1, 2, 1}, {99, 2}),
       {1, 3, 3, 1},
       {99, 50, 2, 99, 51, 2, 99, 51, 2},
       {99, 50, 2, 99, 51, 2, 99, 50, 2}},
      {asymmetric,
       tensor_of<std::uint8_t>({1, 1, 3, 1}, {136, 96, 19}),
       {1, 3, 2, 1},
       {136, 58, 136, 58, 136, 58},
       {136, 58, 136, 58, 136, 57}},
      {align_corners,
       tensor_of<std::uint8_t>({1, 2, 2, 1}, {133, 62, 132, 32}),
       {1, 3, 4, 1},
       {133, 109, 86, 62, 133, 104, 75, 47, 132, 99, 65, 32},
       {133, 109, 86, 62, 133, 104, 76, 47, 132, 99, 65, 32}},
  };
  for (const auto& one : cases) {
    INFO(name_of(one.coordinates));
    const ResizeAttributes attributes{.mode = ResizeMode::bilinear, .coordinates = one.coordinates, .scales = {}};
    CHECK(values_of<std::uint8_t>(resized(one.image, one.to, attributes, tflite_double)) == one.by_row);
    CHECK(values_of<std::uint8_t>(resized(one.image, one.to, attributes, tflite_builtin_double)) == one.by_weight);
  }
}

TEST_CASE("a grid of coordinates in float32: a weight of 11 bits that real numbers round the other way") {
  ResizeArithmetic rule{.method = ResizeMethod::fixed_point,
                        .grid = ResizeGrid::coordinate,
                        .fraction_bits = 11,
                        .grid_rounding = Rounding::half_even,
                        .rounding = Rounding::half_up};
  const struct {
    ResizeCoordinates coordinates;
    Sizes sizes;
    std::int64_t index, exact, in_float;
  } cases[] = {{half_pixel, {10, 227}, 197, 16795, 16794},
               {asymmetric, {17, 215}, 192, 31091, 31092},
               {align_corners, {17, 256}, 254, 32639, 32640}};
  for (const auto& one : cases) {
    INFO(name_of(one.coordinates) << " " << one.sizes.in << " to " << one.sizes.out);
    const auto place_of = [&](NearestCoordinate coordinate) {
      rule.nearest = coordinate;
      const LinearTap tap = linear_tap(rule, {one.sizes.in, one.sizes.out, one.coordinates, 0}, one.index);
      return tap.first * 2048 + tap.weight;
    };
    CHECK(place_of(NearestCoordinate::exact) == one.exact);
    CHECK(place_of(NearestCoordinate::float_scale) == one.in_float);
  }
}

TEST_CASE("nearest: a product in float32 lands below the place where the quotient of the sizes lies") {
  const struct {
    ResizeCoordinates coordinates;
    Rounding rounding;
    Sizes sizes;
    std::int64_t index, exact, in_float;
  } cases[] = {
      {half_pixel, Rounding::half_up, {14, 23}, 11, 7, 6},    {half_pixel, Rounding::half_up, {6, 37}, 18, 3, 2},
      {asymmetric, Rounding::floor, {26, 22}, 11, 13, 12},    {asymmetric, Rounding::floor, {39, 33}, 11, 13, 12},
      {align_corners, Rounding::half_up, {14, 23}, 11, 7, 6}, {align_corners, Rounding::half_up, {32, 15}, 7, 16, 15},
  };
  for (const auto& one : cases) {
    INFO(name_of(one.coordinates) << " " << one.sizes.in << " to " << one.sizes.out);
    const ResizeAxis axis{one.sizes.in, one.sizes.out, one.coordinates, 0};
    CHECK(nearest_index(axis, one.index, one.rounding, NearestCoordinate::exact) == one.exact);
    CHECK(nearest_index(axis, one.index, one.rounding, NearestCoordinate::float_scale) == one.in_float);
    const Tensor image = counting<std::int8_t>({1, 1, one.sizes.in, 1});
    const ResizeAttributes attributes{.coordinates = one.coordinates, .nearest = one.rounding, .scales = {}};
    CHECK(resized(image, {1, 1, one.sizes.out, 1}, attributes, tflite_double).integer_at(one.index) == one.in_float + 1);
  }
}

TEST_CASE("nearest: a quotient in float32 lands beside the place where the real one lies") {
  const struct {
    ResizeCoordinates coordinates;
    Rounding rounding;
    Sizes sizes;
    double scale;
    std::int64_t index, exact, quotient;
  } cases[] = {{asymmetric, Rounding::floor, {14, 8}, 0, 4, 7, 6},       {asymmetric, Rounding::half_up, {7, 2}, 0, 1, 4, 4},  // 3.4999998
               {asymmetric, Rounding::half_up, {26, 28}, 0, 21, 20, 19}, {asymmetric, Rounding::half_down, {33, 78}, 0, 65, 27, 28},
               {half_pixel, Rounding::half_up, {30, 9}, 0, 7, 25, 24},   {half_pixel, Rounding::half_down, {28, 62}, 0, 46, 20, 21},
               {half_pixel, Rounding::ceil, {7, 19}, 0, 9, 3, 4},        {half_pixel, Rounding::floor, {10, 6}, 0, 4, 7, 6}};
  for (const auto& one : cases) {
    INFO(name_of(one.coordinates) << " " << one.sizes.in << " to " << one.sizes.out);
    const ResizeAxis axis{one.sizes.in, one.sizes.out, one.coordinates, one.scale};
    CHECK(nearest_index(axis, one.index, one.rounding, NearestCoordinate::exact) == one.exact);
    CHECK(nearest_index(axis, one.index, one.rounding, NearestCoordinate::float_quotient) == one.quotient);
  }
}

TEST_CASE("nearest: where no size changes a device that divides in float32 copies, whatever the scale says") {
  const Tensor image = counting<std::int8_t>({1, 10, 10, 1});
  const ResizeAttributes attributes{.coordinates = asymmetric, .nearest = Rounding::floor, .scales = std::array{1.09, 1.09}};
  CHECK(resized(image, {1, 10, 10, 1}, attributes, onnxruntime_cpu) == image);
  CHECK_FALSE(resized(image, {1, 10, 10, 1}, attributes, tflite_double) == image);
}

}  // namespace
}  // namespace lastbit
