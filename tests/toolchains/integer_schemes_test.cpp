// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The schemes of ESP-PPQ and of PyTorch's observers, against values worked out by hand.
#include "lastbit/quantizer.hpp"
#include "lastbit/registry.hpp"
#include "support/catch.hpp"
#include "support/network.hpp"

using namespace lastbit;
using lastbit::test::Network;

namespace {

using Kind = OperationKind;

/// x of two values -> fully connected with 2 channels -> y, and their sum with x.
Network dense(const std::vector<float>& weights, const std::vector<float>& bias) {
  Network network;
  const auto x = network.real("x", {1, 2}), w = network.constant<float>("w", {2, 2}, weights), b = network.constant<float>("b", {2}, bias),
             y = network.real("y", {1, 2}), sum = network.real("sum", {1, 2});
  network.operation(Kind::fully_connected, {x, w, b}, {y});
  network.operation(Kind::add, {x, y}, {sum});
  network.model.inputs = {x};
  network.model.outputs = {sum};
  return network;
}

Model quantised(const Network& network, const char* backend) {
  const std::vector<std::vector<Tensor>> samples{{Tensor::from<float>({1, 2}, std::vector<float>{-1, 127.0F / 128})}};
  return quantize(network.model, find_backend(backend), samples, {{"range", "max"}}).model;
}

const ModelTensor& find(const Model& model, std::string_view name) { return model.tensor(model.find_tensor(name).value()); }

template <class T>
std::vector<T> codes(const Model& model, const std::string& name) {
  const auto values = find(model, name).constant.value().values<T>();
  return {values.begin(), values.end()};
}

using Bytes = std::vector<std::int8_t>;
using Words = std::vector<std::int32_t>;

}  // namespace

TEST_CASE("ESP-PPQ: scales are powers of two of 255 steps, ties up on the S3 and to even on the P4") {
  // Weights of at most 1 have the scale 2^-6: 2/255 is a little less than 2^-7 twice. Of the second row alone, 1/4, it is 2^-8.
  const Network network = dense({-1, 2.5F / 64, 0.25F, -2.5F / 64}, {1, -3.0F / 64});
  const Model s3 = quantised(network, "espdl_s3"), p4 = quantised(network, "espdl_p4");
  CHECK(find(s3, "w").quantization.scales == std::vector{0x1p-6});
  CHECK(codes<std::int8_t>(s3, "w") == Bytes{-64, 3, 16, -2});
  CHECK(find(p4, "w").quantization.scales == std::vector{0x1p-6, 0x1p-8});
  CHECK(codes<std::int8_t>(p4, "w") == Bytes{-64, 2, 64, -10});
  for (const Model* const model : {&s3, &p4}) {
    CHECK(find(*model, "x").quantization.zero_point() == 0);
    CHECK(find(*model, "x").quantization == find(*model, "sum").quantization);  // codes of one exponent are added
    CHECK(find(*model, "x").quantization == find(*model, "y").quantization);
  }
  const double unit = find(s3, "x").quantization.scale() * 0x1p-6;
  CHECK(find(s3, "b").quantization.scales == std::vector{unit});
  CHECK(codes<std::int32_t>(s3, "b") == Words{static_cast<std::int32_t>(1 / unit), static_cast<std::int32_t>(-3.0 / 64 / unit)});
}

TEST_CASE("ESP-PPQ: a bias has 20 bits on the S3, 32 on the P4") {
  const Network network = dense({0x1p-10F, 0, 0, 0x1p-10F}, {0.5F, -100});
  CHECK(codes<std::int32_t>(quantised(network, "espdl_s3"), "b").at(1) == -((1 << 19) - 1));
  CHECK(codes<std::int32_t>(quantised(network, "espdl_p4"), "b").at(1) < -(1 << 19));
}

TEST_CASE("MAX78000: data between -1 and 1, one power of two that holds weights and bias, whose 8 bits are multiplied by 128") {
  const Network network = dense({0.25F, 2.5F / 512, -0.125F, -2.5F / 512}, {0.2F, -1.0F / 1024});
  const Model model = quantised(network, "max78000");
  for (const char* data : {"x", "y", "sum"}) CHECK(find(model, data).quantization == Quantization{{1.0 / 128}, {0}, 0});
  CHECK(find(model, "w").quantization.scales == std::vector{1.0 / 512});  // s = 2
  CHECK(codes<std::int8_t>(model, "w") == Bytes{127, 3, -64, -2});        // 128 does not fit, and ties go up
  CHECK(codes<std::int32_t>(model, "b") == Words{102 * 128, 0});          // 102.4; -0.5 goes up
  // A bias that is the larger one sets the scale.
  const Model biased = quantised(dense({0.25F, 0.1F, 0.1F, 0.1F}, {0.6F, 0}), "max78000");
  CHECK(find(biased, "w").quantization.scales == std::vector{1.0 / 128});
  CHECK(codes<std::int32_t>(biased, "b") == Words{77 * 128, 0});
  // By range: y reaches 3.4, so that x, y and their sum have steps of 1/32 (they are added as codes), and the bias joins in those units.
  const std::vector<std::vector<Tensor>> samples{{Tensor::from<float>({1, 2}, std::vector<float>{-1, 127.0F / 128})}};
  const Model wide = quantize(dense({2, -1, 0, 0.5F}, {0.4F, 0}).model, find_backend("max78000"), samples, {{"data", "range"}}).model;
  CHECK(find(wide, "x").quantization.scales == std::vector{1.0 / 32});
  CHECK(find(wide, "w").quantization.scales == std::vector{1.0 / 64});
  CHECK(codes<std::int32_t>(wide, "b") == Words{6 * 128, 0});  // 0.4 * 32 * 64 / 128 = 6.4
}

TEST_CASE("PyTorch: uint8 data over the range, in 7 bits on x86; weights by half of 255 steps") {
  const Network network = dense({1, 0.5F, 0.25F, -0.125F}, {1, -1});
  const Model qnnpack = quantised(network, "pytorch_qnnpack"), x86 = quantised(network, "pytorch_x86");
  CHECK(find(qnnpack, "x").type == ElementType::uint8);
  CHECK(find(qnnpack, "x").quantization == Quantization{{1.0 / 128}, {128}, 0});
  CHECK(find(x86, "x").quantization == Quantization{{double{255.0F / 128 / 127}}, {64}, 0});
  CHECK(find(qnnpack, "w").quantization.scales == std::vector{double{1 / 127.5F}});
  CHECK(find(x86, "w").quantization.scales == std::vector{double{1 / 127.5F}, double{0.25F / 127.5F}});
  CHECK(codes<std::int8_t>(qnnpack, "w").at(1) == 64);   // 63.75
  CHECK(codes<std::int8_t>(qnnpack, "w").at(3) == -16);  // 15.94
  CHECK(codes<std::int8_t>(x86, "w").at(3) == -64);
  const std::vector<std::vector<Tensor>> samples{{Tensor::from<float>({1, 2}, std::vector<float>{-1, 127.0F / 128})}};
  const Model onednn = quantize(network.model, find_backend("pytorch_x86"), samples, {{"range", "max"}, {"reduce_range", "no"}}).model;
  CHECK(find(onednn, "x").quantization == find(qnnpack, "x").quantization);
  CHECK(find(onednn, "w").quantization == find(x86, "w").quantization);
}
