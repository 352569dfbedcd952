// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A model of one operation as a call of the core, on a device that is given or a constant.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "differential/core_layer.hpp"
#include "differential/core_operations.hpp"

namespace lastbit::test {

/// Thrown where the core has no call for a layer.
struct NoCall {
  Unsaid why;
};

inline Extents extents_of(const Shape& shape) {
  if (shape.rank() > Extents::most || shape.rank() == 0) throw NoCall{Unsaid::shape};
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
  if (std::ranges::any_of(zeros, [&](std::int64_t zero) { return zero != zeros[0]; })) throw NoCall{Unsaid::scales};
  if (of.per_channel()) return View<T>(tensor.values<T>(), extents_of(tensor.shape()), std::span<const double>(of.scales), of.zero_point());
  return View<T>(tensor.values<T>(), extents_of(tensor.shape()), of.scale(), of.zero_point());
}

inline Activation plain(const OutputBounds& bounds) {
  OutputBounds rest = bounds;
  rest.activation = Activation::none;
  if (rest != OutputBounds{}) throw NoCall{Unsaid::bounds};
  return bounds.activation;
}

inline OutputOptions output_of(const ModelTensor& out, Activation activation) {
  if (!out.quantization.present() || out.quantization.per_channel()) throw NoCall{Unsaid::scales};
  return {out.quantization.scale(), out.quantization.zero_point(), activation};
}

/// A device that is given, or a constant: the calls of both forms.
struct Given {
  const Backend* device;
  [[nodiscard]] core::GivenDevice operator()() const { return {device}; }
};
template <const Backend& device, bool fully>
struct Constant {
  [[nodiscard]] core::KnownDevice<device> operator()() const { return {}; }
};

/// Whether code is made for data of type T.
template <class T, class Device>
struct Made {
  static constexpr bool code(OperationKind) { return true; }
};
template <class T, const Backend& device, bool fully>
struct Made<T, Constant<device, fully>> {
  static constexpr bool code(OperationKind kind) { return fully || one_type(kind, device) == element_type_of<T>; }
};

/// For data of type X and weights of type W, which become codes or stay sums. Of a constant, where it has an arithmetic for them; none for uint8 weights of
/// other data nor int16 weights of 8-bit data, and for sums only of what gives nothing else, or of one type.
template <class X, class W, class Device>
struct MadeProducts {
  static constexpr bool of(OperationKind, bool) { return true; }
};
template <class X, class W, const Backend& device, bool fully>
struct MadeProducts<X, W, Constant<device, fully>> {
  static constexpr bool of(OperationKind kind, bool sums) {
    if (!has_products(kind, device, core::types_of<X, W>) || (std::is_same_v<W, std::uint8_t> && !std::is_same_v<X, W>)) return false;
    const ProductTypes one = one_pair(kind, device);
    const bool is_one = one.data_16bit == (sizeof(X) == 2) && one.data_unsigned == std::is_same_v<X, std::uint8_t> &&
                        one.weights_16bit == (sizeof(W) == 2) && one.weights_unsigned == std::is_same_v<W, std::uint8_t>;
    if (sizeof(W) > sizeof(X)) return false;
    if (sums) return is_one && (fully || !gives_codes(kind, device));
    return gives_codes(kind, device) && (fully || is_one);
  }
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

  /// The call of a kind of operation, of codes or binary16 values.
  template <OperationKind kind, Values values>
  [[nodiscard]] Tensor call() const {
    if constexpr (values == Values::binary16) return of_binary16<kind>();
    else return of_codes<kind>();
  }

 private:
  template <OperationKind kind>
  [[nodiscard]] Tensor of_codes() const {
    using enum OperationKind;
    if constexpr (kind == conv2d) return convolution<kind, core::ConvKind::plain>();
    else if constexpr (kind == depthwise_conv2d) return convolution<kind, core::ConvKind::depthwise>();
    else if constexpr (kind == transposed_conv2d) return convolution<kind, core::ConvKind::transposed>();
    else if constexpr (kind == fully_connected) return dense();
    else if constexpr (kind == matmul) return matrix_product();
    else if constexpr (kind == max_pool2d || kind == average_pool2d || kind == global_average_pool) return pool<kind>();
    else if constexpr (kind == OperationKind::add || kind == sub || kind == mul) return pair<kind>();
    else if constexpr (kind == requantize) return rescaled();
    else if constexpr (kind == relu || kind == relu6 || kind == relu_n1_to_1) return rectified();
    else if constexpr (kind == concat) return joined();
    else if constexpr (kind == quantize) return quantized<float>();
    else if constexpr (kind == dequantize) return dequantized();
    else if constexpr (kind == logistic) return sigmoid<Sigmoid::logistic>();
    else if constexpr (kind == OperationKind::tanh) return sigmoid<Sigmoid::tanh>();
    else if constexpr (kind == softmax) return shares();
    else if constexpr (kind == pwl) return piecewise();
    else throw NoCall{Unsaid::types};
  }

  template <OperationKind kind>
  [[nodiscard]] Tensor of_binary16() const {
    using enum OperationKind;
    if constexpr (kind == conv2d) return float16_convolution<kind, core::ConvKind::plain>();
    else if constexpr (kind == depthwise_conv2d) return float16_convolution<kind, core::ConvKind::depthwise>();
    else if constexpr (kind == transposed_conv2d) return float16_convolution<kind, core::ConvKind::transposed>();
    else if constexpr (kind == fully_connected) return float16_dense();
    else if constexpr (kind == matmul) return float16_matrix_product();
    else if constexpr (kind == max_pool2d || kind == average_pool2d || kind == global_average_pool) return float16_pool<kind>();
    else if constexpr (kind == OperationKind::add || kind == sub || kind == mul) return float16_pair<kind>();
    else if constexpr (kind == quantize) return quantized<Float16>();
    else if constexpr (kind == dequantize) return float16_dequantized();
    else if constexpr (kind == cast) return float16_cast();
    else throw NoCall{Unsaid::types};
  }

  [[nodiscard]] const ModelTensor& info(std::size_t at) const { return model_.tensor(operation_.inputs[at]); }
  [[nodiscard]] bool has(std::size_t at) const { return at < operation_.inputs.size() && operation_.inputs[at] != absent_tensor; }
  [[nodiscard]] const Tensor& values(std::size_t at) const { return info(at).constant ? *info(at).constant : *data_[at]; }
  template <class T>
  [[nodiscard]] View<T> view(std::size_t at) const {
    if (info(at).type != element_type_of<T>) throw NoCall{Unsaid::types};
    return view_of<T>(info(at), values(at));
  }
  /// The view as rows of the last axis: what a caller makes of data in more axes.
  template <class T>
  [[nodiscard]] View<T> rows(std::size_t at, std::int64_t length) const {
    const View<T> x = view<T>(at);
    if (x.per_channel()) throw NoCall{Unsaid::scales};
    if (x.values().empty() || x.shape().count() % length != 0) throw NoCall{Unsaid::shape};
    return View<T>(x.values(), {x.shape().count() / length, length}, x.scale(), x.zero_point());
  }
  template <class T>
  [[nodiscard]] Tensor shaped(const Array<T>& array) const {
    Tensor tensor = tensor_of(array);
    if (tensor.element_count() == out_.shape.element_count()) tensor.reshape(out_.shape);
    return tensor;
  }

  /// body.operator()<T>() of a type of codes, where code is made for it.
  template <OperationKind kind, class Body>
  [[nodiscard]] static Tensor with_code(ElementType type, Body&& body) {
    const auto of = [&]<class T>() -> Tensor {
      if constexpr (Made<T, Device>::code(kind)) return body.template operator()<T>();
      else throw NoCall{Unsaid::not_made};
    };
    switch (type) {
      case ElementType::int8: return of.template operator()<std::int8_t>();
      case ElementType::uint8: return of.template operator()<std::uint8_t>();
      case ElementType::int16: return of.template operator()<std::int16_t>();
      default: throw NoCall{Unsaid::types};
    }
  }
  /// body.operator()<X, W>() of the data's and the weights' types.
  template <OperationKind kind, bool sums, class Body>
  [[nodiscard]] Tensor with_pair(Body&& body) const {
    const auto of = [&]<class X, class W>() -> Tensor {
      if constexpr (MadeProducts<X, W, Device>::of(kind, sums)) return body.template operator()<X, W>();
      else throw NoCall{Unsaid::not_made};
    };
    const auto with_weights = [&]<class X>() {
      switch (info(1).type) {
        case ElementType::int8: return of.template operator()<X, std::int8_t>();
        case ElementType::uint8: return of.template operator()<X, std::uint8_t>();
        case ElementType::int16: return of.template operator()<X, std::int16_t>();
        default: throw NoCall{Unsaid::types};
      }
    };
    switch (info(0).type) {
      case ElementType::int8: return with_weights.template operator()<std::int8_t>();
      case ElementType::uint8: return with_weights.template operator()<std::uint8_t>();
      case ElementType::int16: return with_weights.template operator()<std::int16_t>();
      default: throw NoCall{Unsaid::types};
    }
  }

  /// body(bias) of the types that a call takes with data of type X.
  template <class X, OperationKind operation, class Body>
  [[nodiscard]] Tensor with_bias(Body&& body) const {
    if (!has(2)) return body(std::span<const std::int32_t>{});
    if (!info(2).constant) throw NoCall{Unsaid::attributes};
    if constexpr (sizeof(X) == 2 && operation != OperationKind::fully_connected) {
      if (info(2).type == ElementType::int64) return body(info(2).constant->template values<std::int64_t>());
    }
    if (info(2).type != ElementType::int32) throw NoCall{Unsaid::types};
    return body(info(2).constant->template values<std::int32_t>());
  }

  /// All but the output's scale.
  [[nodiscard]] Conv2dOptions conv_options() const {
    const auto& how = std::get<Conv2dAttributes>(operation_.attributes);
    if (how.cross_terms || has(multiplier_input)) throw NoCall{Unsaid::attributes};
    if (out_.shape.rank() != 4) throw NoCall{Unsaid::shape};
    Conv2dOptions options{.activation = plain(how.bounds)};
    options.stride = {how.stride.height, how.stride.width};
    options.dilation = {how.dilation.height, how.dilation.width};
    static_cast<Padding2d&>(options.padding) = how.padding;
    return options;
  }
  template <core::ConvKind kind>
  [[nodiscard]] std::optional<Extent2d> transposed_size() const {
    if (kind != core::ConvKind::transposed) return {};
    return Extent2d{out_.shape[1], out_.shape[2]};
  }

  template <OperationKind operation, core::ConvKind kind>
  [[nodiscard]] Tensor convolution() const {
    Conv2dOptions options = conv_options();
    const std::optional<Extent2d> size = transposed_size<kind>();
    if (out_.type == ElementType::int32 && !out_.quantization.present()) {
      if (options.activation != Activation::none) throw NoCall{Unsaid::bounds};
      return products<operation, true>([&]<class X, class W, class Bias>(const View<X>& x, const View<W>& w, std::span<const Bias> bias) {
        return tensor_of(core::convolution<kind, std::int32_t>(device_, name_of(operation), x, w, bias, options, size));
      });
    }
    const OutputOptions out = output_of(out_, options.activation);
    if (out_.type != info(0).type) throw NoCall{Unsaid::types};
    options.scale = out.scale, options.zero_point = out.zero_point;
    return products<operation, false>([&]<class X, class W, class Bias>(const View<X>& x, const View<W>& w, std::span<const Bias> bias) {
      return tensor_of(core::convolution<kind, X>(device_, name_of(operation), x, w, bias, options, size));
    });
  }

  /// Calls body(x, w, bias) with the types of the layer. Throws NoCall where no code is made for them.
  template <OperationKind operation, bool sums, class Body>
  [[nodiscard]] Tensor products(Body&& body) const {
    return with_pair<operation, sums>([&]<class X, class W>() {
      return with_bias<X, operation>([&]<class Bias>(std::span<const Bias> bias) -> Tensor {
        if (has(2) && info(2).shape.element_count() != out_.shape.back()) throw NoCall{Unsaid::shape};
        return body(view<X>(0), view<W>(1), bias);
      });
    });
  }

  /// Of a fully_connected that the call says.
  [[nodiscard]] Activation dense_activation() const {
    const auto& how = std::get<FullyConnectedAttributes>(operation_.attributes);
    if (!how.active_rows.empty() || how.bias_column || has(multiplier_input)) throw NoCall{Unsaid::attributes};
    if (info(1).shape.rank() != 2) throw NoCall{Unsaid::shape};
    return plain(how.bounds);
  }

  [[nodiscard]] Tensor dense() const {
    if (out_.type != info(0).type) throw NoCall{Unsaid::types};
    const OutputOptions out = output_of(out_, dense_activation());
    return products<OperationKind::fully_connected, false>(
        [&]<class X, class W>(const View<X>&, const View<W>& w, std::span<const std::int32_t> bias) -> Tensor {
          return shaped(core::dense(device_, rows<X>(0, w.shape()[1]), w, bias, out));
        });
  }

  /// Of a product of two matrices.
  [[nodiscard]] Activation product_activation() const {
    const auto& how = std::get<MatmulAttributes>(operation_.attributes);
    if (how.transpose_a || how.transpose_b) throw NoCall{Unsaid::attributes};
    const Shape& b = info(1).shape;
    if (b.rank() < 2 || b.element_count() != b[b.rank() - 2] * b.back()) throw NoCall{Unsaid::shape};
    return plain(how.bounds);
  }

  [[nodiscard]] Tensor matrix_product() const {
    if (out_.type != info(0).type) throw NoCall{Unsaid::types};
    const Shape& b = info(1).shape;
    const OutputOptions out = output_of(out_, product_activation());
    return with_pair<OperationKind::matmul, false>(
        [&]<class X, class W>() { return shaped(core::matrix_product(device_, rows<X>(0, b[b.rank() - 2]), rows<W>(1, b.back()), out)); });
  }

  [[nodiscard]] Extent2d filter() const { return std::get<Pool2dAttributes>(operation_.attributes).filter; }
  /// All but the output's scale.
  template <OperationKind kind>
  [[nodiscard]] Pool2dOptions pool_options() const {
    const auto& how = std::get<Pool2dAttributes>(operation_.attributes);
    if (how.partial_windows != PartialWindows::dropped || how.counted_padding || how.planar) throw NoCall{Unsaid::attributes};
    if (out_.type != info(0).type) throw NoCall{Unsaid::types};
    if (info(0).shape.rank() != 4) throw NoCall{Unsaid::shape};
    Pool2dOptions options{.activation = plain(how.bounds)};
    if (kind == OperationKind::global_average_pool) return options;
    options.stride = {how.stride.height, how.stride.width};
    static_cast<Padding2d&>(options.padding) = how.padding;
    return options;
  }

  template <OperationKind kind>
  [[nodiscard]] Tensor pool() const {
    Pool2dOptions options = pool_options<kind>();
    const OutputOptions out = output_of(out_, options.activation);
    options.scale = out.scale, options.zero_point = out.zero_point;
    return with_code<kind>(info(0).type, [&]<class X>() {
      const View<X> x = view<X>(0);
      if constexpr (kind == OperationKind::max_pool2d) return tensor_of(core::largest(device_, x, filter(), options));
      else if constexpr (kind == OperationKind::average_pool2d) return tensor_of(core::average(device_, x, filter(), options, false));
      else return shaped(core::average(device_, x, core::whole_image(x), options, true));
    });
  }

  template <OperationKind kind>
  [[nodiscard]] Tensor pair() const {
    const auto& how = std::get<ElementwiseAttributes>(operation_.attributes);
    if (operation_.inputs.size() != 2 || how.power_of_two_scales) throw NoCall{Unsaid::attributes};
    if (info(0).type != info(1).type || out_.type != info(0).type) throw NoCall{Unsaid::types};
    if (info(0).quantization.per_channel() || info(1).quantization.per_channel()) throw NoCall{Unsaid::scales};
    const OutputOptions out = output_of(out_, plain(how.bounds));
    return with_code<kind>(info(0).type, [&]<class X>() {
      const View<X> a = view<X>(0), b = view<X>(1);
      if constexpr (kind == OperationKind::mul) return tensor_of(core::product(device_, a, b, out));
      else if constexpr (kind == OperationKind::sub) return tensor_of(core::sum<core::SumKind::sub>(device_, a, b, out));
      else return tensor_of(core::sum<core::SumKind::add>(device_, a, b, out));
    });
  }

  [[nodiscard]] Tensor rescaled() const {
    const OutputOptions out = output_of(out_, plain(std::get<RequantizeAttributes>(operation_.attributes).bounds));
    if (info(0).quantization.per_channel() || !info(0).quantization.present()) throw NoCall{Unsaid::scales};
    return with_code<OperationKind::requantize>(info(0).type, [&]<class X>() {
      return with_code<OperationKind::requantize>(out_.type,
                                                  [&]<class Y>() { return tensor_of(core::change_of_scale<Y>(device_, view<X>(0), out)); });
    });
  }

  [[nodiscard]] Tensor rectified() const {
    const OutputOptions out = output_of(out_, *activation_from(name_of(operation_.kind)));
    if (out_.type != info(0).type) throw NoCall{Unsaid::types};
    if (info(0).quantization.per_channel()) throw NoCall{Unsaid::scales};
    return with_code<OperationKind::relu>(info(0).type, [&]<class X>() { return tensor_of(core::rectified(device_, view<X>(0), out)); });
  }

  [[nodiscard]] Tensor joined() const {
    const auto& how = std::get<ConcatAttributes>(operation_.attributes);
    const OutputOptions out = output_of(out_, how.activation);
    for (std::size_t i = 0; i < operation_.inputs.size(); ++i) {
      if (info(i).type != out_.type) throw NoCall{Unsaid::types};
      if (info(i).quantization.per_channel()) throw NoCall{Unsaid::scales};
    }
    const auto axis = static_cast<std::size_t>(how.axis < 0 ? how.axis + static_cast<std::int64_t>(out_.shape.rank()) : how.axis);
    return with_code<OperationKind::concat>(out_.type, [&]<class X>() {
      std::vector<View<X>> parts;
      for (std::size_t i = 0; i < operation_.inputs.size(); ++i) parts.push_back(view<X>(i));
      return tensor_of(core::joined(device_, std::span<const View<X>>(parts), axis, out));
    });
  }

  template <class Real>
  [[nodiscard]] Tensor quantized() const {
    const OutputOptions out = output_of(out_, Activation::none);
    if (info(0).type != element_type_of<Real>) throw NoCall{Unsaid::types};
    return with_code<OperationKind::quantize>(out_.type, [&]<class Y>() {
      return tensor_of(core::quantized<Y>(device_, values(0).template values<Real>(), extents_of(values(0).shape()), out));
    });
  }

  [[nodiscard]] Tensor dequantized() const {
    if (info(0).quantization.per_channel()) throw NoCall{Unsaid::scales};
    if (out_.type != ElementType::float32) throw NoCall{Unsaid::types};
    return with_code<OperationKind::dequantize>(info(0).type, [&]<class X>() { return tensor_of(core::dequantized(device_, view<X>(0))); });
  }

  template <Sigmoid function>
  [[nodiscard]] Tensor sigmoid() const {
    const OutputOptions out = output_of(out_, Activation::none);
    if (out_.type != info(0).type) throw NoCall{Unsaid::types};
    if (info(0).quantization.per_channel()) throw NoCall{Unsaid::scales};
    if (info(0).type == ElementType::int32) return tensor_of(core::sigmoid<function>(device_, view<std::int32_t>(0), out));
    return with_code<OperationKind::logistic>(info(0).type,
                                              [&]<class X>() { return tensor_of(core::sigmoid<function>(device_, view<X>(0), out)); });
  }

  [[nodiscard]] Tensor shares() const {
    const OutputOptions out = output_of(out_, Activation::none);
    const SoftmaxOptions options{out.scale, out.zero_point, std::get<SoftmaxAttributes>(operation_.attributes).beta};
    if (out_.type != info(0).type && out_.type != ElementType::int16) throw NoCall{Unsaid::types};
    if (info(0).quantization.per_channel()) throw NoCall{Unsaid::scales};
    return with_code<OperationKind::softmax>(info(0).type, [&]<class X>() {
      if (out_.type == info(0).type) return tensor_of(core::shares<X>(device_, view<X>(0), options));
      return tensor_of(core::shares<std::int16_t>(device_, view<X>(0), options));
    });
  }

  [[nodiscard]] Tensor piecewise() const {
    if (info(0).type != ElementType::int32 || info(1).type != ElementType::int32) throw NoCall{Unsaid::types};
    const auto records = values(1).template values<std::int32_t>();
    std::vector<PwlSegment> segments;
    for (std::size_t i = 0; i < records.size(); i += 3)
      segments.push_back(pwl_segment(records[i], static_cast<std::int16_t>(records[i + 1]), static_cast<std::int16_t>(records[i + 2])));
    const View<std::int32_t> x(values(0).template values<std::int32_t>(), extents_of(values(0).shape()));
    const OutputOptions out{.scale = 1};
    if (out_.type == ElementType::int32) return tensor_of(core::piecewise<std::int32_t>(device_, x, segments, out));
    if (out_.type == ElementType::int16) return tensor_of(core::piecewise<std::int16_t>(device_, x, segments, out));
    if (out_.type == ElementType::int8) return tensor_of(core::piecewise<std::int8_t>(device_, x, segments, out));
    throw NoCall{Unsaid::types};
  }

  void require_binary16_output() const {
    if (out_.type != ElementType::float16) throw NoCall{Unsaid::types};
  }
  [[nodiscard]] Float16Bias float16_bias() const {
    if (!has(2)) return {};
    if (info(2).shape.element_count() != out_.shape.back()) throw NoCall{Unsaid::shape};
    if (info(2).type == ElementType::float16) return values(2).template values<Float16>();
    if (info(2).type != ElementType::float32) throw NoCall{Unsaid::types};
    return values(2).template values<float>();
  }

  template <OperationKind operation, core::ConvKind kind>
  [[nodiscard]] Tensor float16_convolution() const {
    require_binary16_output();
    const Conv2dOptions options = conv_options();
    return tensor_of(core::float16_convolution<kind>(device_, name_of(operation), view<Float16>(0), view<Float16>(1), float16_bias(),
                                                     options, transposed_size<kind>()));
  }

  [[nodiscard]] Tensor float16_dense() const {
    require_binary16_output();
    const OutputOptions out{.activation = dense_activation()};
    return shaped(core::float16_dense(device_, rows<Float16>(0, info(1).shape[1]), view<Float16>(1), float16_bias(), out));
  }

  [[nodiscard]] Tensor float16_matrix_product() const {
    require_binary16_output();
    const OutputOptions out{.activation = product_activation()};
    const Shape& b = info(1).shape;
    return shaped(core::float16_matrix_product(device_, rows<Float16>(0, b[b.rank() - 2]), rows<Float16>(1, b.back()), out));
  }

  template <OperationKind kind>
  [[nodiscard]] Tensor float16_pool() const {
    const Pool2dOptions options = pool_options<kind>();
    const View<Float16> x = view<Float16>(0);
    if constexpr (kind == OperationKind::max_pool2d) return tensor_of(core::float16_largest_of(device_, x, filter(), options));
    else if constexpr (kind == OperationKind::average_pool2d)
      return tensor_of(core::float16_average(device_, x, filter(), options, core::Averaged::windows));
    else return shaped(core::float16_average(device_, x, core::whole_image(x), options, core::Averaged::image));
  }

  template <OperationKind kind>
  [[nodiscard]] Tensor float16_pair() const {
    const auto& how = std::get<ElementwiseAttributes>(operation_.attributes);
    if (operation_.inputs.size() != 2 || how.power_of_two_scales) throw NoCall{Unsaid::attributes};
    require_binary16_output();
    const View<Float16> a = view<Float16>(0), b = view<Float16>(1);
    const OutputOptions out{.activation = plain(how.bounds)};
    if constexpr (kind == OperationKind::mul) return tensor_of(core::float16_product(device_, a, b, out));
    else if constexpr (kind == OperationKind::sub) return tensor_of(core::float16_sum<core::SumKind::sub>(device_, a, b, out));
    else return tensor_of(core::float16_sum<core::SumKind::add>(device_, a, b, out));
  }

  [[nodiscard]] Tensor float16_dequantized() const {
    require_binary16_output();
    if (info(0).quantization.per_channel()) throw NoCall{Unsaid::scales};
    return with_code<OperationKind::dequantize>(info(0).type,
                                                [&]<class X>() { return tensor_of(core::float16_dequantized(device_, view<X>(0))); });
  }

  [[nodiscard]] Tensor float16_cast() const {
    if (out_.type == ElementType::float32) return tensor_of(core::float16_real(device_, view<Float16>(0)));
    if (info(0).type != ElementType::float32) throw NoCall{Unsaid::types};
    return tensor_of(core::float16_cast(device_, values(0).template values<float>(), extents_of(values(0).shape())));
  }

  const Model& model_;
  const Operation& operation_;
  decltype(std::declval<Device>()()) device_;
  const ModelTensor& out_;
  std::array<const Tensor*, 16> data_{};
};

template <OperationKind kind, Values values, class Device>
CoreOutcome called(const Model& model, Device device, std::span<const Tensor> inputs) try {
  return {Calls<Device>(model, device, inputs).template call<kind, values>(), Unsaid::nothing};
} catch (const NoCall& none) {
  return {std::nullopt, none.why};
}

/// body.operator()<kind, values>() of an operation in core_kinds; what the core cannot say without looking closer.
template <class Body>
CoreOutcome with_kind(const Model& model, Body&& body) {
  if (model.operations.size() != 1) return {std::nullopt, Unsaid::operations};
  const Operation& operation = model.operations[0];
  const std::size_t place = static_cast<std::size_t>(std::ranges::find(core_kinds, operation.kind) - core_kinds.begin());
  if (place == core_kinds.size()) return {std::nullopt, Unsaid::kind};
  if (operation.inputs.size() > 16 || operation.outputs.size() != 1 || operation.stated != Statement::on_codes)
    return {std::nullopt, Unsaid::attributes};
  const Values values = values_of(model, operation);
  CoreOutcome outcome;
  const auto try_kind = [&]<std::size_t at>(std::integral_constant<std::size_t, at>) {
    if (at != place) return;
    if (values == Values::codes) outcome = body.template operator()<core_kinds[at], Values::codes>();
    else outcome = body.template operator()<core_kinds[at], Values::binary16>();
  };
  [&]<std::size_t... at>(std::index_sequence<at...>) { (try_kind(std::integral_constant<std::size_t, at>{}), ...); }
  (std::make_index_sequence<core_kinds.size()>{});
  return outcome;
}

/// The call on a constant device. Devices that compute alike share the code of the first. core_constants_*.cpp compile one group of operations each.
template <OperationKind kind, Values values>
CoreOutcome by_constant_of(const Model& model, std::size_t device, std::span<const Tensor> inputs) {
  CoreOutcome outcome{std::nullopt, Unsaid::not_made};
  const auto try_device = [&]<std::size_t at>(std::integral_constant<std::size_t, at>) {
    if constexpr (has_rules(kind, values, *core_devices[at].device)) {
      if constexpr (first_alike(kind, values, at) == at) {
        if (first_alike(kind, values, device) == at)
          outcome = called<kind, values>(model, Constant<*core_devices[at].device, is_fully_made(kind, at)>{}, inputs);
      }
    }
  };
  [&]<std::size_t... at>(std::index_sequence<at...>) { (try_device(std::integral_constant<std::size_t, at>{}), ...); }
  (std::make_index_sequence<core_devices.size()>{});
  return outcome;
}

}  // namespace lastbit::test
