// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Shape, element type, quantisation and storage of a tensor. No arithmetic lives here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "lastbit/aligned_vector.hpp"
#include "lastbit/arith/float16.hpp"

namespace lastbit {

enum class ElementType : std::uint8_t { int8, uint8, int16, uint16, int32, uint32, int64, float16, float32, float64, boolean };

[[nodiscard]] constexpr std::size_t size_of(ElementType type) {
  switch (type) {
    case ElementType::int8:
    case ElementType::uint8:
    case ElementType::boolean: return 1;
    case ElementType::int16:
    case ElementType::uint16:
    case ElementType::float16: return 2;
    case ElementType::int32:
    case ElementType::uint32:
    case ElementType::float32: return 4;
    case ElementType::int64:
    case ElementType::float64: return 8;
  }
  return 0;
}

[[nodiscard]] constexpr bool is_real(ElementType type) {
  return type == ElementType::float16 || type == ElementType::float32 || type == ElementType::float64;
}
[[nodiscard]] constexpr bool is_integer(ElementType type) { return !is_real(type) && type != ElementType::boolean; }

/// Name in files and messages: "int8", "float32", "bool", ….
[[nodiscard]] std::string_view name_of(ElementType type);
[[nodiscard]] std::optional<ElementType> element_type_from(std::string_view name);

/// The element type that stores a C++ type.
template <class T>
inline constexpr ElementType element_type_of = [] {
  if constexpr (std::is_same_v<T, std::int8_t>) return ElementType::int8;
  else if constexpr (std::is_same_v<T, std::uint8_t>) return ElementType::uint8;
  else if constexpr (std::is_same_v<T, std::int16_t>) return ElementType::int16;
  else if constexpr (std::is_same_v<T, std::uint16_t>) return ElementType::uint16;
  else if constexpr (std::is_same_v<T, std::int32_t>) return ElementType::int32;
  else if constexpr (std::is_same_v<T, std::uint32_t>) return ElementType::uint32;
  else if constexpr (std::is_same_v<T, std::int64_t>) return ElementType::int64;
  else if constexpr (std::is_same_v<T, Float16>) return ElementType::float16;
  else if constexpr (std::is_same_v<T, float>) return ElementType::float32;
  else if constexpr (std::is_same_v<T, double>) return ElementType::float64;
  else if constexpr (std::is_same_v<T, bool>) return ElementType::boolean;
}();

/// Smallest and largest value of an integer element type.
struct IntegerRange {
  std::int64_t min = 0;
  std::int64_t max = 0;
  friend constexpr bool operator==(const IntegerRange&, const IntegerRange&) = default;
};
[[nodiscard]] IntegerRange range_of(ElementType type);

/// Sizes, outermost first. The empty shape is a scalar: one element.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> sizes) : sizes_(sizes) {}
  explicit Shape(std::vector<std::int64_t> sizes) : sizes_(std::move(sizes)) {}

  [[nodiscard]] std::size_t rank() const { return sizes_.size(); }
  [[nodiscard]] std::int64_t operator[](std::size_t axis) const { return sizes_[axis]; }
  [[nodiscard]] std::span<const std::int64_t> sizes() const { return sizes_; }
  [[nodiscard]] std::int64_t back() const { return sizes_.back(); }
  /// Product of the sizes. Readers guarantee that it fits (see checked_element_count).
  [[nodiscard]] std::int64_t element_count() const;
  /// "1x8x8x4", or "scalar".
  [[nodiscard]] std::string text() const;
  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::vector<std::int64_t> sizes_;
};

/// The number of elements, or nothing if a size is below 1 or the byte size would exceed 2^40.
[[nodiscard]] std::optional<std::int64_t> checked_element_count(std::span<const std::int64_t> sizes, ElementType type);

/// real = scale * (integer - zero_point); one entry, or one per index of `axis`. Scales are positive and finite.
struct Quantization {
  std::vector<double> scales;
  std::vector<std::int64_t> zero_points;
  std::int64_t axis = 0;

  [[nodiscard]] constexpr bool present() const { return !scales.empty(); }
  [[nodiscard]] constexpr bool per_channel() const { return scales.size() > 1; }
  [[nodiscard]] constexpr double scale(std::size_t channel = 0) const { return scales.empty() ? 1.0 : scales[per_channel() ? channel : 0]; }
  [[nodiscard]] constexpr std::int64_t zero_point(std::size_t channel = 0) const {
    return zero_points.empty() ? 0 : zero_points[zero_points.size() > 1 ? channel : 0];
  }
  friend bool operator==(const Quantization&, const Quantization&) = default;
};

[[noreturn]] void refuse_type(ElementType held, ElementType asked);
/// Throws Error(type_mismatch) where T is not the C++ type of what a tensor holds.
template <class T>
void require_type(ElementType held) {
  if (held != element_type_of<T>) refuse_type(held, element_type_of<T>);
}

/// Owning, contiguous, row-major values of one element type. Copied, moved and compared in one file: every file that holds a model would compile
/// that again.
class Tensor {
 public:
  Tensor();
  /// Zeros. Throws Error(bad_input) where the shape is empty or too large.
  Tensor(ElementType type, Shape shape);
  /// As the memory has them: every value must be written before it is read.
  [[nodiscard]] static Tensor unwritten(ElementType type, Shape shape);
  Tensor(const Tensor& other);
  Tensor(Tensor&& other) noexcept;
  Tensor& operator=(const Tensor& other);
  Tensor& operator=(Tensor&& other) noexcept;
  ~Tensor();

  /// Tensor::from<float>({1, 4}, {0.5F, 1, 2, -1}), or a range that is a span. Throws Error(shape_mismatch) where the values are not as many as the
  /// shape says.
  template <class T>
  [[nodiscard]] static Tensor from(Shape shape, std::span<const T> values) {  // NOLINT(performance-unnecessary-value-param): it is moved on
    Tensor tensor = unwritten(element_type_of<T>, std::move(shape));
    if (values.size_bytes() != tensor.bytes_.size()) refuse_count(values.size(), tensor.shape_);
    std::memcpy(tensor.bytes_.data(), values.data(), values.size_bytes());
    return tensor;
  }
  template <class T>
  [[nodiscard]] static Tensor from(Shape shape, std::initializer_list<T> values) {
    return from<T>(std::move(shape), std::span<const T>(values.begin(), values.size()));
  }

  [[nodiscard]] ElementType type() const { return type_; }
  [[nodiscard]] const Shape& shape() const { return shape_; }
  void reshape(Shape shape) { shape_ = std::move(shape); }
  [[nodiscard]] std::int64_t element_count() const { return shape_.element_count(); }
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
  [[nodiscard]] std::span<std::byte> bytes() { return bytes_; }

  /// Throws Error(type_mismatch), which names both, where T is not the C++ type of the element type.
  template <class T>
  [[nodiscard]] std::span<const T> values() const {
    require_type<T>(type_);
    return {reinterpret_cast<const T*>(bytes_.data()), bytes_.size() / sizeof(T)};
  }
  template <class T>
  [[nodiscard]] std::span<T> values() {
    require_type<T>(type_);
    return {reinterpret_cast<T*>(bytes_.data()), bytes_.size() / sizeof(T)};
  }

  /// One element of an integer tensor, widened.
  [[nodiscard]] std::int64_t integer_at(std::int64_t index) const;

  friend bool operator==(const Tensor& a, const Tensor& b);

 private:
  [[noreturn]] static void refuse_count(std::size_t values, const Shape& shape);

  ElementType type_ = ElementType::int8;
  Shape shape_;
  std::vector<std::byte, UnwrittenAllocator<std::byte>> bytes_;
};

/// Calls `visitor.template operator()<T>()` with the C++ type of `type`.
template <class Visitor>
decltype(auto) visit_element_type(ElementType type, Visitor&& visitor) {
  switch (type) {
    case ElementType::uint8: return visitor.template operator()<std::uint8_t>();
    case ElementType::int16: return visitor.template operator()<std::int16_t>();
    case ElementType::uint16: return visitor.template operator()<std::uint16_t>();
    case ElementType::int32: return visitor.template operator()<std::int32_t>();
    case ElementType::uint32: return visitor.template operator()<std::uint32_t>();
    case ElementType::int64: return visitor.template operator()<std::int64_t>();
    case ElementType::float16: return visitor.template operator()<Float16>();
    case ElementType::float32: return visitor.template operator()<float>();
    case ElementType::float64: return visitor.template operator()<double>();
    case ElementType::boolean: return visitor.template operator()<bool>();
    case ElementType::int8: break;
  }
  return visitor.template operator()<std::int8_t>();
}

}  // namespace lastbit
