// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// OpenVINO's rules for GNA, against values worked out by hand, and networks run on the device.
#include <cmath>
#include <random>

#include "gna/toolchain/functions.hpp"
#include "lastbit/arith/pwl.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/quantizer.hpp"
#include "lastbit/registry.hpp"
#include "support/catch.hpp"
#include "support/network.hpp"

using namespace lastbit;
using namespace lastbit::gna;
using lastbit::test::Network;

namespace {

using Kind = OperationKind;
using Records = std::vector<std::int32_t>;

Records records(const Tensor& table) {
  const auto values = table.values<std::int32_t>();
  return {values.begin(), values.end()};
}

double evaluate(const Tensor& table, std::int32_t x) {
  std::vector<PwlSegment> segments;
  const Records rows = records(table);
  for (std::size_t i = 0; i < rows.size(); i += 3) {
    segments.push_back(pwl_segment(rows[i], static_cast<std::int16_t>(rows[i + 1]), static_cast<std::int16_t>(rows[i + 2])));
  }
  return static_cast<double>(evaluate_pwl(segments, x));
}

std::vector<float> random_values(std::size_t count, float largest, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = largest * (static_cast<float>(random() % 2001) / 1000 - 1);
  return values;
}

QuantizationResult on(const char* backend, const Network& network, const QuantizerOptions& options = {}) {
  std::vector<std::vector<Tensor>> samples(4);
  for (unsigned sample = 0; sample < 4; ++sample) {
    for (const std::int32_t input : network.model.inputs) {
      const Shape& shape = network.model.tensor(input).shape;
      samples[sample].push_back(Tensor::from<float>(shape, random_values(static_cast<std::size_t>(shape.element_count()), 2, sample)));
    }
  }
  return quantize(network.model, find_backend(backend), samples, options);
}

const ModelTensor& find(const Model& model, std::string_view name) { return model.tensor(model.find_tensor(name).value()); }
double factor(const Model& model, const std::string& name) { return 1 / find(model, name).quantization.scale(); }

std::size_t count_of(const Model& model, Kind kind) {
  std::size_t count = 0;
  for (const Operation& operation : model.operations) count += operation.kind == kind ? 1 : 0;
  return count;
}

std::string refusal(const char* backend, const Network& network, const QuantizerOptions& options = {}) {
  try {
    static_cast<void>(on(backend, network, options));
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

/// A line of `width` places and 8 channels, 4 filters of 3 taps, and what `more` adds behind.
template <class More>
Network line(std::int64_t width, const OutputBounds& bounds, More more) {
  Network network;
  const auto x = network.real("x", {1, 1, width, 8}), w = network.constant<float>("w", {4, 1, 3, 8}, random_values(96, 0.5F, 7)),
             b = network.constant<float>("b", {4}, {0.5F, -0.25F, 0, 1}), y = network.real("y", {1, 1, width - 2, 4});
  Conv2dAttributes attributes;
  attributes.bounds = bounds;
  network.operation(Kind::conv2d, {x, w, b}, {y}, attributes);
  network.model.inputs = {x};
  network.model.outputs = {more(network, y)};
  return network;
}

Network dense(std::int64_t inputs, std::int64_t outputs, std::int64_t rows = 1, float largest_bias = 0.5F) {
  Network network;
  const auto count = static_cast<std::size_t>(inputs * outputs);
  const auto x = network.real("x", {rows, inputs}), w = network.constant<float>("w", {outputs, inputs}, random_values(count, 0.25F, 3)),
             b = network.constant<float>("b", {outputs}, random_values(static_cast<std::size_t>(outputs), largest_bias, 4)),
             y = network.real("y", {rows, outputs});
  network.operation(Kind::fully_connected, {x, w, b}, {y});
  network.model.inputs = {x};
  network.model.outputs = {y};
  return network;
}

}  // namespace

TEST_CASE("gna: a slope takes the largest shift with which it fits 16 bits") {
  CHECK(encode_slope(1, 1, 1).selector == 0);  // 1 * 2^8
  CHECK(encode_slope(1, 1, 1).slope == 256);
  CHECK(encode_slope(1, 2, 1).slope == 32768 / 256);        // 0.5 * 2^16 is one too many
  CHECK(encode_slope(0.498, 1, 1).selector == 1);           // 32637 of 2^16
  CHECK(encode_slope(-1, 2, 1).slope == -32768);            // fits
  CHECK(encode_slope(1, 65536, 1).selector == 2);           // 2^-16 * 2^24 = 256
  CHECK(encode_slope(1, 131072.0 * 131072, 1).slope == 0);  // 2^-34 * 2^32 = 0.25
  CHECK(encode_slope(1, 1, 1000).slope == 32767);           // saturated
}

TEST_CASE("gna: tables of straight functions, record by record") {
  const double infinity = std::numeric_limits<double>::infinity();
  // ReLU from 1/65536 to 1/256: slope 1/256 = 256 / 2^16, selector 1.
  const Records relu{-2147483647 - 1 + 3, 0, 0, 1, 0, 256};
  CHECK(records(pwl_table({{-infinity, 0, 0}, {0, 1, 0}}, 65536, 256, FlatEnds::none)) == relu);
  // Identity: flat, from -32768/256 = -128 on (-128 * 65536 = -2^23), flat from 32767/256 on.
  const Records identity{-2147483647 - 1 + 3, -32768, 0, -8388608 + 1, -32768, 256, 8388352 + 3, 32767, 0};
  CHECK(records(pwl_table({{-infinity, 1, 0}}, 65536, 256, FlatEnds::added)) == identity);
  // Bases too close together: the later one counts.
  CHECK(pwl_table({{-infinity, 0, 0}, {0, 1, 0}, {0.1, 2, 0}}, 16, 16, FlatEnds::none).shape() == Shape{2, 3});
}

TEST_CASE("gna: a curve within the error asked for, and no segment more than equal ripples need") {
  for (const double percent : {5.0, 1.0, 0.1}) {
    const std::vector<Line> lines = design_pwl(logistic_curve(), percent);
    const Tensor table = pwl_table(lines, 0x1p20, 32000, FlatEnds::none);
    double worst = 0;
    for (double x = -12; x < 12; x += 0.001) {
      const double code = evaluate(table, static_cast<std::int32_t>(x * 0x1p20));
      worst = std::max(worst, std::abs(code / 32000 - logistic_curve().value(x)));
    }
    CHECK(100 * worst <= percent + 0.02);  // and what 16 bits of value and slope add
    CHECK(100 * worst > percent / 8);      // four times the segments would be needed for a quarter of the error, twice as many for it
  }
  CHECK(design_pwl(logistic_curve(), 1).size() < design_pwl(logistic_curve(), 0.1).size());
  CHECK_THROWS_WITH(design_pwl(logistic_curve(), 1e-4), test::contains_text("128 segments"));
}

TEST_CASE("gna: factors of a fully connected layer, its bias and its table") {
  Network network = dense(8, 4);
  network.model.tensors[1].constant.edit().values<float>()[0] = 0.5F;  // the largest
  const QuantizationResult result = on("gna2", network, {{"input_scale_factor", "1024"}});
  CHECK(factor(result.model, "x") == 1024);
  CHECK(factor(result.model, "w") == 32768);
  CHECK(find(result.model, "w").constant->integer_at(0) == 16384);
  CHECK(factor(result.model, "b") == 32768.0 * 1024);
  CHECK(find(result.model, "y").type == ElementType::int16);
  CHECK((factor(result.model, "y") == 2049 || factor(result.model, "y") == 1024.5));
  CHECK(result.report.outputs.at(0).same_top == 4);
  for (const TensorQuality& tensor : result.report.tensors) {
    if (tensor.name == "y") CHECK(tensor.sqnr_db > 40);  // below 0 the rounded slope is off by what adds up from the first base
  }
}

TEST_CASE("gna: a large bias sets the factor of the weights, and says so") {
  Network network = dense(8, 4, 1, 64);
  network.model.tensors[2].constant.edit().values<float>()[0] = 64;
  const QuantizationResult result = on("gna2", network, {{"input_scale_factor", "2048"}});
  CHECK(std::abs(factor(result.model, "b") / (0x1p30 / 64) - 1) < 1e-9);
  CHECK(result.report.notes.at(0).find("the bias, at most 2^30") != std::string::npos);
}

TEST_CASE("gna: int8 weights with a multiplier per row") {
  const QuantizationResult result = on("gna2", dense(16, 8), {{"weights", "int8"}});
  const ModelTensor& weights = find(result.model, "w");
  CHECK(weights.type == ElementType::int8);
  CHECK(result.model.operations[0].inputs.size() == 4);
  std::int64_t largest = 0;
  for (std::int64_t i = 0; i < 8; ++i)
    largest = std::max(largest, result.model.tensor(result.model.operations[0].inputs[3]).constant->integer_at(i));
  CHECK(largest == 81);  // 0.35 of 230, rounded
  for (const TensorQuality& tensor : result.report.tensors) {
    if (tensor.name == "y") CHECK(tensor.cosine > 0.999);
  }
}

TEST_CASE("gna: convolution, activation and pool are one layer, names stay, a window too many is cut off") {
  OutputBounds bounds;
  bounds.activation = Activation::relu;
  const auto pool = [](Network& network, std::int32_t y) {
    Pool2dAttributes attributes;
    attributes.filter = attributes.stride = {1, 3};
    const auto pooled = network.real("pooled", {1, 1, 10, 4});
    network.operation(Kind::max_pool2d, {y}, {pooled}, attributes);
    return pooled;
  };
  for (const char* backend : {"gna2", "gna3_0", "gna3_1"}) {
    INFO(backend);
    const QuantizationResult result = on(backend, line(34, bounds, pool));  // 32 sums: 10 windows and two values more
    CHECK(count_of(result.model, Kind::fused_conv2d) == 1);
    CHECK(count_of(result.model, Kind::slice) == 1);
    CHECK(find(result.model, "pooled").shape == Shape{1, 1, 10, 4});
    for (const TensorQuality& tensor : result.report.tensors) {
      if (tensor.name == "pooled") CHECK(tensor.cosine > 0.99999);
    }
  }
}

TEST_CASE("gna: what is joined has one factor, and pieces that are not aligned are told of") {
  Network network;
  const auto x = network.real("x", {1, 8});
  std::vector<std::int32_t> pieces;
  for (int i = 0; i < 2; ++i) {
    const auto n = std::to_string(i);
    const auto w = network.constant<float>("w" + n, {10, 8}, random_values(80, i == 0 ? 0.01F : 1.0F, 5));
    const auto y = network.real("y" + n, {1, 10}), z = network.real("z" + n, {1, 10});
    network.operation(Kind::fully_connected, {x, w}, {y});
    network.operation(i == 0 ? Kind::tanh : Kind::relu, {y}, {z});
    pieces.push_back(z);
  }
  const auto joined = network.real("joined", {1, 20});
  ConcatAttributes attributes;
  attributes.axis = 1;
  network.operation(Kind::concat, pieces, {joined}, attributes);
  network.model.inputs = {x};
  network.model.outputs = {joined};
  const QuantizationResult result = on("gna2", network);
  CHECK(factor(result.model, "z0") == factor(result.model, "joined"));
  CHECK(factor(result.model, "z1") == factor(result.model, "joined"));
  CHECK(result.report.notes.at(0).find("1 of 2 pieces do not begin at a multiple of 64 bytes") != std::string::npos);
  for (const TensorQuality& tensor : result.report.tensors) {
    if (tensor.name == "joined") CHECK(tensor.cosine > 0.999);
  }
}

namespace {

enum class Joined { transposed, as_it_lies };
/// Two inputs of 3 channels and 16 places, joined channel by channel, and a convolution that slides along the places.
Network joined_line(Joined joined, std::int64_t zeros_before = 0) {
  Network network;
  const auto a = network.real("a", {1, 3, 16}), b = network.real("b", {1, 3, 16}), all = network.real("all", {1, 6, 16}),
             line = network.real("line", {1, 1, 16, 6}), y = network.real("y", {1, 1, 14 + zeros_before, 4});
  const auto w = network.constant<float>("w", {4, 1, 3, 6}, random_values(72, 0.5F, 7));
  network.operation(Kind::concat, {a, b}, {all}, ConcatAttributes{1});
  if (joined == Joined::transposed) {
    const auto places_first = network.real("places first", {1, 16, 6});
    network.operation(Kind::transpose, {all}, {places_first}, TransposeAttributes{{0, 2, 1}});
    network.operation(Kind::reshape, {places_first}, {line});
  } else {
    network.operation(Kind::reshape, {all}, {line});
  }
  Conv2dAttributes attributes;
  attributes.padding = {PaddingMode::explicit_sizes, 0, 0, zeros_before, 0};
  network.operation(Kind::conv2d, {line, w}, {y}, attributes);
  network.model.inputs = {a, b};
  network.model.outputs = {y};
  return network;
}

}  // namespace

TEST_CASE("gna: what the plugin compiles is warned of, is the option's model, and float stays the user's network") {
  const SpecSheet& sheet = find_backend("gna2");
  const std::vector<Tensor> inputs{Tensor::from<float>({1, 3, 16}, random_values(48, 2, 1)),
                                   Tensor::from<float>({1, 3, 16}, random_values(48, 2, 2))};
  const auto outputs = [&](const Model& model, const Backend& backend) {
    return *run(model, backend, inputs).tensors.at(static_cast<std::size_t>(model.outputs.at(0)));
  };
  for (const std::int64_t zeros : {0, 2}) {
    const QuantizationResult meant = on("gna2", joined_line(Joined::transposed, zeros));
    const QuantizationResult compiled = on("gna2", joined_line(Joined::transposed, zeros), {{"behind_concat", "as_it_lies"}});
    const std::string warning = meant.report.notes.back();
    CHECK(warning.find("OpenVINO's plugin compiles") == 0);
    CHECK(warning.find("--set behind_concat=as_it_lies makes that model") != std::string::npos);
    CHECK(compiled.report.notes.back().find("OpenVINO's plugin compiles") == std::string::npos);

    const auto other = compiled_otherwise(meant.model, sheet), back = compiled_otherwise(compiled.model, sheet);
    REQUIRE(other);
    REQUIRE(back);
    CHECK(outputs(other->model, sheet.backend) == outputs(compiled.model, sheet.backend));
    CHECK(outputs(back->model, sheet.backend) == outputs(meant.model, sheet.backend));
    CHECK_FALSE(outputs(meant.model, sheet.backend) == outputs(compiled.model, sheet.backend));

    const Backend& real = find_backend("float").backend;
    CHECK(outputs(compiled.model, real) == outputs(meant.model, real));
  }
  const auto end = [](Network&, std::int32_t y) { return y; };
  CHECK_FALSE(compiled_otherwise(on("gna2", line(16, {}, end)).model, sheet));
}

TEST_CASE("gna: behind a concat a convolution reads on request the memory that the plugin leaves") {
  const QuantizationResult meant = on("gna2", joined_line(Joined::transposed));
  const QuantizationResult compiled = on("gna2", joined_line(Joined::transposed), {{"behind_concat", "as_it_lies"}});
  const QuantizationResult expected = on("gna2", joined_line(Joined::as_it_lies));
  const Backend& device = find_backend("gna2").backend;
  const std::vector<Tensor> inputs{Tensor::from<float>({1, 3, 16}, random_values(48, 2, 1)),
                                   Tensor::from<float>({1, 3, 16}, random_values(48, 2, 2))};
  const auto sums = [&](const QuantizationResult& result) {
    Trace trace = run(result.model, device, inputs, {.keep_all = true});
    const auto values = trace.tensors.at(static_cast<std::size_t>(result.model.find_tensor("y sums").value()))->values<std::int32_t>();
    return std::vector<std::int32_t>(values.begin(), values.end());
  };
  CHECK(sums(compiled) == sums(expected));
  CHECK(sums(compiled) != sums(meant));
  REQUIRE(compiled.report.notes.size() == meant.report.notes.size());
  CHECK(compiled.report.notes.back().find("as it lies") != std::string::npos);
  // Where nothing is joined, nothing changes.
  const auto end = [](Network&, std::int32_t y) { return y; };
  CHECK(on("gna2", line(16, {}, end), {{"behind_concat", "as_it_lies"}}).model.operations.size() ==
        on("gna2", line(16, {}, end)).model.operations.size());
}

TEST_CASE("gna: a convolution that pads reads zeros; an activation on its own gets a layer of a unit weight") {
  Network network;
  const auto x = network.real("x", {1, 1, 12, 8}), w = network.constant<float>("w", {4, 1, 3, 8}, random_values(96, 0.5F, 7)),
             y = network.real("y", {1, 1, 12, 4}), flat = network.real("flat", {1, 48}), z = network.real("z", {1, 48});
  Conv2dAttributes attributes;
  attributes.padding.mode = PaddingMode::same;
  network.operation(Kind::conv2d, {x, w}, {y}, attributes);
  network.operation(Kind::reshape, {y}, {flat});
  network.operation(Kind::logistic, {flat}, {z});
  network.model.inputs = {x};
  network.model.outputs = {z};
  const QuantizationResult result = on("gna2", network);
  CHECK(count_of(result.model, Kind::pad) == 1);
  CHECK(count_of(result.model, Kind::depthwise_conv2d) == 1);
  CHECK(count_of(result.model, Kind::pwl) == 2);
  for (const TensorQuality& tensor : result.report.tensors) {
    if (tensor.name == "z") CHECK(tensor.cosine > 0.9999);
  }
}

TEST_CASE("gna: what a generation cannot do is named with its limit") {
  const auto none = [](Network&, std::int32_t y) { return y; };
  CHECK(refusal("gna2", dense(8, 4, 9)).find("fully_connected 'op0': vectors 9; the device takes 1 to 8 (GNA 1.0 to 2.0)") !=
        std::string::npos);
  CHECK(refusal("gna2", dense(65530, 1)).find("inputs 65536; the device takes 1 to 65528, a multiple of 8") != std::string::npos);
  Network three = line(16, {}, none);
  three.model.tensors[1].shape = {3, 1, 3, 8};
  three.model.tensors[1].constant = Tensor::from<float>({3, 1, 3, 8}, random_values(72, 1, 1));
  three.model.tensors[2].shape = {3};
  three.model.tensors[2].constant = Tensor::from<float>({3}, random_values(3, 1, 1));
  three.model.tensors[3].shape = {1, 1, 14, 3};
  CHECK(refusal("gna2", three).find("filters 3; the device takes 4 to 65532, a multiple of 4") != std::string::npos);

  Network plane;
  const auto x = plane.real("x", {1, 16, 16, 8}), w = plane.constant<float>("w", {8, 9, 9, 8}, random_values(5184, 1, 1)),
             y = plane.real("y", {1, 8, 8, 8});
  plane.operation(Kind::conv2d, {x, w}, {y});
  plane.model.inputs = {x};
  plane.model.outputs = {y};
  CHECK(refusal("gna2", plane).find("a two-dimensional convolution; the device has one-dimensional ones") != std::string::npos);
  CHECK(refusal("gna3_0", plane).find("kernel height 9; the device takes 1 to 7") != std::string::npos);
  CHECK(refusal("gna3_1", plane) == "no error");

  Network soft = dense(8, 4);
  const auto z = soft.real("z", {1, 4});
  soft.operation(Kind::softmax, {soft.model.outputs[0]}, {z});
  soft.model.outputs = {z};
  CHECK(refusal("gna3_0", soft).find("softmax 'op1': the device has no such operation (GNA 3.0)") != std::string::npos);
  CHECK(refusal("gna2", dense(8, 4), {{"input_scale_factor", "-1"}}).find("a number above 0") != std::string::npos);
}

TEST_CASE("gna: the golden path of a device's network reads its tables as real lines, with multipliers per row too") {
  for (const char* weights : {"int16", "int8"}) {
    INFO(weights);
    Network network = dense(16, 8);
    const auto y = network.model.outputs[0], z = network.real("z", {1, 8});
    network.operation(Kind::relu, {y}, {z});
    network.model.outputs = {z};
    const Model device = on("gna2", network, {{"weights", weights}}).model;
    const std::vector<Tensor> input{Tensor::from<float>({1, 16}, random_values(16, 2, 9))};
    const Trace golden = run(device, find_backend("float").backend, input),
                truth = run(network.model, find_backend("float").backend, input);
    const auto mine = golden.tensors[static_cast<std::size_t>(device.outputs[0])].value().values<float>();
    const auto wanted = truth.tensors[static_cast<std::size_t>(z)].value().values<float>();
    bool has_zero = false, has_more = false;
    for (std::size_t i = 0; i < 8; ++i) {
      CHECK(std::abs(mine[i] - wanted[i]) < (weights == std::string("int8") ? 0.03F : 0.002F));  // weights are codes there
      has_zero = has_zero || mine[i] == 0;
      has_more = has_more || mine[i] > 1;
    }
    CHECK((has_zero && has_more));
  }
}

TEST_CASE("golden path: a table's lines in real units, records with every shift; sums without a scale are refused") {
  Network network;
  const auto x = network.tensor("x", ElementType::int32, {1, 5}, {{0.25}, {0}, 0}),
             y = network.tensor("y", ElementType::int16, {1, 5}, {{0.5}, {0}, 0});
  // From -8: 2, rising by 64 / 2^8; from 16 (its low bits say 2^16): 8, falling by 32768 / 2^16.
  const auto table = network.constant<std::int32_t>("t", {2, 3}, {-8, 2, 64, 16 | 1, 8, -32768});
  network.operation(Kind::pwl, {x, table}, {y});
  network.model.inputs = {x};
  network.model.outputs = {y};
  const Tensor sums = Tensor::from<std::int32_t>({1, 5}, std::vector<std::int32_t>{-100, -8, 8, 16, 20});
  const Trace golden = run(network.model, find_backend("float").backend, std::vector<Tensor>{sums});
  const auto values = golden.tensors[static_cast<std::size_t>(y)].value().values<float>();
  const std::vector<float> wanted{1, 1, 3, 4, 3};  // 2 and 2 + 16 / 4 = 6, 8, 8 - 4 / 2 = 6, in steps of 0.5
  CHECK(std::vector<float>(values.begin(), values.end()) == wanted);
  network.model.tensors[static_cast<std::size_t>(x)].quantization = {};
  const std::vector<Diagnostic> refused = check(network.model, find_backend("float").backend);
  REQUIRE(refused.size() == 1);
  CHECK(refused[0].text().find("sums 'x' have no scale: their real values are unknown") != std::string::npos);
}
