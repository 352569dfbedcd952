// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The custom operator Convolution2DTransposeBias of MediaPipe: a transposed convolution with a bias, of float32 data. Its options are the bytes of a
// TfLiteTransposeConvParams; what they mean is that of mediapipe/util/tflite/operations/transpose_conv_bias.cc.
#include <algorithm>
#include <cstring>

#include "formats/tflite_operator.hpp"
#include "lastbit/shape.hpp"

namespace lastbit::tflite_format {
namespace {

struct TransposedOptions {
  std::int32_t padding = 0;  ///< 1: SAME, 2: VALID
  std::int32_t stride_width = 0, stride_height = 0;
};

TransposedOptions options_of(const OperatorReader& source) {
  TransposedOptions options;
  const std::span<const std::uint8_t> bytes = source.custom_options();
  if (bytes.size() < sizeof options) source.malformed("its options are missing or corrupt");
  std::memcpy(&options, bytes.data(), sizeof options);
  if (options.padding != 1 && options.padding != 2) source.malformed("unknown padding " + std::to_string(options.padding));
  for (const std::int32_t stride : {options.stride_height, options.stride_width})
    if (stride < 1 || stride > largest_window_parameter) source.malformed("a stride of " + std::to_string(stride));
  return options;
}

/// What is cut from the output along one axis: more of it at the end.
std::int64_t cut_of(const TransposedOptions& options, std::int64_t in, std::int64_t filter, std::int64_t stride) {
  return options.padding == 1 ? std::max<std::int64_t>(0, filter - (in - 1) % stride - 1) : 0;
}

}  // namespace

/// Input, weights, bias.
void read_transposed_convolution_with_bias(const OperatorReader& source) {
  source.require_inputs(3, 3);
  const TransposedOptions options = options_of(source);
  const Shape &in = source.input(0).shape, &weights = source.input(1).shape;
  if (in.rank() != 4 || weights.rank() != 4) source.malformed("data of " + in.text() + " and weights of " + weights.text());
  if (source.input(0).type != ElementType::float32) source.unsupported("data of " + std::string(name_of(source.input(0).type)));
  const std::int64_t height = cut_of(options, in[1], weights[1], options.stride_height);
  const std::int64_t width = cut_of(options, in[2], weights[2], options.stride_width);
  source.state_shape(0, {in[0], options.stride_height * (in[1] - 1) + weights[1] - height,
                         options.stride_width * (in[2] - 1) + weights[2] - width, weights[0]});
  source.emit(OperationKind::transposed_conv2d, source.inputs(),
              Conv2dAttributes{.stride = {options.stride_height, options.stride_width},
                               .dilation = {1, 1},
                               .padding = {PaddingMode::explicit_sizes, height / 2, height - height / 2, width / 2, width - width / 2},
                               .bounds = {}});
}

}  // namespace lastbit::tflite_format
