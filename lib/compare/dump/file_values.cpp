// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "compare/dump/file_values.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <iterator>

#include "compare/dump/layouts.hpp"
#include "formats/file.hpp"
#include "formats/raw_values.hpp"
#include "lastbit/arith/float16.hpp"
#include "lastbit/error.hpp"
#include "lastbit/io/npz.hpp"
#include "lastbit/memory.hpp"
#include "lastbit/printable.hpp"

namespace lastbit {
namespace {

std::string quoted(const ModelTensor& tensor) { return "tensor '" + tensor.name + "'"; }

/// Along which axis alone a file holds less than the tensor, as where channels were cut; empty: along none, or several.
std::string cut_text(const Shape& held, const Shape& whole) {
  if (held.rank() != whole.rank()) return {};
  std::string text;
  for (std::size_t axis = 0; axis < whole.rank(); ++axis) {
    if (held[axis] == whole[axis]) continue;
    if (held[axis] > whole[axis] || !text.empty()) return {};
    text = ": cut, " + std::to_string(held[axis]) + " of " + std::to_string(whole[axis]) + " along axis " + std::to_string(axis);
  }
  return text;
}

/// What a file holds, before anything is known of it but its bytes.
struct Raw {
  Tensor values;
  bool has_shape = true;
};

/// Numbers between white space or commas, as printf writes them: all whole, or real ones.
Raw read_text(const std::filesystem::path& path) {
  const std::vector<std::byte> bytes = read_file(path);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::vector<double> numbers;
  bool whole = true;
  const char *at = text.data(), *const end = text.data() + text.size();
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == ','; };
  for (;;) {
    while (at != end && is_space(*at)) ++at;
    if (at == end) break;
    const char* const begin = at;
    while (at != end && !is_space(*at)) ++at;
    const char* const first = *begin == '+' ? begin + 1 : begin;
    double number = 0;
    const auto [stop, error] = std::from_chars(first, at, number);
    if (error != std::errc{} || stop != at)
      throw Error(ErrorCode::malformed_file, path.string(),
                  "'" + printable(std::string_view(begin, static_cast<std::size_t>(at - begin)).substr(0, 20)) + "', value " +
                      std::to_string(numbers.size()) + ", is no number");
    whole = whole && std::find_if(first, at, [](char c) { return c != '-' && (c < '0' || c > '9'); }) == at && std::abs(number) < 0x1p53;
    numbers.push_back(number);
  }
  if (numbers.empty()) throw Error(ErrorCode::malformed_file, path.string(), "holds no number");
  const Shape shape({std::ssize(numbers)});
  if (whole) {
    Tensor values(ElementType::int64, shape);
    std::ranges::transform(numbers, values.values<std::int64_t>().begin(), [](double number) { return static_cast<std::int64_t>(number); });
    return {std::move(values), false};
  }
  Tensor values(ElementType::float32, shape);
  std::ranges::transform(numbers, values.values<float>().begin(), [](double number) { return static_cast<float>(number); });
  return {std::move(values), false};
}

/// Of the type that its name tells; float32 where that fills the tensor once and looks like it; else the model's.
ElementType type_of(const ModelTensor& tensor, const DumpFile& file, std::span<const std::byte> bytes) {
  if (file.type) return *file.type;
  const auto count = static_cast<std::size_t>(file.shape ? file.shape->element_count() : tensor.shape.element_count());
  const bool is_whole = bytes.size() == count * sizeof(float) && size_of(tensor.type) != sizeof(float);
  return is_whole && look_real(bytes) ? ElementType::float32 : tensor.type;
}

Raw read_bytes(const ModelTensor& tensor, const DumpFile& file) {
  const std::vector<std::byte> bytes = read_file(file.path);
  const ElementType type = type_of(tensor, file, bytes);
  const std::size_t width = size_of(type);
  if (bytes.empty() || bytes.size() % width != 0)
    throw Error(ErrorCode::shape_mismatch, file.path.string(),
                std::to_string(bytes.size()) + " bytes are no " + std::string(name_of(type)) + " values of " + quoted(tensor));
  Tensor values(type, Shape({static_cast<std::int64_t>(bytes.size() / width)}));
  std::memcpy(values.bytes().data(), bytes.data(), bytes.size());
  return {std::move(values), false};
}

/// Where the file is, for messages.
std::string place_of(const DumpFile& file) { return file.path.string() + (file.member.empty() ? "" : ": " + printable(file.member)); }

/// An array may be packed: what it unpacks to is not to be more than a run may need.
Tensor read_member(const DumpFile& file) {
  NpyFile array = NpzFile(file.path).open(file.member);
  const std::size_t bytes = static_cast<std::size_t>(array.shape().element_count()) * size_of(array.type()), allowed = memory_budget();
  if (allowed > 0 && bytes > allowed)
    throw MemoryRefused(ErrorCode::bad_input, place_of(file),
                        "needs " + bytes_text(bytes) + " of memory; " + bytes_text(allowed) + " are allowed");
  return array.values();
}

Raw read_raw(const ModelTensor& tensor, const DumpFile& file) {
  const std::string ending = file.path.extension().string();
  Raw raw = !file.member.empty() ? Raw{read_member(file), true}
            : ending == ".npy"   ? Raw{read_npy(file.path), true}
            : ending == ".txt"   ? read_text(file.path)
                                 : read_bytes(tensor, file);
  if (!raw.has_shape && file.shape && file.shape->element_count() == raw.values.element_count()) {
    raw.values.reshape(*file.shape);
    raw.has_shape = true;
  }
  return raw;
}

struct Range {
  std::int64_t min = 0, max = 0;
};
Range range_in(const Tensor& codes) {
  Range range{codes.integer_at(0), codes.integer_at(0)};
  for (std::int64_t i = 1; i < codes.element_count(); ++i) {
    range.min = std::min(range.min, codes.integer_at(i));
    range.max = std::max(range.max, codes.integer_at(i));
  }
  return range;
}

Tensor with_type(const Tensor& codes, ElementType type, std::int64_t offset) {
  Tensor converted(type, codes.shape());
  visit_element_type(type, [&]<class T>() {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
      for (std::int64_t i = 0; i < codes.element_count(); ++i)
        converted.values<T>()[static_cast<std::size_t>(i)] = static_cast<T>(codes.integer_at(i) + offset);
  });
  return converted;
}

Tensor as_float32(const Tensor& real) {
  Tensor converted(ElementType::float32, real.shape());
  visit_element_type(real.type(), [&]<class T>() {
    if constexpr (std::is_same_v<T, Float16>)
      std::ranges::transform(real.values<T>(), converted.values<float>().begin(), [](T value) { return to_float32(value); });
    else if constexpr (std::is_arithmetic_v<T>)
      std::ranges::transform(real.values<T>(), converted.values<float>().begin(), [](T value) { return static_cast<float>(value); });
  });
  return converted;
}

/// Real values that are the tensor's codes: whole, within its type, and not all of them what a code stands for.
bool are_codes(const Tensor& real, const ModelTensor& tensor) {
  if (!is_integer(tensor.type) || !tensor.quantization.present() || tensor.quantization.per_channel()) return false;
  const IntegerRange range = range_of(tensor.type);
  const double scale = tensor.quantization.scale();
  const auto zero_point = static_cast<double>(tensor.quantization.zero_point());
  bool is_real = true;
  for (const float value : real.values<float>()) {
    const double number = double{value};
    if (!(std::floor(number) == number && number >= static_cast<double>(range.min) && number <= static_cast<double>(range.max)))
      return false;
    const double code = number / scale + zero_point;
    constexpr double near = 1e-3;
    is_real = is_real && std::abs(code - std::round(code)) < near && code > static_cast<double>(range.min) - near &&
              code < static_cast<double>(range.max) + near;
  }
  return !is_real;
}

/// In the model's type, or float32 of real values.
void convert(FileValues& read, const ModelTensor& tensor, const DumpFile& file) {
  const ElementType held = read.values.type();
  if (held == tensor.type) return;
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorCode::type_mismatch, place_of(file),
                std::string(name_of(held)) + why + "; " + quoted(tensor) + " is " + std::string(name_of(tensor.type)) +
                    " (float32 of its real values is accepted too)");
  };
  const std::string codes = "with codes as " + std::string(name_of(held));
  if (is_integer(held) && is_integer(tensor.type)) {
    const Range range = range_in(read.values);
    const IntegerRange whole = range_of(tensor.type);
    const bool flips = size_of(held) == size_of(tensor.type) && size_of(held) <= 2;  // the same width, with a sign or without
    const std::int64_t half = std::int64_t{1} << (8 * std::min<std::size_t>(size_of(tensor.type), 4) - 1);  // 64 bits hold all others
    const std::int64_t offset = whole.min < 0 ? -half : half;
    const auto fits = [&](std::int64_t by) { return range.min >= whole.min - by && range.max <= whole.max - by; };
    if (!flips && fits(0)) {
      read.values = with_type(read.values, tensor.type, 0);
      return read.readings.push_back(codes);
    }
    if (!fits(offset)) refuse(" from " + std::to_string(range.min) + " to " + std::to_string(range.max));
    read.values = with_type(read.values, tensor.type, offset);
    return read.readings.push_back(codes + " and an offset of " + std::to_string(-offset));
  }
  if (held == ElementType::int64 && is_real(tensor.type)) {  // whole numbers of a text
    read.values = as_float32(read.values);
    return;
  }
  if (!is_real(held)) return refuse("");
  if (held != ElementType::float32) {
    read.values = as_float32(read.values);
    read.readings.push_back("with real values as " + std::string(name_of(held)));
  }
  if (!are_codes(read.values, tensor)) return;
  Tensor whole(ElementType::int64, read.values.shape());
  std::ranges::transform(read.values.values<float>(), whole.values<std::int64_t>().begin(),
                         [](float value) { return std::llround(value); });
  read.values = with_type(whole, tensor.type, 0);
  read.readings.assign(1, codes);
}

/// The model's shape, with the samples that the file holds in front where they are more than one or stand in front there.
Shape own_shape(const ModelTensor& tensor, const Tensor& values, const DumpFile& file) {
  const std::int64_t own = tensor.shape.element_count();
  const std::int64_t samples = values.element_count() / own;
  if (samples < 1 || values.element_count() % own != 0) {
    std::string packed;
    for (const FileLayout& layout : layouts_of(tensor.shape)) {
      const bool fits = layout.size() != own && values.element_count() % layout.size() == 0;
      if (fits && packed.find(layout.name) == std::string::npos) packed += (packed.empty() ? "" : " or ") + layout.name;
    }
    throw Error(ErrorCode::shape_mismatch, place_of(file),
                "shape " + values.shape().text() + "; " + quoted(tensor) + " is " + tensor.shape.text() +
                    cut_text(values.shape(), tensor.shape) + (packed.empty() ? "" : "; it would fit as --layout " + packed));
  }
  if (samples == 1 && values.shape().rank() <= tensor.shape.rank()) return tensor.shape;
  std::vector<std::int64_t> sizes{samples};
  sizes.insert(sizes.end(), tensor.shape.sizes().begin(), tensor.shape.sizes().end());
  return Shape(std::move(sizes));
}

}  // namespace

FileValues read_values(const ModelTensor& tensor, const DumpFile& file, const std::string& layout) {
  Raw raw = read_raw(tensor, file);
  FileValues read{std::move(raw.values), {}, {}};
  if (read.values.element_count() == 0) throw Error(ErrorCode::shape_mismatch, place_of(file), "holds no value");
  convert(read, tensor, file);
  if (raw.has_shape) read.stored = read.values.shape();
  const std::string where = place_of(file);
  std::optional<FileLayout> other;
  if (!layout.empty()) other = layout_named(layout, read.values, tensor.shape, where);
  else if (raw.has_shape) other = layout_by_shape(read.stored, tensor.shape);
  if (layout.empty() && !other) other = layout_named(file.layout, read.values, tensor.shape, where);
  if (!other) {
    read.values.reshape(own_shape(tensor, read.values, file));
    return read;
  }
  read.readings.push_back("in the order " + other->name + (raw.has_shape ? ", " + read.stored.text() : ""));
  read.values = in_model_order(read.values, *other, tensor.shape);
  read.stored = {};
  return read;
}

}  // namespace lastbit
