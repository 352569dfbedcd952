// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "differential/core_layer.hpp"

#include "lastbit/backends/ascend.hpp"
#include "lastbit/backends/tflite.hpp"
#include "lastbit/backends/vipnano.hpp"
#include "lastbit/core.hpp"

namespace lastbit::test {
namespace {

/// Thrown where the core has no call for a layer.
struct NoCall {};

Extents extents_of(const Shape& shape) {
  if (shape.rank() > Extents::most || shape.rank() == 0) throw NoCall{};
  return Extents(shape.sizes());
}

template <class T>
Tensor tensor_of(const Array<T>& array) {
  return Tensor::from<T>(Shape(std::vector<std::int64_t>(array.shape.sizes().begin(), array.shape.sizes().end())), array.values);
}

template <class T>
View<T> view_of(const ModelTensor& info, const Tensor& tensor) {
  const Quantization& of = info.quantization;
  const auto& zeros = of.zero_points;
  if (std::ranges::any_of(zeros, [&](std::int64_t zero) { return zero != zeros[0]; })) throw NoCall{};
  if (of.per_channel()) return View<T>(tensor.values<T>(), extents_of(tensor.shape()), std::span<const double>(of.scales), of.zero_point());
  return View<T>(tensor.values<T>(), extents_of(tensor.shape()), of.scale(), of.zero_point());
}

Activation plain(const OutputBounds& bounds) {
  OutputBounds rest = bounds;
  rest.activation = Activation::none;
  if (rest != OutputBounds{}) throw NoCall{};
  return bounds.activation;
}

OutputOptions output_of(const ModelTensor& out, Activation activation) {
  if (!out.quantization.present() || out.quantization.per_channel()) throw NoCall{};
  return {out.quantization.scale(), out.quantization.zero_point(), activation};
}

/// body.operator()<T>() of the element type.
template <class Body>
Tensor with_code(ElementType type, Body&& body) {
  switch (type) {
    case ElementType::int8: return body.template operator()<std::int8_t>();
    case ElementType::uint8: return body.template operator()<std::uint8_t>();
    case ElementType::int16: return body.template operator()<std::int16_t>();
    default: throw NoCall{};
  }
}

/// Of a constant, code is made for data and weights of one 8-bit type alone.
template <class Device, class X, class W>
inline constexpr bool is_made = std::is_same_v<Device, core::GivenDevice> || (std::is_same_v<X, W> && sizeof(X) == 1);

/// A device that is given, or a constant: the calls of both forms.
struct Given {
  const Backend* device;
  [[nodiscard]] core::GivenDevice operator()() const { return {device}; }
};
template <const Backend& device>
struct Constant {
  [[nodiscard]] core::KnownDevice<device> operator()() const { return {}; }
};

template <class Device>
class Calls {
 public:
  Calls(const Model& model, Device device, std::span<const Tensor> inputs)
      : model_(model), operation_(model.operations[0]), device_(device()), out_(model.tensor(operation_.outputs[0])) {
    for (std::size_t i = 0; i < model.inputs.size(); ++i) {
      for (std::size_t at = 0; at < operation_.inputs.size(); ++at)
        if (operation_.inputs[at] == model.inputs[i]) data_[at] = &inputs[i];
    }
  }

  [[nodiscard]] Tensor operator()() const {
    using enum OperationKind;
    if (operation_.stated != Statement::on_codes || operation_.outputs.size() != 1) throw NoCall{};
    if (is_float16()) return of_float16();
    switch (operation_.kind) {
      case conv2d: return convolution<core::ConvKind::plain>("conv2d");
      case depthwise_conv2d: return convolution<core::ConvKind::depthwise>("depthwise_conv2d");
      case transposed_conv2d: return convolution<core::ConvKind::transposed>("transposed_conv2d");
      case fully_connected: return dense();
      case matmul: return matrix_product();
      case max_pool2d:
      case average_pool2d:
      case global_average_pool: return pool();
      case add:
      case sub:
      case mul: return pair();
      case requantize: return rescaled();
      case relu:
      case relu6:
      case relu_n1_to_1: return rectified();
      case concat: return joined();
      case quantize: return quantized();
      case dequantize: return dequantized();
      case logistic: return sigmoid<Sigmoid::logistic>();
      case OperationKind::tanh: return sigmoid<Sigmoid::tanh>();
      case softmax: return shares();
      case pwl: return piecewise();
      default: throw NoCall{};
    }
  }

 private:
  [[nodiscard]] const ModelTensor& info(std::size_t at) const { return model_.tensor(operation_.inputs[at]); }
  [[nodiscard]] bool has(std::size_t at) const { return at < operation_.inputs.size() && operation_.inputs[at] != absent_tensor; }
  [[nodiscard]] const Tensor& values(std::size_t at) const { return info(at).constant ? *info(at).constant : *data_[at]; }
  template <class T>
  [[nodiscard]] View<T> view(std::size_t at) const {
    if (info(at).type != element_type_of<T>) throw NoCall{};
    return view_of<T>(info(at), values(at));
  }

  template <class Body>
  [[nodiscard]] Tensor with_bias(Body&& body) const {
    if (!has(2)) return body(std::span<const std::int32_t>{});
    if (!info(2).constant) throw NoCall{};
    if (info(2).type == ElementType::int64) return body(info(2).constant->template values<std::int64_t>());
    if (info(2).type != ElementType::int32) throw NoCall{};
    return body(info(2).constant->template values<std::int32_t>());
  }

  template <core::ConvKind kind>
  [[nodiscard]] Tensor convolution(std::string_view name) const {
    const auto& how = std::get<Conv2dAttributes>(operation_.attributes);
    if (how.cross_terms || has(multiplier_input)) throw NoCall{};
    Conv2dOptions options{.activation = plain(how.bounds)};
    options.stride = {how.stride.height, how.stride.width};
    options.dilation = {how.dilation.height, how.dilation.width};
    static_cast<Padding2d&>(options.padding) = how.padding;
    std::optional<Extent2d> size;
    if (kind == core::ConvKind::transposed) size = Extent2d{out_.shape[1], out_.shape[2]};
    const bool sums = out_.type == ElementType::int32 && !out_.quantization.present();
    if (!sums) {
      const OutputOptions out = output_of(out_, options.activation);
      if (out_.type != info(0).type) throw NoCall{};
      options.scale = out.scale, options.zero_point = out.zero_point;
    } else if (options.activation != Activation::none) {
      throw NoCall{};
    }
    return with_code(info(0).type, [&]<class X>() {
      return with_code(info(1).type, [&]<class W>() {
        return with_bias([&]<class Bias>(std::span<const Bias> bias) -> Tensor {
          if constexpr (!is_made<decltype(device_), X, W> || (sizeof(X) == 1 && sizeof(Bias) == 8)) throw NoCall{};
          else {
            if (has(2) && info(2).shape.element_count() != out_.shape.back()) throw NoCall{};
            if (sums) return tensor_of(core::convolution<kind, std::int32_t>(device_, name, view<X>(0), view<W>(1), bias, options, size));
            return tensor_of(core::convolution<kind, X>(device_, name, view<X>(0), view<W>(1), bias, options, size));
          }
        });
      });
    });
  }

  [[nodiscard]] Tensor dense() const {
    const auto& how = std::get<FullyConnectedAttributes>(operation_.attributes);
    if (!how.active_rows.empty() || how.bias_column || has(multiplier_input) || out_.type != info(0).type || info(0).shape.rank() != 2 ||
        info(0).shape[1] != info(1).shape[1])
      throw NoCall{};
    const OutputOptions out = output_of(out_, plain(how.bounds));
    return with_code(info(0).type, [&]<class X>() {
      return with_code(info(1).type, [&]<class W>() {
        return with_bias([&]<class Bias>(std::span<const Bias> bias) -> Tensor {
          if constexpr (std::is_same_v<Bias, std::int64_t> || !is_made<decltype(device_), X, W>) throw NoCall{};
          else return tensor_of(core::dense(device_, view<X>(0), view<W>(1), bias, out));
        });
      });
    });
  }

  [[nodiscard]] Tensor matrix_product() const {
    const auto& how = std::get<MatmulAttributes>(operation_.attributes);
    if (how.transpose_a || how.transpose_b || info(0).shape.rank() != 2 || info(1).shape.rank() != 2 || out_.type != info(0).type)
      throw NoCall{};
    const OutputOptions out = output_of(out_, plain(how.bounds));
    return with_code(info(0).type, [&]<class X>() {
      return with_code(info(1).type, [&]<class W>() -> Tensor {
        if constexpr (!is_made<decltype(device_), X, W>) throw NoCall{};
        else return tensor_of(core::matrix_product(device_, view<X>(0), view<W>(1), out));
      });
    });
  }

  [[nodiscard]] Tensor pool() const {
    const auto& how = std::get<Pool2dAttributes>(operation_.attributes);
    if (how.partial_windows != PartialWindows::dropped || how.counted_padding || how.planar || out_.type != info(0).type ||
        out_.shape.rank() != 4)
      throw NoCall{};
    const OutputOptions out = output_of(out_, plain(how.bounds));
    Pool2dOptions options{.scale = out.scale, .zero_point = out.zero_point, .activation = out.activation};
    options.stride = {how.stride.height, how.stride.width};
    static_cast<Padding2d&>(options.padding) = how.padding;
    return with_code(info(0).type, [&]<class X>() {
      const View<X> x = view<X>(0);
      if (operation_.kind == OperationKind::max_pool2d) return tensor_of(core::largest(device_, x, how.filter, options));
      if (operation_.kind == OperationKind::average_pool2d) return tensor_of(core::average(device_, x, how.filter, options, false));
      options.stride = 1, options.padding = valid;
      return tensor_of(core::average(device_, x, core::whole_image(x), options, true));
    });
  }

  [[nodiscard]] Tensor pair() const {
    const auto& how = std::get<ElementwiseAttributes>(operation_.attributes);
    if (operation_.inputs.size() != 2 || how.power_of_two_scales || info(0).type != info(1).type || out_.type != info(0).type ||
        info(0).quantization.per_channel() || info(1).quantization.per_channel())
      throw NoCall{};
    const OutputOptions out = output_of(out_, plain(how.bounds));
    return with_code(info(0).type, [&]<class X>() {
      const View<X> a = view<X>(0), b = view<X>(1);
      if (operation_.kind == OperationKind::mul) return tensor_of(core::product(device_, a, b, out));
      if (operation_.kind == OperationKind::sub) return tensor_of(core::sum<core::SumKind::sub>(device_, a, b, out));
      return tensor_of(core::sum<core::SumKind::add>(device_, a, b, out));
    });
  }

  [[nodiscard]] Tensor rescaled() const {
    const OutputOptions out = output_of(out_, plain(std::get<RequantizeAttributes>(operation_.attributes).bounds));
    if (info(0).quantization.per_channel() || !info(0).quantization.present()) throw NoCall{};
    return with_code(info(0).type, [&]<class X>() {
      return with_code(out_.type, [&]<class Y>() { return tensor_of(core::change_of_scale<Y>(device_, view<X>(0), out)); });
    });
  }

  [[nodiscard]] Tensor rectified() const {
    const OutputOptions out = output_of(out_, *activation_from(name_of(operation_.kind)));
    if (out_.type != info(0).type || info(0).quantization.per_channel()) throw NoCall{};
    return with_code(info(0).type, [&]<class X>() { return tensor_of(core::rectified(device_, view<X>(0), out)); });
  }

  [[nodiscard]] Tensor joined() const {
    const auto& how = std::get<ConcatAttributes>(operation_.attributes);
    const OutputOptions out = output_of(out_, how.activation);
    for (std::size_t i = 0; i < operation_.inputs.size(); ++i)
      if (info(i).type != out_.type || info(i).quantization.per_channel()) throw NoCall{};
    const auto axis = static_cast<std::size_t>(how.axis < 0 ? how.axis + static_cast<std::int64_t>(out_.shape.rank()) : how.axis);
    return with_code(out_.type, [&]<class X>() {
      std::vector<View<X>> parts;
      for (std::size_t i = 0; i < operation_.inputs.size(); ++i) parts.push_back(view<X>(i));
      return tensor_of(core::joined(device_, std::span<const View<X>>(parts), axis, out));
    });
  }

  /// Whether it reads or writes binary16.
  [[nodiscard]] bool is_float16() const { return out_.type == ElementType::float16 || info(0).type == ElementType::float16; }

  [[nodiscard]] Tensor of_float16() const {
    if constexpr (!std::is_same_v<decltype(device_), core::GivenDevice> && !std::is_same_v<decltype(device_), core::KnownDevice<ascend310>>)
      throw NoCall{};
    else return float16_layer();
  }
  [[nodiscard]] Float16Bias float16_bias() const {
    if (!has(2)) return {};
    if (info(2).shape.element_count() != out_.shape.back()) throw NoCall{};
    if (info(2).type == ElementType::float16) return values(2).template values<Float16>();
    if (info(2).type != ElementType::float32) throw NoCall{};
    return values(2).template values<float>();
  }
  template <core::ConvKind kind>
  [[nodiscard]] Tensor float16_convolution(std::string_view name) const {
    const auto& how = std::get<Conv2dAttributes>(operation_.attributes);
    Conv2dOptions options{.activation = plain(how.bounds)};
    options.stride = {how.stride.height, how.stride.width};
    options.dilation = {how.dilation.height, how.dilation.width};
    static_cast<Padding2d&>(options.padding) = how.padding;
    std::optional<Extent2d> size;
    if (kind == core::ConvKind::transposed) size = Extent2d{out_.shape[1], out_.shape[2]};
    return tensor_of(core::float16_convolution<kind>(device_, name, view<Float16>(0), view<Float16>(1), float16_bias(), options, size));
  }
  [[nodiscard]] Tensor float16_pool() const {
    const auto& how = std::get<Pool2dAttributes>(operation_.attributes);
    const View<Float16> x = view<Float16>(0);
    Pool2dOptions options{.activation = plain(how.bounds)};
    if (operation_.kind == OperationKind::global_average_pool)
      return tensor_of(core::float16_average(device_, x, core::whole_image(x), options, core::Averaged::image));
    options.stride = {how.stride.height, how.stride.width};
    static_cast<Padding2d&>(options.padding) = how.padding;
    if (how.partial_windows != PartialWindows{}) throw NoCall{};
    if (operation_.kind == OperationKind::max_pool2d) return tensor_of(core::float16_largest_of(device_, x, how.filter, options));
    return tensor_of(core::float16_average(device_, x, how.filter, options, core::Averaged::windows));
  }
  [[nodiscard]] Tensor float16_pair() const {
    const auto& how = std::get<ElementwiseAttributes>(operation_.attributes);
    if (operation_.inputs.size() != 2) throw NoCall{};
    const View<Float16> a = view<Float16>(0), b = view<Float16>(1);
    const OutputOptions out{.activation = plain(how.bounds)};
    if (operation_.kind == OperationKind::mul) return tensor_of(core::float16_product(device_, a, b, out));
    if (operation_.kind == OperationKind::sub) return tensor_of(core::float16_sum<core::SumKind::sub>(device_, a, b, out));
    return tensor_of(core::float16_sum<core::SumKind::add>(device_, a, b, out));
  }
  [[nodiscard]] Tensor float16_matrices() const {
    if (operation_.kind == OperationKind::matmul) {
      const auto& how = std::get<MatmulAttributes>(operation_.attributes);
      if (how.transpose_a || how.transpose_b || info(0).shape.rank() != 2 || info(1).shape.rank() != 2) throw NoCall{};
      return tensor_of(
          core::float16_matrix_product(device_, view<Float16>(0), view<Float16>(1), OutputOptions{.activation = plain(how.bounds)}));
    }
    const auto& how = std::get<FullyConnectedAttributes>(operation_.attributes);
    if (how.bias_column || info(0).shape.rank() != 2 || info(0).shape[1] != info(1).shape[1]) throw NoCall{};
    return tensor_of(
        core::float16_dense(device_, view<Float16>(0), view<Float16>(1), float16_bias(), OutputOptions{.activation = plain(how.bounds)}));
  }
  [[nodiscard]] Tensor float16_layer() const {
    using enum OperationKind;
    if (operation_.kind == quantize) return quantized();
    if (operation_.kind == dequantize) {
      if (info(0).quantization.per_channel()) throw NoCall{};
      return with_code(info(0).type, [&]<class X>() { return tensor_of(core::float16_dequantized(device_, view<X>(0))); });
    }
    if (operation_.kind == cast && out_.type == ElementType::float32) return tensor_of(core::float16_real(device_, view<Float16>(0)));
    if (out_.type != ElementType::float16) throw NoCall{};
    if (operation_.kind == cast && info(0).type == ElementType::float32)
      return tensor_of(core::float16_cast(device_, values(0).template values<float>(), extents_of(values(0).shape())));
    switch (operation_.kind) {
      case conv2d: return float16_convolution<core::ConvKind::plain>("conv2d");
      case depthwise_conv2d: return float16_convolution<core::ConvKind::depthwise>("depthwise_conv2d");
      case transposed_conv2d: return float16_convolution<core::ConvKind::transposed>("transposed_conv2d");
      case fully_connected:
      case matmul: return float16_matrices();
      case max_pool2d:
      case average_pool2d:
      case global_average_pool: return float16_pool();
      case add:
      case sub:
      case mul: return float16_pair();
      default: throw NoCall{};
    }
  }

  [[nodiscard]] Tensor quantized() const {
    const OutputOptions out = output_of(out_, Activation::none);
    if (info(0).type != ElementType::float32 && !is_float16()) throw NoCall{};
    return with_code(out_.type, [&]<class Y>() {
      if (is_float16())
        return tensor_of(core::quantized<Y>(device_, values(0).template values<Float16>(), extents_of(values(0).shape()), out));
      return tensor_of(core::quantized<Y>(device_, values(0).template values<float>(), extents_of(values(0).shape()), out));
    });
  }

  [[nodiscard]] Tensor dequantized() const {
    if (info(0).quantization.per_channel() || out_.type != ElementType::float32) throw NoCall{};
    return with_code(info(0).type, [&]<class X>() { return tensor_of(core::dequantized(device_, view<X>(0))); });
  }

  template <Sigmoid function>
  [[nodiscard]] Tensor sigmoid() const {
    const OutputOptions out = output_of(out_, Activation::none);
    if (out_.type != info(0).type) throw NoCall{};
    if (info(0).type == ElementType::int32) return tensor_of(core::sigmoid<function>(device_, view<std::int32_t>(0), out));
    return with_code(info(0).type, [&]<class X>() { return tensor_of(core::sigmoid<function>(device_, view<X>(0), out)); });
  }

  [[nodiscard]] Tensor shares() const {
    const OutputOptions out = output_of(out_, Activation::none);
    const SoftmaxOptions options{out.scale, out.zero_point, std::get<SoftmaxAttributes>(operation_.attributes).beta};
    if (out_.type != info(0).type && out_.type != ElementType::int16) throw NoCall{};
    return with_code(info(0).type, [&]<class X>() {
      if (out_.type == info(0).type) return tensor_of(core::shares<X>(device_, view<X>(0), options));
      return tensor_of(core::shares<std::int16_t>(device_, view<X>(0), options));
    });
  }

  [[nodiscard]] Tensor piecewise() const {
    const auto records = values(1).template values<std::int32_t>();
    std::vector<PwlSegment> segments;
    for (std::size_t i = 0; i < records.size(); i += 3)
      segments.push_back(pwl_segment(records[i], static_cast<std::int16_t>(records[i + 1]), static_cast<std::int16_t>(records[i + 2])));
    const View<std::int32_t> x(values(0).template values<std::int32_t>(), extents_of(values(0).shape()));
    const OutputOptions out{.scale = 1};
    if (out_.type == ElementType::int32) return tensor_of(core::piecewise<std::int32_t>(device_, x, segments, out));
    if (out_.type == ElementType::int16) return tensor_of(core::piecewise<std::int16_t>(device_, x, segments, out));
    if (out_.type == ElementType::int8) return tensor_of(core::piecewise<std::int8_t>(device_, x, segments, out));
    throw NoCall{};
  }

  const Model& model_;
  const Operation& operation_;
  decltype(std::declval<Device>()()) device_;
  const ModelTensor& out_;
  std::array<const Tensor*, 16> data_{};
};

template <class Device>
std::optional<Tensor> called(const Model& model, Device device, std::span<const Tensor> inputs) try {
  if (model.operations.size() != 1 || model.operations[0].inputs.size() > 16) return {};
  return Calls<Device>(model, device, inputs)();
} catch (const NoCall&) {
  return {};
}

}  // namespace

std::optional<Tensor> by_core(const Model& model, const Backend& backend, std::span<const Tensor> inputs) {
  if (backend.domain == Domain::real) return {};
  return called(model, Given{&backend}, inputs);
}

std::optional<Tensor> by_constant(const Model& model, const std::string& device, std::span<const Tensor> inputs) {
  if (device == "vipnano_v8") return called(model, Constant<vipnano_v8>{}, inputs);
  if (device == "ascend310") return called(model, Constant<ascend310>{}, inputs);
  if (device == "tflite_double") return called(model, Constant<tflite_double>{}, inputs);
  return {};
}

}  // namespace lastbit::test
