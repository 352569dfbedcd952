// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Certificates of layers that are small enough to be run on every input there is: what is said of all of them against all of them.
#include "lastbit/certify.hpp"

#include <algorithm>
#include <array>
#include <random>

#include "lastbit/error.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "support/catch.hpp"
#include "support/small_layers.hpp"

namespace lastbit {
namespace {

using namespace test;

constexpr std::array pairs_of_devices{std::pair{"tflite_double", "tflite_single"}, std::pair{"tflite_double", "vipnano_v8"},
                                      std::pair{"tflite_single", "vipnano_v8"}, std::pair{"xnnpack", "tflite_double"},
                                      std::pair{"onnxruntime", "tflite_double"}};

struct Counted {
  std::int64_t differing = 0, largest = 0;
};
Counted count(const Model& model, const SpecSheet& a, const SpecSheet& b, const std::vector<Tensor>& inputs) {
  const auto out = static_cast<std::size_t>(model.outputs[0]);
  const Tensor of_a = *run(model, a.backend, inputs).tensors[out], of_b = *run(model, b.backend, inputs).tensors[out];
  Counted counted;
  for (std::int64_t i = 0; i < of_a.element_count(); ++i) {
    const std::int64_t apart = std::abs(of_a.integer_at(i) - of_b.integer_at(i));
    counted.differing += apart != 0 ? 1 : 0;
    counted.largest = std::max(counted.largest, apart);
  }
  return counted;
}

/// The input that the certificate shows, on both sides.
void check_shown(const Model& model, const SpecSheet& a, const SpecSheet& b, const ShownDifference& shown) {
  const auto out = static_cast<std::size_t>(model.outputs[0]);
  CHECK(run(model, a.backend, shown.inputs).tensors[out]->integer_at(shown.index) == shown.a);
  CHECK(run(model, b.backend, shown.inputs).tensors[out]->integer_at(shown.index) == shown.b);
  CHECK(shown.a != shown.b);
}

}  // namespace

TEST_CASE("a convolution's certificate counts the accumulators on which two devices differ, here all its inputs") {
  std::mt19937 random(13);
  const std::vector<Tensor> every{Tensor::from<std::int8_t>(Shape{1, 16, 16, 1}, every_code())};
  int equal = 0, differing = 0;
  for (int i = 0; i < 40; ++i) {
    const Model model = one_weight(random);
    const auto [name_a, name_b] = pairs_of_devices[static_cast<std::size_t>(i) % pairs_of_devices.size()];
    const SpecSheet a = find_backend(name_a), b = find_backend(name_b);
    INFO(name_a << " against " << name_b << ", layer " << i);
    const Certificate certificate = certify(model, a, b, {});
    const LayerCertificate& layer = certificate.layers.at(0);
    const Counted counted = count(model, a, b, every);
    REQUIRE(layer.by == DecidedBy::accumulators);
    CHECK(layer.cases == 256);
    CHECK(layer.differing == counted.differing);
    CHECK(layer.largest == counted.largest);
    CHECK(certificate.equal() == (counted.differing == 0));
    CHECK(layer.shown.has_value() == (counted.differing > 0));
    if (layer.shown) check_shown(model, a, b, *layer.shown);
    ++(counted.differing > 0 ? differing : equal);
  }
  CHECK(equal >= 5);
  CHECK(differing >= 5);
}

TEST_CASE("of two inputs every pair of codes is computed") {
  std::mt19937 random(14);
  std::vector<std::int8_t> rows, columns;
  for (int y = 0; y < 256; ++y) {
    for (const std::int8_t x : every_code()) {
      rows.push_back(static_cast<std::int8_t>(y - 128));
      columns.push_back(x);
    }
  }
  const Shape shape{1, 256, 256, 1};
  const std::vector<Tensor> every{Tensor::from<std::int8_t>(shape, rows), Tensor::from<std::int8_t>(shape, columns)};
  const SpecSheet a = find_backend("tflite_double"), b = find_backend("vipnano_v8");
  for (const OperationKind kind : {OperationKind::add, OperationKind::mul}) {
    const Model model = sum_of_two(kind, random);
    const Certificate certificate = certify(model, a, b, {});
    const LayerCertificate& layer = certificate.layers.at(0);
    const Counted counted = count(model, a, b, every);
    INFO(name_of(kind));
    REQUIRE(layer.by == DecidedBy::pairs);
    CHECK(layer.cases == 65536);
    CHECK(counted.differing > 0);
    CHECK(layer.differing == counted.differing);
    CHECK(layer.largest == counted.largest);
    REQUIRE(layer.shown.has_value());
    check_shown(model, a, b, *layer.shown);
  }
}

/// A mean over the middle axes of 1 x 2 x 3 x 2: over one of them, or both.
Model mean_over(const std::vector<std::int64_t>& axes, const Shape& out_shape) {
  ModelBuilder builder("mean");
  const auto in = builder.input({"in", ElementType::int8, Shape{1, 2, 3, 2}, {{0.05}, {3}}});
  const auto out =
      builder.operation(OperationKind::mean, {in}, {"out", ElementType::int8, out_shape, {{0.031}, {-4}}}, MeanAttributes{.axes = axes});
  return builder.finished({out});
}

/// Of all sums that a row of `terms` can have, every row having the same codes, those on which outputs differ.
std::int64_t sums_that_differ(const Model& model, const SpecSheet& a, const SpecSheet& b, const std::vector<std::size_t>& row_of) {
  const auto terms = static_cast<std::int64_t>(1 + *std::ranges::max_element(row_of));
  std::int64_t differing = 0;
  for (std::int64_t sum = -terms * 128; sum <= terms * 127; ++sum) {
    std::vector<std::int64_t> row(static_cast<std::size_t>(terms));
    std::int64_t rest = sum;
    for (std::int64_t& code : row) {
      code = std::clamp<std::int64_t>(rest, -128, 127);
      rest -= code;
    }
    std::vector<std::int8_t> codes;
    for (const std::size_t place : row_of) codes.push_back(static_cast<std::int8_t>(row[place]));
    differing += count(model, a, b, {Tensor::from<std::int8_t>(Shape{1, 2, 3, 2}, codes)}).differing > 0 ? 1 : 0;
  }
  return differing;
}

TEST_CASE("a mean is decided by the sums that its rows can have, whatever its axes make of it") {
  struct Case {
    std::vector<std::int64_t> axes;
    Shape out;
    std::vector<std::size_t> row_of;  ///< each code's place in its row
  };
  const std::vector<Case> cases{{{1, 2}, Shape{1, 2}, {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5}},
                                {{1}, Shape{1, 3, 2}, {0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1}},  // XNNPACK leaves it
                                {{2}, Shape{1, 2, 2}, {0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2}}};
  SpecSheet floored = find_backend("tflite_double");
  set_rule(floored.backend, "mean.output.chain.2.rounding", "floor");
  const SpecSheet twice = find_backend("tflite_double"), xnnpack = find_backend("xnnpack");
  std::int64_t in_all = 0;
  for (const Case& one : cases) {
    const Model model = mean_over(one.axes, one.out);
    const auto terms = static_cast<std::int64_t>(1 + *std::ranges::max_element(one.row_of));
    for (const auto& [a, b] : {std::pair{twice, floored}, std::pair{floored, xnnpack}}) {
      const Certificate certificate = certify(model, a, b, {});
      const LayerCertificate& layer = certificate.layers.at(0);
      INFO(a.name << ", " << b.name << ", " << terms << " terms: " << layer.open);
      REQUIRE(layer.by == DecidedBy::window_sums);
      CHECK(layer.cases == terms * 255 + 1);
      CHECK(layer.differing == sums_that_differ(model, a, b, one.row_of));
      in_all += layer.differing;
      if (layer.differing == 0) continue;
      REQUIRE(layer.shown.has_value());
      check_shown(model, a, b, *layer.shown);
    }
  }
  CHECK(in_all > 0);
}

TEST_CASE("an average pool is decided by the sums of its windows, those that padding cuts by their own count") {
  ModelBuilder builder("pool");
  const Quantization codes{{0.05}, {3}};
  const auto in = builder.input({"in", ElementType::int8, Shape{1, 4, 4, 1}, codes});
  const Pool2dAttributes attributes{.filter = {2, 2}, .stride = {2, 2}, .padding = {PaddingMode::explicit_sizes, 1, 1, 1, 1}};
  const auto out = builder.operation(OperationKind::average_pool2d, {in}, {"out", ElementType::int8, Shape{1, 3, 3, 1}, codes}, attributes);
  const Model model = builder.finished({out});
  SpecSheet a = find_backend("tflite_double"), b = a;
  set_rule(b.backend, "average_pool.output.chain.0.rounding", "floor");
  const LayerCertificate layer = certify(model, a, b, {}).layers.at(0);
  REQUIRE(layer.by == DecidedBy::accumulators);
  REQUIRE(layer.channels.size() == 3);  // windows of 1, 2 and 4 values
  CHECK(layer.cases == 256 + 2 * 255 + 1 + 4 * 255 + 1);
  CHECK(layer.channels[0].differing == 0);
  CHECK(layer.channels[1].differing > 0);
  REQUIRE(layer.shown.has_value());
  check_shown(model, a, b, *layer.shown);
}

TEST_CASE("the same rules are equal whatever the operation; sums that one side wraps and the other does not are open") {
  std::mt19937 random(15);
  const Model model = one_weight(random);
  const SpecSheet a = find_backend("tflite_double");
  CHECK(certify(model, a, a, {}).layers.at(0).by == DecidedBy::same_rules);
  SpecSheet narrow = a;
  set_rule(narrow.backend, "conv.i8.accumulator.bits", "7");
  const Certificate open = certify(model, a, narrow, {});
  CHECK_FALSE(open.equal());
  CHECK(open.open() == 1);
  CHECK(open.layers.at(0).open == "sums can leave the 7 bits of an accumulator of side b, and the sides treat that differently");
  set_rule(narrow.backend, "conv.i8.accumulator.overflow", "saturate");
  SpecSheet late = narrow;  // both saturate at 7 bits, one adds the bias last
  set_rule(narrow.backend, "conv.i8.bias", "accumulator_start");
  set_rule(late.backend, "conv.i8.bias", "accumulator_end");
  CHECK(certify(model, narrow, late, {}).open() == 1);
  CHECK_THROWS_WITH(certify(model, a, narrow, {}, {.range = InputRange::data}), test::contains_text("the range of the data needs inputs"));
}

TEST_CASE("a bias that one device stores in fewer bits moves the accumulators, and all of them are counted") {
  std::mt19937 random(20);
  Model model = one_weight(random);
  model.tensors[static_cast<std::size_t>(*model.find_tensor("b"))].constant =
      Tensor::from<std::int32_t>(Shape{1}, std::vector<std::int32_t>{45});
  const SpecSheet a = find_backend("tflite_double");
  SpecSheet b = a;
  set_rule(b.backend, "conv.i8.bias_bits", "5");  // 45 is 44, 11 * 4
  set_rule(b.backend, "conv.i8.bias_rounding", "floor");
  const LayerCertificate layer = certify(model, a, b, {}).layers.at(0);
  const Counted counted = count(model, a, b, {Tensor::from<std::int8_t>(Shape{1, 16, 16, 1}, every_code())});
  REQUIRE(layer.by == DecidedBy::accumulators);
  CHECK(layer.cases == 256);
  CHECK(counted.differing > 0);
  CHECK(layer.differing == counted.differing);
  CHECK(layer.largest == counted.largest);
  REQUIRE(layer.shown.has_value());
  check_shown(model, a, b, *layer.shown);
}

TEST_CASE("sums that cross the end of an accumulator that wraps count as those that can be reached, before they wrap") {
  std::mt19937 random(27);
  const std::vector<Tensor> every{Tensor::from<std::int8_t>(Shape{1, 16, 16, 1}, every_code())};
  int equal = 0, differing = 0;
  for (int i = 0; i < 40; ++i) {
    Model model = one_weight(random);
    const std::int32_t bias =
        i % 4 < 2 ? 2147483647 - static_cast<std::int32_t>(random() % 100) : -2147483647 - 1 + static_cast<std::int32_t>(random() % 100);
    model.tensors[static_cast<std::size_t>(*model.find_tensor("b"))].constant =
        Tensor::from<std::int32_t>(Shape{1}, std::vector<std::int32_t>{bias});
    double& scale = model.tensors[static_cast<std::size_t>(model.outputs[0])].quantization.scales[0];
    if (i % 2 == 0) scale *= 0x1p23;  // the middle of the type's range
    const SpecSheet a = find_backend("tflite_double");
    SpecSheet b = find_backend(i % 3 == 0 ? "tflite_single" : "tflite_double");
    if (i % 3 != 0) set_rule(b.backend, "conv.i8.output.chain.2.rounding", "floor");
    const Counted counted = count(model, a, b, every);
    const Certificate certificate = certify(model, a, b, {});
    const LayerCertificate& layer = certificate.layers.at(0);
    INFO("layer " << i << ": " << to_text(certificate));
    REQUIRE(layer.by == DecidedBy::accumulators);
    CHECK(layer.cases == 256);
    CHECK(layer.differing == counted.differing);
    CHECK(layer.largest == counted.largest);
    CHECK(layer.shown.has_value() == (counted.differing > 0));
    if (layer.shown) check_shown(model, a, b, *layer.shown);
    ++(counted.differing > 0 ? differing : equal);
  }
  CHECK(equal >= 5);
  CHECK(differing >= 5);
}

TEST_CASE("sums that wrap all the way round can be any that the accumulator holds") {
  std::mt19937 random(28);
  const Model model = one_weight(random);
  SpecSheet a = find_backend("tflite_double"), b = find_backend("tflite_single");
  for (SpecSheet* const side : {&a, &b}) set_rule(side->backend, "conv.i8.accumulator.bits", "8");
  CHECK(certify(model, a, b, {}).layers.at(0).cases == 256);  // 256 sums, each another number of 8 bits
  for (SpecSheet* const side : {&a, &b}) set_rule(side->backend, "conv.i8.accumulator.bits", "7");
  const LayerCertificate layer = certify(model, a, b, {}).layers.at(0);
  REQUIRE(layer.channels.size() == 1);
  CHECK(layer.channels[0].accumulators == IntegerRange{-64, 63});
}

TEST_CASE("what is computed in real numbers is equal only where both devices convert it alike") {
  std::mt19937 random(18);
  const Model model = sum_of_two(OperationKind::add, random);
  const auto with_float = [](const char* name, const char* rounding) {
    SpecSheet sheet = find_backend(name);
    set_rule(sheet.backend, "quantize.rounding", rounding);
    sheet.backend.elsewhere = Placements({{find_backend("float"), {"out"}}});
    return sheet;
  };
  const SpecSheet a = with_float("tflite_double", "half_away"), same = with_float("tflite_single", "half_away"),
                  other = with_float("tflite_single", "half_even");
  CHECK(certify(model, a, same, {}).equal());
  const Certificate open = certify(model, a, other, {});
  CHECK_FALSE(open.equal());
  CHECK(open.layers.at(0).open == "one side computes in real numbers, or what goes in and out is converted by other rules");
}

TEST_CASE("within the range of the data fewer accumulators are gone through") {
  std::mt19937 random(16);
  const Model model = one_weight(random);
  const SpecSheet a = find_backend("tflite_double"), b = find_backend("vipnano_v8");
  std::vector<std::int8_t> some(256, 3);
  some[7] = -11;
  const std::vector<Tensor> inputs{Tensor::from<std::int8_t>(Shape{1, 16, 16, 1}, some)};
  const Certificate certificate = certify(model, a, b, inputs, {.range = InputRange::data});
  CHECK(certificate.layers.at(0).cases == 15);
  CHECK(to_text(certificate).find("between the least and the largest of the data") != std::string::npos);
}

TEST_CASE("a certificate's report names what differs, and its JSON what it rests on") {
  std::mt19937 random(17);
  const Model model = sum_of_two(OperationKind::add, random);
  const Certificate certificate = certify(model, find_backend("tflite_double"), find_backend("vipnano_v8"), {});
  CHECK(to_text(certificate).find("of 65,536 pairs of codes") != std::string::npos);
  CHECK(to_text(certificate).find("0 of 1 layers equal for every input, 1 can differ, 0 open; the first") != std::string::npos);
  const std::string json = to_json(certificate);
  for (const char* text :
       {R"("format": "lastbit.certificate.v2")", R"("model_checksum": "fnv1a64:)", R"("decided_by": "pairs")", R"("verdict": "differs")"})
    CHECK(json.find(text) != std::string::npos);
}

}  // namespace lastbit
