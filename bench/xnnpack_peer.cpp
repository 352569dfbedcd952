// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "xnnpack_peer.hpp"

#include <xnnpack.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace lastbit::bench {
namespace {

void succeed(xnn_status status, const char* what) {
  if (status != xnn_status_success) throw std::runtime_error(std::string("XNNPACK: ") + what + " ends with " + std::to_string(status));
}

}  // namespace

struct XnnpackConvolution::Parts {
  struct DeleteOperator {
    void operator()(xnn_operator_t one) const { static_cast<void>(xnn_delete_operator(one)); }
  };
  std::vector<std::int8_t> input;  ///< and what the library may read beyond it
  Tensor output;
  std::unique_ptr<xnn_operator, DeleteOperator> made;
};

XnnpackConvolution::XnnpackConvolution(const Model& model, const Tensor& input) : parts_(std::make_unique<Parts>()) {
  succeed(xnn_initialize(nullptr), "xnn_initialize");
  const Operation& operation = model.operations[0];
  const auto& attributes = std::get<Conv2dAttributes>(operation.attributes);
  const ModelTensor& in = model.tensor(operation.inputs[0]);
  const ModelTensor& weights = model.tensor(operation.inputs[1]);
  const ModelTensor& bias = model.tensor(operation.inputs[2]);
  const ModelTensor& out = model.tensor(operation.outputs[0]);
  const bool depthwise = operation.kind == OperationKind::depthwise_conv2d;
  const auto channels = static_cast<std::size_t>(out.shape[3]), in_channels = static_cast<std::size_t>(in.shape[3]);
  const std::size_t groups = depthwise ? in_channels : in_channels / static_cast<std::size_t>(weights.shape[3]);
  std::vector<float> scales;
  for (std::size_t o = 0; o < channels; ++o) scales.push_back(static_cast<float>(weights.quantization.scale(o)));
  const auto size = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
  const Padding2d& padding = attributes.padding;
  const bool stated = padding.mode == PaddingMode::explicit_sizes;
  const std::uint32_t flags =
      (padding.mode == PaddingMode::same ? XNN_FLAG_TENSORFLOW_SAME_PADDING : 0U) | (depthwise ? XNN_FLAG_DEPTHWISE_CONVOLUTION : 0U);
  xnn_operator_t made = nullptr;
  succeed(xnn_create_convolution2d_nhwc_qc8(
              stated ? size(padding.top) : 0, stated ? size(padding.right) : 0, stated ? size(padding.bottom) : 0,
              stated ? size(padding.left) : 0, size(weights.shape[1]), size(weights.shape[2]), size(attributes.stride.height),
              size(attributes.stride.width), size(attributes.dilation.height), size(attributes.dilation.width),
              static_cast<std::uint32_t>(groups), in_channels / groups, channels / groups, in_channels, channels,
              static_cast<std::int8_t>(in.quantization.zero_point()), static_cast<float>(in.quantization.scale()), scales.data(),
              weights.constant->values<std::int8_t>().data(), bias.constant->values<std::int32_t>().data(),
              static_cast<std::int8_t>(out.quantization.zero_point()), static_cast<float>(out.quantization.scale()),
              std::numeric_limits<std::int8_t>::min(), std::numeric_limits<std::int8_t>::max(), flags, &made),
          "xnn_create_convolution2d_nhwc_qc8");
  parts_->made.reset(made);
  const auto values = input.values<std::int8_t>();
  parts_->input.assign(values.begin(), values.end());
  parts_->input.resize(values.size() + XNN_EXTRA_BYTES);
  parts_->output = Tensor(out.type, out.shape);
  succeed(xnn_setup_convolution2d_nhwc_qc8(made, static_cast<std::size_t>(in.shape[0]), static_cast<std::size_t>(in.shape[1]),
                                           static_cast<std::size_t>(in.shape[2]), parts_->input.data(),
                                           parts_->output.values<std::int8_t>().data(), nullptr),
          "xnn_setup_convolution2d_nhwc_qc8");
}

XnnpackConvolution::~XnnpackConvolution() = default;

void XnnpackConvolution::run() { succeed(xnn_run_operator(parts_->made.get(), nullptr), "xnn_run_operator"); }

Tensor XnnpackConvolution::output() {
  run();
  return parts_->output;
}

}  // namespace lastbit::bench
