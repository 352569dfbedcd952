// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "bernoulli2/toolchain/limits.hpp"

#include <bit>

#include "lastbit/shape.hpp"

namespace lastbit {
namespace {

using enum OperationKind;

constexpr std::int64_t largest_batch = 128;
constexpr Extent2d largest_kernel{7, 7};
constexpr std::int64_t most_channels = 2048, most_channels_plain = 4096, largest_filter = 32768;
constexpr Extent2d smallest_transposed_kernel{2, 2}, largest_transposed_kernel{14, 14};
constexpr Extent2d largest_max_pool{64, 64}, largest_average_pool{7, 7};
constexpr std::int64_t largest_pool_stride = 185, largest_global_image = 8192, most_inner_product_inputs = 16384;

std::string text(Extent2d extent) { return std::to_string(extent.height) + "x" + std::to_string(extent.width); }

/// Collects what is beyond a limit.
class Findings {
 public:
  void at_most(const std::string& what, std::int64_t found, std::int64_t most) {
    if (found > most) lines_.push_back(what + " " + std::to_string(found) + ", the BPU takes at most " + std::to_string(most));
  }
  void within(const std::string& what, Extent2d found, Extent2d least, Extent2d most) {
    const bool fits =
        found.height >= least.height && found.width >= least.width && found.height <= most.height && found.width <= most.width;
    if (!fits) lines_.push_back(what + " " + text(found) + ", the BPU takes " + text(least) + " to " + text(most));
  }
  void require(bool holds, const std::string& line) {
    if (!holds) lines_.push_back(line);
  }
  [[nodiscard]] std::vector<std::string> take() { return std::move(lines_); }

 private:
  std::vector<std::string> lines_;
};

void check_dilation(Findings& findings, const Conv2dAttributes& attributes) {
  const Extent2d dilation = attributes.dilation, stride = attributes.stride;
  if (dilation == Extent2d{}) return;
  const auto is_power_of_two = [](std::int64_t size) { return std::has_single_bit(static_cast<std::uint64_t>(size)); };
  findings.require(is_power_of_two(dilation.height) && is_power_of_two(dilation.width),
                   "dilation " + text(dilation) + ", the BPU takes powers of two");
  findings.require(dilation.height % stride.height == 0 && dilation.width % stride.width == 0,
                   "dilation " + text(dilation) + " with stride " + text(stride) + ", the BPU wants the stride to divide the dilation");
  findings.require(dilation.height <= dilation.width, "dilation " + text(dilation) + ", the BPU wants its height to be at most its width");
}

void check_convolution(Findings& findings, const Model& model, const Operation& operation) {
  const auto& attributes = std::get<Conv2dAttributes>(operation.attributes);
  const Shape &in = model.tensor(operation.inputs[0]).shape, &weights = model.tensor(operation.inputs[1]).shape;
  const bool depthwise = operation.kind == depthwise_conv2d;
  const std::int64_t per_group = depthwise ? 1 : weights[3], groups = depthwise ? in[3] : in[3] / weights[3];
  const std::int64_t outputs = model.tensor(operation.outputs[0]).shape[3] / groups;
  const bool plain = groups == 1 && attributes.dilation == Extent2d{};
  const std::int64_t channels = plain ? most_channels_plain : most_channels;
  findings.within("kernel", {weights[1], weights[2]}, {1, 1}, largest_kernel);
  findings.at_most("input channels of a group", per_group, channels);
  findings.at_most("output channels of a group", outputs, channels);
  findings.at_most("kernel height * width * channels", weights[1] * weights[2] * per_group, largest_filter);
  check_dilation(findings, attributes);
}

void check_transposed(Findings& findings, const Model& model, const Operation& operation) {
  const auto& attributes = std::get<Conv2dAttributes>(operation.attributes);
  const Shape &weights = model.tensor(operation.inputs[1]).shape, &out = model.tensor(operation.outputs[0]).shape;
  const Extent2d kernel{weights[1], weights[2]}, stride = attributes.stride;
  const auto two_or_four = [](std::int64_t size) { return size == 2 || size == 4; };
  findings.within("kernel", kernel, smallest_transposed_kernel, largest_transposed_kernel);
  findings.at_most("input channels", weights[3], most_channels);
  findings.at_most("output channels", weights[0], most_channels);
  findings.require(two_or_four(stride.height) && two_or_four(stride.width), "stride " + text(stride) + ", the BPU takes 2 and 4");
  findings.require(stride.height <= stride.width, "stride " + text(stride) + ", the BPU wants its height to be at most its width");
  const ResolvedPadding padding = resolve_padding(attributes.padding, {out[1], out[2]}, kernel, stride);
  findings.at_most("padding", std::max(padding.top, padding.bottom), (kernel.height - 1) / 2);
  findings.at_most("padding", std::max(padding.left, padding.right), (kernel.width - 1) / 2);
}

void check_pool(Findings& findings, const Operation& operation, Extent2d largest) {
  const auto& attributes = std::get<Pool2dAttributes>(operation.attributes);
  findings.within("kernel", attributes.filter, {1, 1}, largest);
  findings.within("stride", attributes.stride, {1, 1}, {largest_pool_stride, largest_pool_stride});
}

}  // namespace

std::vector<std::string> bernoulli2_limits(const Model& model, const Operation& operation) {
  Findings findings;
  const Shape& in = model.tensor(operation.inputs[0]).shape;
  if (in.rank() == 4) findings.at_most("batch", in[0], largest_batch);
  switch (operation.kind) {
    case conv2d:
    case depthwise_conv2d: check_convolution(findings, model, operation); break;
    case transposed_conv2d: check_transposed(findings, model, operation); break;
    case fully_connected: {
      const Shape& weights = model.tensor(operation.inputs[1]).shape;
      findings.at_most("inputs", weights[1], most_inner_product_inputs);
      break;
    }
    case max_pool2d: check_pool(findings, operation, largest_max_pool); break;
    case average_pool2d: check_pool(findings, operation, largest_average_pool); break;
    case global_average_pool: findings.at_most("image height * width", in[1] * in[2], largest_global_image); break;
    default: break;
  }
  return findings.take();
}

}  // namespace lastbit
