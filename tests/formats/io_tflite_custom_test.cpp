// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// MediaPipe's custom operator Convolution2DTransposeBias in .tflite files.
#include <cstring>

#include "lastbit/emulator.hpp"
#include "lastbit/io/tflite.hpp"
#include "lastbit/registry.hpp"
#include "support/catch.hpp"
#include "support/one_operation.hpp"
#include "support/refusal.hpp"
#include "support/tflite_file.hpp"

using namespace lastbit;
using namespace lastbit::test;
using namespace lastbit::tflite_format;

namespace {

using Reals = std::vector<float>;

struct Transposed {
  std::int32_t height = 3, width = 2, filter_height = 3, filter_width = 4, in_channels = 2, out_channels = 3;
  std::int32_t padding = 1, stride_height = 2, stride_width = 3;

  [[nodiscard]] Reals numbers(std::int32_t count, std::int32_t step) const {
    Reals values;
    for (std::int32_t i = 0; i < count; ++i) values.push_back(static_cast<float>((i * step) % 17 - 8));
    return values;
  }
  [[nodiscard]] Reals input() const { return numbers(height * width * in_channels, 5); }
  [[nodiscard]] Reals weights() const { return numbers(out_channels * filter_height * filter_width * in_channels, 7); }
  [[nodiscard]] Reals bias() const { return numbers(out_channels, 3); }

  [[nodiscard]] TfliteFile file() const {
    const auto bytes_of = [](const auto& values) {
      std::vector<std::uint8_t> bytes(values.size() * sizeof values[0]);
      std::memcpy(bytes.data(), values.data(), bytes.size());
      return bytes;
    };
    const auto real = [](std::vector<std::int32_t> shape, const std::string& name, std::vector<std::uint8_t> data) {
      return FileTensor{
          .shape = std::move(shape), .type = TensorType::FLOAT32, .data = std::move(data), .scale = {}, .zero_point = {}, .name = name};
    };
    TfliteFile made;
    made.code = BuiltinOperator::CUSTOM;
    made.custom_code = "Convolution2DTransposeBias";
    made.custom_options = bytes_of(std::vector<std::int32_t>{padding, stride_width, stride_height});
    made.tensors = {real({1, height, width, in_channels}, "x", {}),
                    real({out_channels, filter_height, filter_width, in_channels}, "w", bytes_of(weights())),
                    real({out_channels}, "b", bytes_of(bias())), real({}, "y", {})};
    made.op_inputs = {0, 1, 2};
    made.op_outputs = made.outputs = {3};
    made.inputs = {0};
    return made;
  }

  /// Every input value into the outputs that it reaches, as the operator's source says; small whole numbers, so that the order of a sum is nothing.
  [[nodiscard]] Reals expected(std::int32_t out_height, std::int32_t out_width, std::int32_t top, std::int32_t left) const {
    const Reals x = input(), w = weights(), b = bias();
    Reals y(static_cast<std::size_t>(out_height * out_width * out_channels));
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = b[i % static_cast<std::size_t>(out_channels)];
    for (std::int32_t at = 0; at < height * width * in_channels; ++at) {
      const std::int32_t c = at % in_channels, in_x = at / in_channels % width, in_y = at / in_channels / width;
      for (std::int32_t tap = 0; tap < filter_height * filter_width; ++tap) {
        const std::int32_t out_y = in_y * stride_height - top + tap / filter_width, out_x = in_x * stride_width - left + tap % filter_width;
        if (out_y < 0 || out_y >= out_height || out_x < 0 || out_x >= out_width) continue;
        for (std::int32_t o = 0; o < out_channels; ++o)
          y[static_cast<std::size_t>((out_y * out_width + out_x) * out_channels + o)] +=
              x[static_cast<std::size_t>(at)] * w[static_cast<std::size_t>((o * filter_height * filter_width + tap) * in_channels + c)];
      }
    }
    return y;
  }
};

lastbit::Tensor computed(const Transposed& layer) {
  const lastbit::Model model = parse_tflite(layer.file().bytes(), "custom.tflite");
  const Reals values = layer.input();
  const std::vector<lastbit::Tensor> inputs{
      lastbit::Tensor::from<float>(lastbit::Shape{1, layer.height, layer.width, layer.in_channels}, values)};
  return *run(model, find_backend("float").backend, inputs).tensors[static_cast<std::size_t>(model.outputs[0])];
}

void refuses(const TfliteFile& file, const std::string& text) {
  const auto refusal = refusal_of([&] { static_cast<void>(parse_tflite(file.bytes(), "bad.tflite")); });
  REQUIRE(refusal);
  INFO(refusal->message);
  CHECK(refusal->says(text));
  CHECK(refusal->is_one_line());
}

}  // namespace

TEST_CASE("Convolution2DTransposeBias makes the shape of its output and the sums that its source says") {
  const Transposed same;  // of the height 3 - 0 - 1 = 2 are cut, one of them above; of the width 4 - 1 - 1 = 2
  const lastbit::Tensor y = computed(same);
  CHECK(y.shape() == lastbit::Shape{1, 5, 5, 3});
  CHECK(values_of<float>(y) == same.expected(5, 5, 1, 1));
  Transposed odd;  // 3 are cut, one of them above
  odd.filter_height = 4;
  odd.stride_height = 1;
  CHECK(computed(odd).shape() == lastbit::Shape{1, 3, 5, 3});
  CHECK(values_of<float>(computed(odd)) == odd.expected(3, 5, 1, 1));
  Transposed valid;
  valid.padding = 2;
  CHECK(computed(valid).shape() == lastbit::Shape{1, 7, 7, 3});
  CHECK(values_of<float>(computed(valid)) == valid.expected(7, 7, 0, 0));
}

TEST_CASE("what Convolution2DTransposeBias says wrong is refused in one line") {
  Transposed layer;
  layer.padding = 0;
  refuses(layer.file(), "unknown padding 0");
  layer.padding = 1;
  layer.stride_width = 0;
  refuses(layer.file(), "a stride of 0");
  layer.stride_width = 2;
  TfliteFile file = layer.file();
  file.custom_options.resize(11);
  refuses(file, "its options are missing or corrupt");
  file = layer.file();
  file.op_inputs.pop_back();
  refuses(file, "3 needed");
  file = layer.file();
  file.tensors[0].type = TensorType::INT8;
  file.tensors[0].scale = {0.5F};
  file.tensors[0].zero_point = {0};
  refuses(file, "data of int8");
}
