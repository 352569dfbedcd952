// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "formats/tflite_values.hpp"

#include <cmath>
#include <cstring>

namespace lastbit::tflite_format {

std::optional<ElementType> element_type_from(TensorType type) {
  switch (type) {
    case TensorType::FLOAT32:
    case TensorType::FLOAT16: return ElementType::float32;
    case TensorType::INT8: return ElementType::int8;
    case TensorType::UINT8: return ElementType::uint8;
    case TensorType::INT16: return ElementType::int16;
    case TensorType::UINT16: return ElementType::uint16;
    case TensorType::INT32: return ElementType::int32;
    case TensorType::INT64: return ElementType::int64;
    case TensorType::BOOL: return ElementType::boolean;
    case TensorType::FLOAT64: return ElementType::float64;
    default: return std::nullopt;
  }
}

namespace {

/// IEEE binary16 to binary32, exact.
float widened(std::uint16_t half) {
  const int exponent = half >> 10 & 0x1F;
  const int significand = half & 0x3FF;
  const float magnitude = exponent == 31  ? (significand == 0 ? HUGE_VALF : NAN)
                          : exponent == 0 ? std::ldexp(static_cast<float>(significand), -24)
                                          : std::ldexp(static_cast<float>(significand + 1024), exponent - 25);
  return std::copysign(magnitude, (half & 0x8000) != 0 ? -1.0F : 1.0F);
}

}  // namespace

lastbit::Tensor stored_values(ElementType type, bool half, std::span<const std::byte> data, const Shape& shape) {
  lastbit::Tensor values(type, shape);
  if (!half) std::memcpy(values.bytes().data(), data.data(), data.size());
  for (std::size_t i = 0; half && i < data.size() / sizeof(std::uint16_t); ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, data.data() + i * sizeof bits, sizeof bits);
    values.values<float>()[i] = widened(bits);
  }
  return values;
}

}  // namespace lastbit::tflite_format
