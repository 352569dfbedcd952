// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "formats/onnx/tensor_data.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <fstream>
#include <span>
#include <vector>

#include "formats/file.hpp"
#include "lastbit/arith/float16.hpp"
#include "lastbit/printable.hpp"
#include "lastbit/shape.hpp"

namespace lastbit::onnx_format {
namespace {

using Proto = onnx::TensorProto;

[[noreturn]] void malformed(const std::string& place, const std::string& reason) { throw Error(ErrorCode::malformed_file, place, reason); }
[[noreturn]] void unsupported(const std::string& place, const std::string& reason) {
  throw Error(ErrorCode::unsupported_operation, place, reason);
}

struct Type {
  std::int32_t code;
  ElementType type;
  std::size_t stored_size;
};

constexpr std::array<Type, 11> types{{
    {Proto::FLOAT, ElementType::float32, 4},
    {Proto::FLOAT16, ElementType::float32, 2},
    {Proto::DOUBLE, ElementType::float64, 8},
    {Proto::INT8, ElementType::int8, 1},
    {Proto::UINT8, ElementType::uint8, 1},
    {Proto::INT16, ElementType::int16, 2},
    {Proto::UINT16, ElementType::uint16, 2},
    {Proto::INT32, ElementType::int32, 4},
    {Proto::UINT32, ElementType::uint32, 4},
    {Proto::INT64, ElementType::int64, 8},
    {Proto::BOOL, ElementType::boolean, 1},
}};

const Type* find_type(std::int32_t code) {
  const auto* found = std::find_if(types.begin(), types.end(), [&](const Type& type) { return type.code == code; });
  return found == types.end() ? nullptr : found;
}

Shape shape_of(const Proto& source, ElementType type, const std::string& place) {
  if (static_cast<std::size_t>(source.dims_size()) > largest_rank)
    malformed(place, "more than " + std::to_string(largest_rank) + " dimensions");
  Shape shape(std::vector<std::int64_t>(source.dims().begin(), source.dims().end()));
  const auto count = checked_element_count(shape.sizes(), type);
  if (!count || *count * static_cast<std::int64_t>(size_of(type)) > largest_tensor_bytes)
    malformed(place, "shape " + shape.text() + " has a size below 1 or is larger than 2^31 bytes");
  return shape;
}

/// Raw values as they lie in the file, little-endian.
void copy_raw(const Type& type, std::span<const std::byte> raw, Tensor& tensor, const std::string& place) {
  const std::size_t needed = static_cast<std::size_t>(tensor.element_count()) * type.stored_size;
  if (raw.size() != needed) {
    malformed(place, std::to_string(raw.size()) + " bytes of values; shape " + tensor.shape().text() + " needs " + std::to_string(needed));
  }
  if (type.code != Proto::FLOAT16) {
    std::memcpy(tensor.bytes().data(), raw.data(), raw.size());
    return;
  }
  const auto values = tensor.values<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    Float16 half;
    std::memcpy(&half.bits, raw.data() + i * sizeof half.bits, sizeof half.bits);
    values[i] = to_float32(half);
  }
}

template <class T, class Field>
void copy_field(const Field& field, Tensor& tensor, const std::string& place) {
  const auto values = tensor.values<T>();
  if (static_cast<std::size_t>(field.size()) != values.size()) {
    malformed(place, std::to_string(field.size()) + " values; shape " + tensor.shape().text() + " needs " + std::to_string(values.size()));
  }
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(field[static_cast<int>(i)]);
}

/// Small integers and float16 are stored one per int32; values beyond the type would be cut silently.
void copy_int32_field(const Type& type, const Proto& source, Tensor& tensor, const std::string& place) {
  const IntegerRange range = type.code == Proto::FLOAT16 ? IntegerRange{0, 65535}
                             : type.code == Proto::BOOL  ? IntegerRange{0, 1}
                                                         : range_of(type.type);
  for (const std::int32_t value : source.int32_data())
    if (value < range.min || value > range.max) malformed(place, "value " + std::to_string(value) + " is outside the tensor's type");
  if (type.code != Proto::FLOAT16) {
    return visit_element_type(type.type, [&]<class T>() {
      if constexpr (!std::is_class_v<T>) copy_field<T>(source.int32_data(), tensor, place);
    });
  }
  Tensor bits(ElementType::uint16, tensor.shape());
  copy_field<std::uint16_t>(source.int32_data(), bits, place);
  copy_raw(type, bits.bytes(), tensor, place);
}

void copy_typed(const Type& type, const Proto& source, Tensor& tensor, const std::string& place) {
  switch (type.code) {
    case Proto::FLOAT: return copy_field<float>(source.float_data(), tensor, place);
    case Proto::DOUBLE: return copy_field<double>(source.double_data(), tensor, place);
    case Proto::INT64: return copy_field<std::int64_t>(source.int64_data(), tensor, place);
    case Proto::UINT32: return copy_field<std::uint32_t>(source.uint64_data(), tensor, place);
    default: return copy_int32_field(type, source, tensor, place);
  }
}

struct Location {
  std::string file;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;
};

std::uint64_t number_from(const std::string& text, const std::string& place) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) malformed(place, "external data: '" + printable(text) + "' is no number");
  return number;
}

Location location_of(const Proto& source, const std::string& place) {
  Location location;
  for (const auto& entry : source.external_data()) {
    if (entry.key() == "location") location.file = entry.value();
    if (entry.key() == "offset") location.offset = number_from(entry.value(), place);
    if (entry.key() == "length") location.length = number_from(entry.value(), place);
  }
  if (location.file.empty() || !is_printable(location.file)) malformed(place, "external data without a location");
  return location;
}

std::vector<std::byte> read_external(const Proto& source, ExternalData& external, std::size_t needed, Budget& budget,
                                     const std::string& place) {
  if (!external.folder) unsupported(place, "its values lie outside the file");
  const Location location = location_of(source, place);
  if (location.length && *location.length != needed)
    malformed(place, "external data has " + std::to_string(*location.length) + " bytes, the tensor " + std::to_string(needed));
  const auto path = path_below(*external.folder, location.file, place + ", external data");
  const std::uint64_t size = std::filesystem::file_size(path);
  if (external.seen.insert(path).second) budget.grant(size);
  if (location.offset > size || needed > size - location.offset) malformed(place, "external data ends before the tensor does");
  budget.spend(needed, place);
  std::ifstream stream = open_file(path);
  stream.seekg(static_cast<std::streamoff>(location.offset));
  std::vector<std::byte> bytes(needed);
  stream.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(needed));
  if (!stream) throw Error(ErrorCode::unreadable_file, place, "external data '" + printable(location.file) + "' cannot be read");
  return bytes;
}

}  // namespace

std::optional<ElementType> element_type_from(std::int32_t data_type) {
  const Type* const type = find_type(data_type);
  return type == nullptr ? std::nullopt : std::optional(type->type);
}

std::string name_of_type(std::int32_t data_type) {
  return Proto::DataType_IsValid(data_type) ? Proto::DataType_Name(static_cast<Proto::DataType>(data_type))
                                            : "number " + std::to_string(data_type);
}

Tensor tensor_from(const Proto& source, ExternalData& external, Budget& budget, const std::string& place) {
  const Type* const type = find_type(source.data_type());
  if (type == nullptr) unsupported(place, "element type " + name_of_type(source.data_type()) + " is not supported");
  if (source.has_segment()) unsupported(place, "segmented tensors are not supported");
  const Shape shape = shape_of(source, type->type, place);
  const auto count = static_cast<std::size_t>(shape.element_count());
  const bool is_external = source.data_location() == Proto::EXTERNAL;
  // Values inside the file are counted before a tensor is made for them.
  const std::size_t stored = is_external             ? 0
                             : source.has_raw_data() ? source.raw_data().size() / type->stored_size
                                                     : static_cast<std::size_t>(source.ByteSizeLong());
  if (!is_external && count > stored) malformed(place, "shape " + shape.text() + " needs more values than there are");
  const std::vector<std::byte> outside =
      is_external ? read_external(source, external, count * type->stored_size, budget, place) : std::vector<std::byte>();
  if (!is_external) budget.spend(count * size_of(type->type), place);
  Tensor tensor(type->type, shape);
  if (is_external) copy_raw(*type, outside, tensor, place);
  else if (source.has_raw_data()) copy_raw(*type, std::as_bytes(std::span(source.raw_data())), tensor, place);
  else copy_typed(*type, source, tensor, place);
  const auto is_bool = [](std::byte value) { return value <= std::byte{1}; };
  if (tensor.type() == ElementType::boolean && !std::all_of(tensor.bytes().begin(), tensor.bytes().end(), is_bool))
    malformed(place, "a bool is neither 0 nor 1");
  return tensor;
}

}  // namespace lastbit::onnx_format
