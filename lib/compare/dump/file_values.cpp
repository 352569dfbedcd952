// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "compare/dump/file_values.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <iterator>

#include "compare/dump/layouts.hpp"
#include "compare/report_fields.hpp"
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

/// How a real number is printed: "0.0039" has two significant digits and four decimals, "1.25e+02" has three of no decimals.
struct Digits {
  int significant = 0, decimals = 0;
  bool ends_in_zero = false;  ///< behind the point

  explicit Digits(std::string_view number) {
    const std::size_t end = std::min(number.find_first_of("eE"), number.size()), point = std::min(number.find('.'), end);
    int exponent = 0;
    if (end + 1 < number.size()) {
      const std::size_t first = end + (number[end + 1] == '+' ? 2 : 1);
      std::from_chars(number.data() + first, number.data() + number.size(), exponent);
    }
    for (const char digit : number.substr(0, end)) {
      const bool leads = significant == 0 && (digit == '0' || digit == '-');
      significant += !leads && digit != '.' ? 1 : 0;
    }
    decimals = (point < end ? static_cast<int>(end - point - 1) : 0) - std::clamp(exponent, -400, 400);
    ends_in_zero = point < end && number[end - 1] == '0';
  }
};

/// Half a unit of the last digit of each number. Where no last digit is 0 and the decimals differ, zeros at the end were left out, as %g does: then all
/// have as many significant digits as the longest.
Tensor half_units(const std::vector<Digits>& printed, const std::vector<double>& numbers) {
  const bool leaves_zeros_out = std::ranges::none_of(printed, &Digits::ends_in_zero) &&
                                std::ranges::any_of(printed, [&](const Digits& each) { return each.decimals != printed[0].decimals; });
  const int most = std::ranges::max(printed, {}, &Digits::significant).significant;
  std::vector<double> halves;
  for (std::size_t i = 0; i < printed.size(); ++i) {
    const int missing = leaves_zeros_out && printed[i].significant > 0 ? most - printed[i].significant : 0;
    halves.push_back(0.5 * std::pow(10.0, -(printed[i].decimals + missing)));
  }
  const double least = std::ranges::min(halves);
  for (std::size_t i = 0; i < halves.size(); ++i)
    if (leaves_zeros_out && numbers[i] == 0) halves[i] = least;
  return Tensor::from<double>(Shape({std::ssize(halves)}), halves);
}

/// Numbers between white space or commas, as printf writes them: all whole, or real ones.
RawValues read_text(const std::filesystem::path& path) {
  const std::vector<std::byte> bytes = read_file(path);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::vector<double> numbers;
  std::vector<Digits> printed;
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
    printed.emplace_back(std::string_view(first, static_cast<std::size_t>(at - first)));
  }
  if (numbers.empty()) throw Error(ErrorCode::malformed_file, path.string(), "holds no number");
  const Shape shape({std::ssize(numbers)});
  if (!whole) return {Tensor::from<double>(shape, numbers), false, half_units(printed, numbers)};
  Tensor values(ElementType::int64, shape);
  std::ranges::transform(numbers, values.values<std::int64_t>().begin(), [](double number) { return static_cast<std::int64_t>(number); });
  return {std::move(values), false, {}};
}

/// Of the type that its name tells; float32 where that fills the tensor once, or with its channels filled up, and looks like it; else the model's.
ElementType type_of(const ModelTensor& tensor, const DumpFile& file, std::span<const std::byte> bytes) {
  if (file.type) return *file.type;
  const auto count = static_cast<std::size_t>(file.shape ? file.shape->element_count() : tensor.shape.element_count());
  const auto fills = [&](const FileLayout& layout) { return bytes.size() == static_cast<std::size_t>(layout.size()) * sizeof(float); };
  if (size_of(tensor.type) == sizeof(float) || bytes.size() < count * sizeof(float) || !look_real(bytes)) return tensor.type;
  const bool is_one = bytes.size() == count * sizeof(float) || (!file.shape && std::ranges::any_of(layouts_of(tensor.shape), fills));
  return is_one ? ElementType::float32 : tensor.type;
}

RawValues typed(const std::vector<std::byte>& bytes, const ModelTensor& tensor, const DumpFile& file) {
  const ElementType type = type_of(tensor, file, bytes);
  const std::size_t width = size_of(type);
  if (bytes.empty() || bytes.size() % width != 0)
    throw Error(ErrorCode::shape_mismatch, file.path.string(),
                std::to_string(bytes.size()) + " bytes are no " + std::string(name_of(type)) + " values of " + quoted(tensor));
  Tensor values(type, Shape({static_cast<std::int64_t>(bytes.size() / width)}));
  std::memcpy(values.bytes().data(), bytes.data(), bytes.size());
  return {std::move(values), false, {}};
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

/// Values of any type as float64, each of which holds them.
std::vector<double> as_doubles(const Tensor& values) {
  std::vector<double> list;
  list.reserve(static_cast<std::size_t>(values.element_count()));
  visit_element_type(values.type(), [&]<class T>() {
    for (const T value : values.values<T>()) {
      if constexpr (std::is_same_v<T, Float16>) list.push_back(double{to_float32(value)});
      else list.push_back(static_cast<double>(value));
    }
  });
  return list;
}

/// How far the real value that a tool had may be from the one in the file: half a unit of what is printed, or of the type's last bit.
double half_of_last(const RawValues& raw, std::size_t index, double value) {
  if (raw.within) return raw.within->values<double>()[index];
  if (raw.values.type() != ElementType::float16) return 0;  // a wider type holds what tools compute in
  constexpr int bits = 11, least_exponent = -14;
  const int exponent = value == 0 ? least_exponent : std::max(std::ilogb(value), least_exponent);
  return std::ldexp(1.0, exponent - bits);
}

/// The codes of a tensor's real values.
struct FoundCodes {
  std::optional<std::vector<std::int64_t>> codes{};  ///< none: some value is no code's, or may be that of several
  std::string why_not{};
};

/// A code for each value, from which it is no further than its own precision and what float32 makes of a product and its scale.
FoundCodes codes_of_reals(const RawValues& raw, const ModelTensor& tensor) {
  const IntegerRange range = range_of(tensor.type);
  const Quantization& quantization = tensor.quantization;
  std::size_t channels = 1, inner = 1;
  if (quantization.per_channel() || quantization.zero_points.size() > 1) {
    const auto axis = static_cast<std::size_t>(quantization.axis);
    channels = static_cast<std::size_t>(tensor.shape[axis]);
    for (std::size_t later = axis + 1; later < tensor.shape.rank(); ++later) inner *= static_cast<std::size_t>(tensor.shape[later]);
  }
  const std::vector<double> values = as_doubles(raw.values);
  std::vector<std::int64_t> codes;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t channel = i / inner % channels;
    const double scale = quantization.scale(channel), zero_point = static_cast<double>(quantization.zero_point(channel));
    const double steps = values[i] / scale, code = steps + zero_point, whole = std::nearbyint(code);
    const double half = half_of_last(raw, i, values[i]) / scale;
    const double of_float32 = (std::abs(steps) + std::abs(zero_point) + 1) * 0x1p-21;
    const auto at = [&] { return number_text("%g", values[i]) + " at " + std::to_string(i); };
    if (!std::isfinite(code)) return {{}, at()};
    if (half + of_float32 >= 0.5)
      return {{}, at() + " is told to " + number_text("%g", (half + of_float32) * scale) + ", a step is " + number_text("%g", scale)};
    const bool is_code =
        std::abs(code - whole) <= half + of_float32 && whole >= static_cast<double>(range.min) && whole <= static_cast<double>(range.max);
    if (!is_code) return {{}, at() + " is code " + number_text("%.4g", code)};
    codes.push_back(static_cast<std::int64_t>(whole));
  }
  return {std::move(codes), {}};
}

/// Real values that are codes themselves: whole, and within the tensor's type.
bool are_whole_codes(const Tensor& real, const ModelTensor& tensor) {
  const IntegerRange range = range_of(tensor.type);
  return std::ranges::all_of(as_doubles(real), [&](double value) {
    constexpr double exact = 0x1p53;
    return std::floor(value) == value && std::abs(value) < exact && value >= static_cast<double>(range.min) &&
           value <= static_cast<double>(range.max);
  });
}

Tensor with_type(const std::vector<std::int64_t>& codes, ElementType type, const Shape& shape) {
  return with_type(Tensor::from<std::int64_t>(shape, codes), type, 0);
}

std::string precision_text(const RawValues& raw) {
  if (raw.within) return "within half a unit of the last digit";
  return raw.values.type() == ElementType::float16 ? "within half an ulp of float16" : std::string(name_of(raw.values.type()));
}

/// Codes, where real values, in the model's order, tell them; else float32.
void convert_reals(FileValues& read, const RawValues& raw, const ModelTensor& tensor) {
  const bool has_codes = is_integer(tensor.type) && tensor.quantization.present();
  FoundCodes found = has_codes ? codes_of_reals(raw, tensor) : FoundCodes{};
  const std::string held(raw.within ? "float32" : name_of(raw.values.type()));
  if (found.codes) {
    read.values = with_type(*found.codes, tensor.type, raw.values.shape());
    return read.readings.push_back("with the real values of codes, " + precision_text(raw));
  }
  if (is_integer(tensor.type) && are_whole_codes(raw.values, tensor)) {
    std::vector<std::int64_t> codes;
    for (const double value : as_doubles(raw.values)) codes.push_back(static_cast<std::int64_t>(value));
    read.values = with_type(codes, tensor.type, raw.values.shape());
    return read.readings.push_back("with codes as " + held);
  }
  const bool is_narrower = !raw.within && raw.values.type() != ElementType::float32;
  read.values = raw.values.type() == ElementType::float32 ? raw.values : as_float32(raw.values);
  if (has_codes) read.readings.push_back("with real values that tell no codes, " + found.why_not);
  else if (is_narrower) read.readings.push_back("with real values as " + held);
}

/// In the model's type, or float32 of real values.
void convert(FileValues& read, RawValues raw, const ModelTensor& tensor, const DumpFile& file) {
  const ElementType held = raw.values.type();
  if (held == tensor.type) {
    read.values = std::move(raw.values);
    return;
  }
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorCode::type_mismatch, place_of(file),
                std::string(name_of(held)) + why + "; " + quoted(tensor) + " is " + std::string(name_of(tensor.type)) +
                    " (float32 of its real values is accepted too)");
  };
  const std::string codes = "with codes as " + std::string(name_of(held));
  if (is_integer(held) && is_integer(tensor.type)) {
    const Range range = range_in(raw.values);
    const IntegerRange whole = range_of(tensor.type);
    const bool flips = size_of(held) == size_of(tensor.type) && size_of(held) <= 2;  // the same width, with a sign or without
    const std::int64_t half = std::int64_t{1} << (8 * std::min<std::size_t>(size_of(tensor.type), 4) - 1);  // 64 bits hold all others
    const std::int64_t offset = whole.min < 0 ? -half : half;
    const auto fits = [&](std::int64_t by) { return range.min >= whole.min - by && range.max <= whole.max - by; };
    if (!flips && fits(0)) {
      read.values = with_type(raw.values, tensor.type, 0);
      return read.readings.push_back(codes);
    }
    if (!fits(offset)) refuse(" from " + std::to_string(range.min) + " to " + std::to_string(range.max));
    read.values = with_type(raw.values, tensor.type, offset);
    return read.readings.push_back(codes + " and an offset of " + std::to_string(-offset));
  }
  if (held == ElementType::int64 && is_real(tensor.type)) {  // whole numbers of a text
    read.values = as_float32(raw.values);
    return;
  }
  if (!is_real(held)) return refuse("");
  convert_reals(read, raw, tensor);
}

/// The model's shape, with the samples that the file holds in front where they are more than one or stand in front there.
Shape own_shape(const ModelTensor& tensor, const Tensor& values, const DumpFile& file) {
  const std::int64_t own = tensor.shape.element_count();
  const std::int64_t samples = values.element_count() / own;
  if (samples < 1 || values.element_count() % own != 0) {
    std::string packed;
    for (const FileLayout& layout : layouts_of(tensor.shape)) {
      const bool fits = tensor.shape.rank() > 2 && layout.size() != own && values.element_count() % layout.size() == 0;
      if (fits && packed.find(layout.name) == std::string::npos) packed += (packed.empty() ? "" : " or ") + layout.name;
    }
    throw Error(ErrorCode::shape_mismatch, place_of(file),
                "shape " + values.shape().text() + "; " + quoted(tensor) + " is " + tensor.shape.text() +
                    cut_text(values.shape(), tensor.shape) + (packed.empty() ? "" : "; it would fit as --layout " + packed));
  }
  const bool is_image = tensor.shape.rank() == 4 && tensor.shape[0] == 1;  // whose own axis of samples stands in front
  if (samples == 1 && (is_image || values.shape().rank() <= tensor.shape.rank())) return tensor.shape;
  std::vector<std::int64_t> sizes{samples};
  sizes.insert(sizes.end(), tensor.shape.sizes().begin(), tensor.shape.sizes().end());
  return Shape(std::move(sizes));
}

/// Reordered, with what is known of each value.
RawValues in_model_order(const RawValues& raw, const FileLayout& layout, const Shape& shape) {
  RawValues ordered{in_model_order(raw.values, layout, shape), raw.has_shape, {}};
  if (raw.within) ordered.within = in_model_order(*raw.within, layout, shape);
  return ordered;
}

/// How the values stand in the file, where that is not as the model has them.
std::optional<FileLayout> layout_of(const RawValues& raw, const ModelTensor& tensor, const DumpFile& file, const std::string& layout,
                                    std::int64_t samples, FileValues& read) {
  const std::string where = place_of(file);
  if (!layout.empty()) return layout_named(layout, raw.values, tensor.shape, where);
  auto other = raw.has_shape ? layout_by_shape(raw.values.shape(), tensor.shape) : std::nullopt;
  if (!other) other = layout_named(file.layout, raw.values, tensor.shape, where);
  const std::int64_t own = tensor.shape.element_count(), values = raw.values.element_count();
  const bool is_told = other || !file.layout.empty() || values == own || (raw.has_shape && raw.values.shape().rank() > 1);
  if (is_told || (values % own == 0 && values / own == samples)) return other;
  other = layout_by_fill(raw.values, tensor.shape);
  if (other) read.readings.push_back("padded, read in the order " + text_of(*other, tensor.shape));
  return other;
}

}  // namespace

FileReader::FileReader(DumpFile file) : file_(std::move(file)) {
  const std::string ending = file_.path.extension().string();
  if (!file_.member.empty()) raw_ = RawValues{read_member(file_), true, {}};
  else if (ending == ".npy") raw_ = RawValues{read_npy(file_.path), true, {}};
  else if (ending == ".txt") raw_ = read_text(file_.path);
  else bytes_ = read_file(file_.path);
}

FileValues FileReader::read_as(const ModelTensor& tensor, const std::string& layout, std::int64_t samples) const {
  RawValues raw = raw_ ? *raw_ : typed(bytes_, tensor, file_);
  if (raw.values.element_count() == 0) throw Error(ErrorCode::shape_mismatch, place_of(file_), "holds no value");
  if (!raw.has_shape && file_.shape && file_.shape->element_count() == raw.values.element_count()) {
    raw.values.reshape(*file_.shape);
    raw.has_shape = true;
  }
  FileValues read;
  if (raw.has_shape) read.stored = raw.values.shape();
  const std::optional<FileLayout> other = layout_of(raw, tensor, file_, layout, samples, read);
  if (other) {
    if (read.readings.empty())
      read.readings.push_back("in the order " + text_of(*other, tensor.shape) + (raw.has_shape ? ", " + read.stored.text() : ""));
    raw = in_model_order(raw, *other, tensor.shape);
    read.stored = {};
  } else {
    raw.values.reshape(own_shape(tensor, raw.values, file_));
  }
  convert(read, std::move(raw), tensor, file_);
  return read;
}

NamedTrace with_codes(const Model& model, NamedTrace dump) {
  std::vector<std::pair<std::string, std::string>> readings;
  for (NamedTensor& tensor : dump.tensors) {
    const ModelTensor& described = model.tensor(tensor.index);
    if (!is_real(tensor.values.type()) || !is_integer(described.type) || !described.quantization.present()) continue;
    FoundCodes found = codes_of_reals({tensor.values, true, {}}, described);
    if (!found.codes) continue;  // compared as real values
    tensor.values = with_type(*found.codes, described.type, tensor.values.shape());
    tensor.quantization = quantization_in(described, tensor.values.shape());
    readings.emplace_back(tensor.name, "with the real values of codes");
  }
  for (std::string& line : summed_up(readings)) dump.readings.push_back(std::move(line));
  return dump;
}

}  // namespace lastbit
