// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// One network in three forms: ONNX with its activations as nodes, ours with its activations as operations, ours with activations in the layers.
// Every quantiser makes the same integers of them, and no codes of what stands between a layer and its activation.
#include <algorithm>
#include <cmath>
#include <random>

#include "lastbit/emulator.hpp"
#include "lastbit/quantizer.hpp"
#include "lastbit/registry.hpp"
#include "support/catch.hpp"
#include "support/network.hpp"
#include "support/onnx_file.hpp"

using namespace lastbit;
using namespace lastbit::test;

namespace {

using Kind = OperationKind;

constexpr std::int64_t size = 8, channels = 4, classes = 3;

std::vector<float> random_values(std::int64_t count, unsigned seed, float scale) {
  std::mt19937 random(seed);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = scale * (static_cast<float>(random() % 2001) / 1000.0F - 1.0F);
  return values;
}

/// [a, b, c, d] as [a, c, d, b].
std::vector<float> channels_last(const std::vector<float>& values, std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
  std::vector<float> moved;
  for (std::int64_t i = 0; i < a; ++i)
    for (std::int64_t y = 0; y < c; ++y)
      for (std::int64_t x = 0; x < d; ++x)
        for (std::int64_t j = 0; j < b; ++j) moved.push_back(values[static_cast<std::size_t>(((i * b + j) * c + y) * d + x)]);
  return moved;
}

struct Constants {
  std::vector<float> first = random_values(channels * 3 * 9, 1, 0.5F), first_bias = random_values(channels, 2, 0.3F);
  std::vector<float> second = random_values(channels * channels, 3, 0.9F), second_bias = random_values(channels, 4, 0.3F);
  std::vector<float> third = random_values(channels * channels * 9, 5, 0.4F), third_bias = random_values(channels, 6, 0.3F);
  std::vector<float> dense = random_values(classes * channels, 7, 0.8F), dense_bias = random_values(classes, 8, 0.2F);
};

/// x → conv 3x3 → relu → a; a → conv 1x1 → clip [0, 6] → b; a + b → relu → max pool 2x2 → conv 3x3 → relu → mean over the image → dense.
Model onnx_form() {
  const Constants values;
  OnnxFile file;
  file.input("x", {1, 3, size, size});
  file.constant<float>("w1", {channels, 3, 3, 3}, values.first);
  file.constant<float>("b1", {channels}, values.first_bias);
  file.constant<float>("w2", {channels, channels, 1, 1}, values.second);
  file.constant<float>("b2", {channels}, values.second_bias);
  file.constant<float>("w3", {channels, channels, 3, 3}, values.third);
  file.constant<float>("b3", {channels}, values.third_bias);
  file.constant<float>("w4", {classes, channels}, values.dense);
  file.constant<float>("b4", {classes}, values.dense_bias);
  file.constant<float>("zero", {}, {0});
  file.constant<float>("six", {}, {6});
  set(file.node("Conv", {"x", "w1", "b1"}, {"sums1"}), "pads", Integers{1, 1, 1, 1});
  file.node("Relu", {"sums1"}, {"a"});
  file.node("Conv", {"a", "w2", "b2"}, {"sums2"});
  file.node("Clip", {"sums2", "zero", "six"}, {"b"});
  file.node("Add", {"a", "b"}, {"sum"});
  file.node("Relu", {"sum"}, {"c"});
  onnx::NodeProto& pool = file.node("MaxPool", {"c"}, {"d"});
  set(pool, "kernel_shape", Integers{2, 2});
  set(pool, "strides", Integers{2, 2});
  set(file.node("Conv", {"d", "w3", "b3"}, {"sums3"}), "pads", Integers{1, 1, 1, 1});
  file.node("Relu", {"sums3"}, {"e"});
  file.node("GlobalAveragePool", {"e"}, {"f"});
  file.node("Flatten", {"f"}, {"g"});
  set(file.node("Gemm", {"g", "w4", "b4"}, {"y"}), "transB", 1);
  return file.output("y").read();
}

enum class Activations { operations, in_layers };

class OurForm {
 public:
  explicit OurForm(Activations activations) : activations_(activations) {}

  Model build() {
    const Constants values;
    const auto x = builder_.input({"x", ElementType::float32, {1, size, size, 3}});
    const auto a =
        layer("a", x, conv("1", channels_last(values.first, channels, 3, 3, 3), {channels, 3, 3, 3}, values.first_bias), size, Kind::relu);
    const auto b = layer("b", a, conv("2", values.second, {channels, 1, 1, channels}, values.second_bias), size, Kind::relu6);
    const auto c = activated("c", Kind::add, {a, b}, {1, size, size, channels}, ElementwiseAttributes{}, Kind::relu);
    const auto d = builder_.operation(Kind::max_pool2d, {c}, image("d", size / 2),
                                      Pool2dAttributes{.filter = {2, 2}, .stride = {2, 2}, .padding = {}});
    const auto e =
        layer("e", d, conv("3", channels_last(values.third, channels, channels, 3, 3), {channels, 3, 3, channels}, values.third_bias),
              size / 2, Kind::relu);
    const auto f = builder_.operation(Kind::global_average_pool, {e}, image("f", 1));
    const auto g = builder_.operation(Kind::reshape, {f}, {"g", ElementType::float32, {1, channels}});
    const auto w = builder_.constant<float>("w4", {classes, channels}, values.dense),
               bias = builder_.constant<float>("b4", {classes}, values.dense_bias);
    return builder_.finished({builder_.operation(Kind::fully_connected, {g, w, bias}, {"y", ElementType::float32, {1, classes}})});
  }

 private:
  struct Weights {
    std::int32_t weights, bias;
  };
  Weights conv(const std::string& number, const std::vector<float>& weights, const Shape& shape, const std::vector<float>& bias) {
    return {builder_.constant<float>("w" + number, shape, weights), builder_.constant<float>("b" + number, {channels}, bias)};
  }
  static TensorDescription image(const std::string& name, std::int64_t side) {
    return {name, ElementType::float32, {1, side, side, channels}};
  }

  std::int32_t layer(const std::string& name, std::int32_t input, Weights constants, std::int64_t side, Kind activation) {
    return activated(name, Kind::conv2d, {input, constants.weights, constants.bias}, {1, side, side, channels},
                     Conv2dAttributes{.padding = {.mode = PaddingMode::same}}, activation);
  }
  template <class T>
  std::int32_t activated(const std::string& name, Kind kind, std::vector<std::int32_t> inputs, const Shape& shape, T attributes,
                         Kind activation) {
    if (activations_ == Activations::in_layers)
      attributes.bounds.activation = activation == Kind::relu ? Activation::relu : Activation::relu6;
    const bool is_alone = activations_ == Activations::operations;
    const auto sums =
        builder_.operation(kind, std::move(inputs), {is_alone ? name + "_sums" : name, ElementType::float32, shape}, attributes);
    return is_alone ? builder_.operation(activation, {sums}, {name, ElementType::float32, shape}) : sums;
  }

  Activations activations_;
  ModelBuilder builder_;
};

Tensor image(unsigned seed, bool is_nhwc) {
  const std::vector<float> values = random_values(3 * size * size, seed, 1.0F);
  if (!is_nhwc) return Tensor::from<float>({1, 3, size, size}, values);
  return Tensor::from<float>({1, size, size, 3}, channels_last(values, 1, 3, size, size));
}

QuantizationResult quantised(const Model& model, const char* backend) {
  std::vector<std::vector<Tensor>> samples;
  const bool is_nhwc = model.tensor(model.inputs[0]).shape.back() == 3;
  for (unsigned seed = 100; seed < 108; ++seed) samples.push_back({image(seed, is_nhwc)});
  return quantize(model, find_backend(backend), samples);
}

/// Codes of the output for images that the calibration did not see.
std::vector<std::vector<std::int64_t>> answers(const Model& model, const char* backend) {
  std::vector<std::vector<std::int64_t>> all;
  const ModelTensor& input = model.tensor(model.inputs[0]);
  for (unsigned seed = 200; seed < 206; ++seed) {
    const Tensor real = image(seed, input.shape.back() == 3);
    Tensor codes(input.type, input.shape);
    for (std::int64_t i = 0; i < codes.element_count(); ++i) {
      const double code = std::round(double{real.values<float>()[static_cast<std::size_t>(i)]} / input.quantization.scale());
      const IntegerRange range = range_of(input.type);
      const auto bounded = std::clamp(static_cast<std::int64_t>(code) + input.quantization.zero_point(), range.min, range.max);
      visit_element_type(input.type, [&]<class T>() {
        if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
          codes.values<T>()[static_cast<std::size_t>(i)] = static_cast<T>(bounded);
      });
    }
    const Trace trace = run(model, find_backend(backend).backend, std::vector<Tensor>{codes});
    const Tensor& output = *trace.tensors[static_cast<std::size_t>(model.outputs[0])];
    for (all.emplace_back(); std::ssize(all.back()) < output.element_count();)
      all.back().push_back(output.integer_at(std::ssize(all.back())));
  }
  return all;
}

}  // namespace

TEST_CASE("one network as ONNX, with activations as operations, and in its layers: the same integers") {
  const Model onnx = onnx_form(), apart = OurForm(Activations::operations).build(), joined = OurForm(Activations::in_layers).build();
  for (const char* backend : {"tflite_double", "xnnpack", "vipnano_v8", "bernoulli2", "n2d2_single_shift", "n2d2_fixed_mult16"}) {
    INFO(backend);
    const Model from_onnx = quantised(onnx, backend).model, from_apart = quantised(apart, backend).model,
                from_joined = quantised(joined, backend).model;
    const auto wanted = answers(from_joined, backend);
    CHECK(answers(from_apart, backend) == wanted);
    CHECK(answers(from_onnx, backend) == wanted);
    for (const char* name : {"a", "b", "c", "e", "y"}) {
      INFO(name);
      const Quantization& expected = from_joined.tensor(from_joined.find_tensor(name).value()).quantization;
      CHECK(from_apart.tensor(from_apart.find_tensor(name).value()).quantization == expected);
      CHECK(from_onnx.tensor(from_onnx.find_tensor(name).value()).quantization == expected);
    }
    for (const char* name : {"sums1", "sums2", "sum", "sums3"}) CHECK_FALSE(from_onnx.find_tensor(name));
    for (const char* name : {"a_sums", "b_sums", "c_sums", "e_sums"}) CHECK_FALSE(from_apart.find_tensor(name));
  }
}

TEST_CASE("a signal as ONNX on GNA: each convolution and its activation share one table") {
  const std::vector<float> first = random_values(8 * 8, 11, 0.5F), second = random_values(4 * 8 * 7, 12, 0.3F),
                           dense = random_values(8 * 4, 13, 0.5F);
  OnnxFile file;
  file.input("x", {1, 1, 1, 32});
  file.constant<float>("w1", {8, 1, 1, 8}, first);
  file.constant<float>("w2", {4, 8, 1, 7}, second);
  file.constant<float>("w3", {8, 4}, dense);
  set(file.node("Conv", {"x", "w1"}, {"sums1"}), "strides", Integers{1, 4});
  file.node("Relu", {"sums1"}, {"a"});
  file.node("Conv", {"a", "w2"}, {"sums2"});
  file.node("Tanh", {"sums2"}, {"b"});
  file.node("Flatten", {"b"}, {"c"});
  set(file.node("Gemm", {"c", "w3"}, {"y"}), "transB", 1);
  const Model onnx = file.output("y").read();

  ModelBuilder ours;
  const auto real = [](const std::string& name, const Shape& shape) { return TensorDescription{name, ElementType::float32, shape}; };
  const auto x = ours.input(real("x", {1, 1, 32, 1})), w1 = ours.constant<float>("w1", {8, 1, 8, 1}, first),
             w2 = ours.constant<float>("w2", {4, 1, 7, 8}, channels_last(second, 4, 8, 1, 7)),
             w3 = ours.constant<float>("w3", {8, 4}, dense);
  const auto sums1 = ours.operation(Kind::conv2d, {x, w1, absent_tensor}, real("sums1", {1, 1, 7, 8}),
                                    Conv2dAttributes{.stride = {1, 4}, .dilation = {}, .padding = {}});
  const auto a = ours.operation(Kind::relu, {sums1}, real("a", {1, 1, 7, 8}));
  const auto sums2 = ours.operation(Kind::conv2d, {a, w2, absent_tensor}, real("sums2", {1, 1, 1, 4}));
  const auto b = ours.operation(Kind::tanh, {sums2}, real("b", {1, 1, 1, 4}));
  const auto c = ours.operation(Kind::reshape, {b}, real("c", {1, 4}));
  const Model built = ours.finished({ours.operation(Kind::fully_connected, {c, w3, absent_tensor}, real("y", {1, 8}))});

  const auto on_gna = [&](const Model& model) {
    std::vector<std::vector<Tensor>> samples;
    for (unsigned seed = 300; seed < 308; ++seed)
      samples.push_back({Tensor::from<float>(model.tensor(model.inputs[0]).shape, random_values(32, seed, 1))});
    return quantize(model, find_backend("gna2"), samples).model;
  };
  const Model from_onnx = on_gna(onnx), from_built = on_gna(built);
  const auto tables = [](const Model& model) {
    return std::ranges::count_if(model.operations, [](const Operation& operation) { return operation.kind == Kind::pwl; });
  };
  CHECK(tables(from_built) == 3);
  CHECK(tables(from_onnx) == 3);
  for (unsigned seed = 400; seed < 404; ++seed) {
    const std::vector<float> signal = random_values(32, seed, 1);
    std::vector<std::vector<std::int16_t>> outputs;
    for (const Model* model : {&from_onnx, &from_built}) {
      const ModelTensor& input = model->tensor(model->inputs[0]);
      Tensor codes(ElementType::int16, input.shape);
      for (std::size_t i = 0; i < signal.size(); ++i)
        codes.values<std::int16_t>()[i] = static_cast<std::int16_t>(std::lround(double{signal[i]} / input.quantization.scale()));
      const Trace trace = run(*model, find_backend("gna2").backend, std::vector<Tensor>{codes});
      const auto values = trace.tensors[static_cast<std::size_t>(model->outputs[0])]->values<std::int16_t>();
      outputs.emplace_back(values.begin(), values.end());
    }
    CHECK(outputs[0] == outputs[1]);
  }
}
