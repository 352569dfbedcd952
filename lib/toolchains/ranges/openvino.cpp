// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// {"NODE/fq_input_0": [min, max]}                                               POT
// {"NODE/fq_output_0": {"input_low": min, "input_high": max, …}}                 NNCF, OpenVINO models
// {"QuantizeLinear_TENSOR_1": {"scale": s, "zero_point": z}}                     NNCF, ONNX models
//
// Numbers may stand in lists, one for each output channel of weights. Source: the references of the tools' own tests
// (docs/quantize.md#ranges-from-outside). Ranges per channel, which NNCF has for weights, are left out: an int8 code of them has no zero point.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "formats/json.hpp"
#include "lastbit/printable.hpp"
#include "toolchains/ranges/forms.hpp"

namespace lastbit::ranges {
namespace {

/// Numbers of lists within lists, in order.
void flatten(const Json& json, const std::string& where, std::vector<double>& numbers) {
  if (json.is_array()) {
    for (const Json& element : json) flatten(element, where, numbers);
  } else if (json.is_number()) {
    numbers.push_back(json.get<double>());
  } else {
    throw Error(ErrorCode::malformed_file, where, "a number is needed, or a list of them");
  }
}

std::vector<double> numbers_at(const Json& object, const char* key, const std::string& where) {
  std::vector<double> numbers;
  if (object.contains(key)) flatten(object[key], where + "." + key, numbers);
  return numbers;
}

/// A name's last number, behind `mark`.
std::optional<std::size_t> number_behind(std::string_view name, std::size_t mark) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(name.data() + mark, name.data() + name.size(), number);
  if (error != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  return number;
}

/// POT names a convolution whose bias it has split off so.
std::string node_name(std::string_view name) {
  constexpr std::string_view split = "/WithoutBiases";
  if (name.ends_with(split)) name.remove_suffix(split.size());
  return std::string(name);
}

TensorRange& add_named(Collector& collector, std::string_view key) {
  struct Mark {
    std::string_view text;
    RangeOf of;
  };
  for (const Mark& mark : {Mark{"/fq_input_", RangeOf::input}, {"/fq_weights_", RangeOf::input}, {"/fq_output_", RangeOf::output}}) {
    const std::size_t place = key.rfind(mark.text);
    if (place == std::string_view::npos) continue;
    if (const auto number = number_behind(key, place + mark.text.size()))
      return collector.add(node_name(key.substr(0, place)), 0, mark.of, *number);
  }
  constexpr std::string_view quantizer = "QuantizeLinear_";
  const std::size_t last = key.rfind('_');
  if (key.starts_with(quantizer) && last > quantizer.size() && number_behind(key, last + 1))
    return collector.add(std::string(key.substr(quantizer.size(), last - quantizer.size())), 0);
  return collector.add(std::string(key), 0);
}

std::vector<std::int64_t> zero_points_of(const std::vector<double>& numbers, const std::string& where) {
  std::vector<std::int64_t> zero_points;
  for (const double number : numbers) {
    if (std::trunc(number) != number || std::abs(number) > 0x1p31)
      throw Error(ErrorCode::malformed_file, where, "a zero point is no integer");
    zero_points.push_back(static_cast<std::int64_t>(number));
  }
  return zero_points;
}

/// The lowest and highest values of a member, by either pair of names.
bool add_bounds(Collector& collector, const std::string& key, const Json& value, const std::string& where) {
  for (const auto& [low, high] : {std::pair{"input_low", "input_high"}, {"min", "max"}}) {
    const std::vector<double> lows = numbers_at(value, low, where), highs = numbers_at(value, high, where);
    if (lows.empty() && highs.empty()) continue;
    if (lows.size() != highs.size()) throw Error(ErrorCode::malformed_file, where, std::string("not as many of ") + low + " as of " + high);
    if (lows.size() == 1) Collector::set_range(add_named(collector, key), lows[0], highs[0]);
    return true;
  }
  return false;
}

void add_member(Collector& collector, const std::string& key, const Json& value, const std::string& path) {
  const std::string where = path + ": '" + printable(key) + "'";
  if (value.is_object() && add_bounds(collector, key, value, where)) return;
  if (value.is_object() && value.contains("scale")) {
    return Collector::set_codes(add_named(collector, key),
                                {numbers_at(value, "scale", where), zero_points_of(numbers_at(value, "zero_point", where), where), -1});
  }
  std::vector<double> pair;
  if (value.is_array()) flatten(value, where, pair);
  if (pair.size() != 2) throw Error(ErrorCode::malformed_file, where, "neither [min, max] nor input_low and input_high nor scale");
  Collector::set_range(add_named(collector, key), pair[0], pair[1]);
}

}  // namespace

RangeFile read_openvino_ranges(std::string_view text, const std::string& path) {
  Collector collector(path, "ranges of OpenVINO's tools", true);
  const Json json = parse_json(text, path);
  for (const auto& [key, value] : json.items()) add_member(collector, key, value, path);
  return collector.finish();
}

}  // namespace lastbit::ranges
