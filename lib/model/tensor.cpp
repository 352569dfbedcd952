// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/tensor.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>
#include <utility>

#include "lastbit/error.hpp"
#include "lastbit/tensor_view.hpp"

namespace lastbit {
namespace {

constexpr std::array<std::pair<ElementType, std::string_view>, 11> element_type_names{{
    {ElementType::int8, "int8"},
    {ElementType::uint8, "uint8"},
    {ElementType::int16, "int16"},
    {ElementType::uint16, "uint16"},
    {ElementType::int32, "int32"},
    {ElementType::uint32, "uint32"},
    {ElementType::int64, "int64"},
    {ElementType::float16, "float16"},
    {ElementType::float32, "float32"},
    {ElementType::float64, "float64"},
    {ElementType::boolean, "bool"},
}};

}  // namespace

std::string_view name_of(ElementType type) {
  for (const auto& [candidate, name] : element_type_names)
    if (candidate == type) return name;
  return "unknown";
}

std::optional<ElementType> element_type_from(std::string_view name) {
  for (const auto& [type, candidate] : element_type_names)
    if (candidate == name) return type;
  return std::nullopt;
}

IntegerRange range_of(ElementType type) {
  return visit_element_type(type, []<class T>() -> IntegerRange {
    if constexpr (std::is_integral_v<T>)
      return {static_cast<std::int64_t>(std::numeric_limits<T>::min()), static_cast<std::int64_t>(std::numeric_limits<T>::max())};
    else return {};
  });
}

std::int64_t Shape::element_count() const {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes_) count *= size;
  return count;
}

std::string Shape::text() const {
  if (sizes_.empty()) return "scalar";
  std::string text;
  for (const std::int64_t size : sizes_) text += (text.empty() ? "" : "x") + std::to_string(size);
  return text;
}

std::optional<std::int64_t> checked_element_count(std::span<const std::int64_t> sizes, ElementType type) {
  const std::int64_t limit = (std::int64_t{1} << 40) / static_cast<std::int64_t>(size_of(type));
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) {
    if (size < 1 || size > limit / count) return std::nullopt;
    count *= size;
  }
  return count;
}

void refuse_type(ElementType held, ElementType asked) {
  throw Error(ErrorCode::type_mismatch, "tensor", "holds " + std::string(name_of(held)) + ", not " + std::string(name_of(asked)));
}

void Tensor::refuse_count(std::size_t values, const Shape& shape) {
  throw Error(ErrorCode::shape_mismatch, "tensor",
              std::to_string(values) + " values for shape " + shape.text() + ", which has " + std::to_string(shape.element_count()));
}

Tensor::Tensor() = default;
Tensor::Tensor(const Tensor& other) = default;
Tensor::Tensor(Tensor&& other) noexcept = default;
Tensor& Tensor::operator=(const Tensor& other) = default;
Tensor& Tensor::operator=(Tensor&& other) noexcept = default;
Tensor::~Tensor() = default;

bool operator==(const Tensor& a, const Tensor& b) { return a.type_ == b.type_ && a.shape_ == b.shape_ && a.bytes_ == b.bytes_; }

Tensor Tensor::unwritten(ElementType type, Shape shape) {
  const auto count = checked_element_count(shape.sizes(), type);
  if (!count) throw Error(ErrorCode::bad_input, "tensor", "shape " + shape.text() + " is empty or too large");
  Tensor tensor;
  tensor.type_ = type;
  tensor.shape_ = std::move(shape);
  tensor.bytes_.resize(static_cast<std::size_t>(*count) * size_of(type));
  return tensor;
}

Tensor::Tensor(ElementType type, Shape shape) : Tensor(unwritten(type, std::move(shape))) { std::ranges::fill(bytes_, std::byte{}); }

Tensor TensorView::copy() const {
  Tensor tensor = Tensor::unwritten(type_, shape_);
  std::ranges::copy(bytes_, tensor.bytes().begin());
  return tensor;
}

std::int64_t Tensor::integer_at(std::int64_t index) const {
  return visit_element_type(type_, [&]<class T>() -> std::int64_t {
    if constexpr (std::is_integral_v<T>) return static_cast<std::int64_t>(values<T>()[static_cast<std::size_t>(index)]);
    else return 0;  // no integer tensor
  });
}

}  // namespace lastbit
