// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/fuzz_against/tensor_maker.hpp"

#include <algorithm>
#include <cmath>

namespace lastbit {
namespace {

/// Which of the four ways random_codes goes.
enum class Values : std::uint8_t { any, extremes, near_zero, equal };

double to_float32(double value) { return static_cast<double>(static_cast<float>(value)); }

}  // namespace

Tensor random_codes(ElementType type, const Shape& shape, std::int64_t zero_point, Random& random) {
  const IntegerRange range = range_of(type);
  using enum Values;
  const Values way = random.of({any, any, any, any, any, extremes, near_zero, equal});
  const std::int64_t same = random.between(range.min, range.max);
  Tensor codes(type, shape);
  visit_element_type(type, [&]<class T>() {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      for (T& code : codes.values<T>()) {
        std::int64_t value = same;
        if (way == any) value = random.between(range.min, range.max);
        if (way == extremes) value = random.of({range.min, range.max, zero_point});
        if (way == near_zero) value = std::clamp(zero_point + random.between(-3, 3), range.min, range.max);
        code = static_cast<T>(value);
      }
    }
  });
  return codes;
}

TensorMaker::TensorMaker(FuzzFormat format, Random& random) : format_(format), random_(random) {
  using enum ElementType;
  type_ = format == FuzzFormat::onnx ? random.of({int8, uint8}) : random.of({int8, int8, int8, uint8, int16});
  wide_bias_ = type_ == int16 && !random.one_in(4);
}

std::int64_t TensorMaker::zero_point() {
  if (type_ == ElementType::int16) return 0;
  const IntegerRange range = range_of(type_);
  if (random_.one_in(6)) return random_.of({range.min, range.max, (range.min + range.max + 1) / 2});
  return random_.between(range.min, range.max);
}

Quantization TensorMaker::with_scale(double scale) { return {{to_float32(scale)}, {zero_point()}, 0}; }

Quantization TensorMaker::any_quantization() {
  const int wide = type_ == ElementType::int16 ? 6 : 0;
  if (random_.one_in(3)) return with_scale(std::ldexp(1.0, static_cast<int>(random_.between(-8, -3)) - wide));
  return with_scale(random_.odd_number(-9 - wide, -2 - wide));
}

Quantization TensorMaker::near(double scale) {
  if (random_.one_in(6)) return with_scale(scale);
  if (random_.one_in(4)) return with_scale(std::ldexp(scale, static_cast<int>(random_.between(-2, 2))));
  return with_scale(scale * random_.odd_number(-2, 2));
}

std::int32_t TensorMaker::add(const std::string& name, ElementType type, Shape shape, Quantization quantization, Constant constant) {
  const auto index = static_cast<std::int32_t>(model_.tensors.size());
  model_.tensors.push_back({name + std::to_string(index), type, std::move(shape), std::move(quantization), std::move(constant)});
  return index;
}

std::int32_t TensorMaker::add_input(const Shape& shape, const Quantization& quantization) {
  const std::int32_t index = add("input", type_, shape, quantization);
  model_.inputs.push_back(index);
  return index;
}

std::int32_t TensorMaker::add_constant(const Shape& shape, const Quantization& quantization) {
  return add("constant", type_, shape, quantization, random_codes(type_, shape, quantization.zero_point(), random_));
}

std::int32_t TensorMaker::add_weights(const Shape& shape, std::int64_t outputs, std::int64_t axis, bool channels) {
  const bool is_onnx = format_ == FuzzFormat::onnx;
  const bool same_as_data = type_ == ElementType::uint8 && (!is_onnx || random_.one_in(2));
  const ElementType type = same_as_data ? ElementType::uint8 : ElementType::int8;
  const std::int64_t zero = type == ElementType::int8 ? 0 : random_.one_in(2) ? 128 : random_.between(0, 255);
  Quantization quantization{{}, {}, 0};
  const bool per_channel = channels && random_.one_in(2) && (is_onnx || type == ElementType::int8);
  const bool power = random_.one_in(3);
  for (std::int64_t i = 0; i < (per_channel ? outputs : 1); ++i) {
    quantization.scales.push_back(power ? std::ldexp(1.0, static_cast<int>(random_.between(-9, -4))) : random_.odd_number(-10, -4));
    quantization.zero_points.push_back(zero);
  }
  if (quantization.per_channel()) quantization.axis = axis;
  Tensor codes = random_codes(type, shape, zero, random_);
  if (!is_onnx && type == ElementType::int8)  // the format's weights are symmetric
    for (std::int8_t& code : codes.values<std::int8_t>()) code = std::max<std::int8_t>(code, -127);
  return add("weights", type, shape, std::move(quantization), std::move(codes));
}

std::int32_t TensorMaker::add_bias(std::int32_t data, std::int32_t weights, std::int64_t outputs) {
  if (random_.one_in(4)) return absent_tensor;
  const Quantization &of_data = tensor(data).quantization, &of_weights = tensor(weights).quantization;
  Quantization quantization{{}, {}, 0};
  for (const double scale : of_weights.scales) quantization.scales.push_back(to_float32(of_data.scale() * scale));
  quantization.zero_points.assign(quantization.scales.size(), 0);
  const int bits = static_cast<int>(random_.between(4, random_.one_in(8) ? 22 : 15)) + (type_ == ElementType::int16 ? 8 : 0);
  const std::int64_t largest = std::int64_t{1} << bits;
  Tensor values(wide_bias_ ? ElementType::int64 : ElementType::int32, Shape{outputs});
  for (std::int64_t i = 0; i < outputs; ++i) {
    const std::int64_t value = random_.between(-largest, largest);
    if (wide_bias_) values.values<std::int64_t>()[static_cast<std::size_t>(i)] = value;
    else values.values<std::int32_t>()[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(value);
  }
  const ElementType type = values.type();
  return add("bias", type, Shape{outputs}, std::move(quantization), std::move(values));
}

Quantization TensorMaker::of_sums(std::int32_t data, std::int32_t weights, std::int64_t terms) {
  const double product = to_float32(tensor(data).quantization.scale() * tensor(weights).quantization.scale());
  // The deviation of 8-bit codes is 74; of 16-bit ones it is 256 times that, and so is that of the output.
  const double typical = std::sqrt(static_cast<double>(terms)) * 74 * 74;
  if (random_.one_in(3)) return with_scale(std::ldexp(product, std::ilogb(typical) - static_cast<int>(random_.between(3, 8))));
  return with_scale(product * typical / random_.odd_number(3, 9));
}

}  // namespace lastbit
