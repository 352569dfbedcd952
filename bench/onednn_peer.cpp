// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "onednn_peer.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <dnnl.hpp>
#include <unordered_map>

namespace lastbit::bench {
namespace {

using Type = dnnl::memory::data_type;
using Format = dnnl::memory::format_tag;
using Dims = dnnl::memory::dims;

Type type_of(ElementType type) { return type == ElementType::int8 ? Type::s8 : type == ElementType::uint8 ? Type::u8 : Type::s32; }

/// Before and after the image.
std::array<std::int64_t, 2> padding_of(const Padding2d& padding, std::int64_t in, std::int64_t out, std::int64_t kernel,
                                       std::int64_t stride, std::int64_t before, std::int64_t after) {
  if (padding.mode == PaddingMode::explicit_sizes) return {before, after};
  if (padding.mode == PaddingMode::valid) return {0, 0};
  const std::int64_t total = std::max<std::int64_t>(0, (out - 1) * stride + kernel - in);
  return {total / 2, total - total / 2};
}

/// oneDNN of Debian takes its number of threads from OpenMP.
void use_one_thread() {
  using SetThreads = void (*)(int);
  if (const auto set_threads = reinterpret_cast<SetThreads>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"))) set_threads(1);
}

}  // namespace

struct OnednnConvolution::Parts {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  dnnl::convolution_forward convolution;
  std::unordered_map<int, dnnl::memory> arguments;
  Tensor output;
  dnnl::memory::desc output_layout;

  /// The user's values in the layout that the primitive wants.
  dnnl::memory reordered(const Tensor& values, const dnnl::memory::desc& layout, const dnnl::memory::desc& wanted) {
    Tensor copy = values;
    dnnl::memory from(layout, engine, copy.bytes().data()), to(wanted, engine);
    dnnl::reorder(from, to).execute(stream, from, to);
    stream.wait();
    return to;
  }
};

OnednnConvolution::OnednnConvolution(const Model& model, const Tensor& input) : parts_(std::make_unique<Parts>()) {
  use_one_thread();
  const Operation& operation = model.operations[0];
  const auto& attributes = std::get<Conv2dAttributes>(operation.attributes);
  const ModelTensor& in = model.tensor(operation.inputs[0]);
  const ModelTensor& weights = model.tensor(operation.inputs[1]);
  const ModelTensor& bias = model.tensor(operation.inputs[2]);
  const ModelTensor& out = model.tensor(operation.outputs[0]);
  const bool depthwise = operation.kind == OperationKind::depthwise_conv2d;
  const std::int64_t channels = out.shape[3], kh = weights.shape[1], kw = weights.shape[2];
  const auto nchw = [](const Shape& s) { return Dims{s[0], s[3], s[1], s[2]}; };
  const Dims weight_dims = depthwise ? Dims{channels, 1, 1, kh, kw} : Dims{channels, weights.shape[3], kh, kw};
  const Padding2d& padding = attributes.padding;
  const auto rows = padding_of(padding, in.shape[1], out.shape[1], kh, attributes.stride.height, padding.top, padding.bottom);
  const auto columns = padding_of(padding, in.shape[2], out.shape[2], kw, attributes.stride.width, padding.left, padding.right);

  const auto any = [](const Dims& dims, Type type) { return dnnl::memory::desc(dims, type, Format::any); };
  const dnnl::convolution_forward::desc description(
      dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, any(nchw(in.shape), type_of(in.type)),
      any(weight_dims, Type::s8), any({channels}, Type::s32), any(nchw(out.shape), type_of(out.type)),
      {attributes.stride.height, attributes.stride.width}, {rows[0], columns[0]}, {rows[1], columns[1]});
  dnnl::primitive_attr scaling;
  if (out.type != ElementType::int32) {
    std::vector<float> scales;
    for (std::size_t o = 0; o < static_cast<std::size_t>(channels); ++o)
      scales.push_back(static_cast<float>(in.quantization.scale()) * static_cast<float>(weights.quantization.scale(o)) /
                       static_cast<float>(out.quantization.scale()));
    scaling.set_output_scales(1 << 1, scales);
  }
  const dnnl::convolution_forward::primitive_desc primitive(description, scaling, parts_->engine);
  parts_->convolution = dnnl::convolution_forward(primitive);
  const dnnl::memory::desc in_layout(nchw(in.shape), type_of(in.type), Format::nhwc);
  // OHWI, or [1, kh, kw, channels] of one value per group.
  const dnnl::memory::desc weight_layout(weight_dims, Type::s8, depthwise ? Format::hwigo : Format::ohwi);
  const dnnl::memory::desc bias_layout({channels}, Type::s32, Format::x);
  parts_->output = Tensor(out.type, out.shape);
  parts_->output_layout = dnnl::memory::desc(nchw(out.shape), type_of(out.type), Format::nhwc);
  parts_->arguments = {{DNNL_ARG_SRC, parts_->reordered(input, in_layout, primitive.src_desc())},
                       {DNNL_ARG_WEIGHTS, parts_->reordered(*weights.constant, weight_layout, primitive.weights_desc())},
                       {DNNL_ARG_BIAS, parts_->reordered(*bias.constant, bias_layout, primitive.bias_desc())},
                       {DNNL_ARG_DST, dnnl::memory(primitive.dst_desc(), parts_->engine)}};
}

OnednnConvolution::~OnednnConvolution() = default;

void OnednnConvolution::run() {
  parts_->convolution.execute(parts_->stream, parts_->arguments);
  parts_->stream.wait();
}

Tensor OnednnConvolution::output() {
  run();
  dnnl::memory to(parts_->output_layout, parts_->engine, parts_->output.bytes().data());
  dnnl::memory& from = parts_->arguments.at(DNNL_ARG_DST);
  dnnl::reorder(from, to).execute(parts_->stream, from, to);
  parts_->stream.wait();
  return parts_->output;
}

}  // namespace lastbit::bench
