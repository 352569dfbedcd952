// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "layer_request.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "dump_option.hpp"
#include "lastbit/error.hpp"
#include "lastbit/io/npy.hpp"
#include "model_inputs.hpp"

namespace lastbit::tool {
namespace {

using Json = nlohmann::json;

Option add_list(Command& command, const std::string& name, std::vector<std::string>& values, const std::string& meaning) {
  return command.option(name, values, meaning).repeatable_one_by_one();
}

void add_arrays(Command& command, const std::string& name, LayerRequest::Arrays& arrays, const std::string& meaning) {
  add_list(command, "--" + name, arrays.files, meaning).value_name("FILE.npy");
  add_list(command, "--" + name + "-type", arrays.types, "its type in the layer, where the file holds another").value_name("TYPE");
  add_list(command, "--" + name + "-scale", arrays.scales, "real = scale * (integer - zero point); several: one per output channel")
      .value_name("S[,S…]");
  add_list(command, "--" + name + "-zero-point", arrays.zero_points, "0 by default").value_name("Z[,Z…]");
}

void add_file(Command& command, const std::string& name, LayerRequest::Arrays& arrays, const std::string& meaning) {
  add_list(command, "--" + name, arrays.files, meaning).value_name("FILE.npy");
}

[[noreturn]] void refuse_option(const std::string& option, const std::string& message) {
  throw Error(ErrorCode::bad_input, option, message);
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

Json nested(const Tensor& tensor, std::size_t axis, std::int64_t& next) {
  Json result;
  if (axis == tensor.shape().rank()) {
    visit_element_type(tensor.type(), [&]<class T>() {
      const T value = tensor.values<T>()[static_cast<std::size_t>(next)];
      if constexpr (std::is_integral_v<T>) result = value;
      else result = static_cast<double>(value);
    });
    ++next;
    return result;
  }
  for (std::int64_t i = 0; i < tensor.shape()[axis]; ++i) result.push_back(nested(tensor, axis + 1, next));
  return result;
}

Json list_from(const std::string& file) {
  const Tensor tensor = read_npy(file);
  std::int64_t next = 0;
  return nested(tensor, 0, next);
}

/// A number stays a text where it is a quotient: the JSON form takes both.
Json scalar(const std::string& text) {
  Json parsed = Json::parse(text, nullptr, false);
  return parsed.is_discarded() ? Json(text) : parsed;
}

/// "a", "a,b", "list.npy".
Json one_or_many(const std::string& text) {
  if (text.ends_with(".npy")) return list_from(text);
  if (Json parsed = Json::parse(text, nullptr, false); parsed.is_structured()) return parsed;
  const std::vector<std::string> parts = split(text);
  if (parts.size() == 1) return scalar(text);
  Json list = Json::array();
  for (const std::string& part : parts) list.push_back(scalar(part));
  return list;
}

/// The i-th entry; a single one stands for all.
const std::string* entry(const std::vector<std::string>& values, std::size_t index, std::size_t arrays, const std::string& option) {
  if (values.empty()) return nullptr;
  if (values.size() != 1 && values.size() != arrays) {
    refuse_option(option, std::to_string(values.size()) + " times for " + std::to_string(arrays) + " arrays; once, or once for each");
  }
  return &values[values.size() == 1 ? 0 : index];
}

Json arrays_json(const LayerRequest::Arrays& arrays, const std::string& option) {
  Json list = Json::array();
  if (arrays.files.empty() && !(arrays.types.empty() && arrays.scales.empty() && arrays.zero_points.empty()))
    refuse_option(option, "a file is needed");
  for (std::size_t i = 0; i < arrays.files.size(); ++i) {
    Json json{{"file", std::filesystem::absolute(arrays.files[i]).string()}};
    const auto take = [&](const char* key, const std::vector<std::string>& values, const std::string& suffix, auto convert) {
      if (const std::string* text = entry(values, i, arrays.files.size(), option + suffix)) json[key] = convert(*text);
    };
    take("type", arrays.types, "-type", [](const std::string& text) { return Json(text); });
    take("scale", arrays.scales, "-scale", one_or_many);
    take("zero_point", arrays.zero_points, "-zero-point", one_or_many);
    list.push_back(std::move(json));
  }
  return list;
}

Json output_json(const LayerRequest& request) {
  Json json = Json::object();
  if (!request.output_type.empty()) json["type"] = request.output_type;
  if (!request.output_scale.empty()) json["scale"] = one_or_many(request.output_scale);
  if (!request.output_zero_point.empty()) json["zero_point"] = one_or_many(request.output_zero_point);
  if (!request.output_shape.empty()) {
    const Json shape = one_or_many(request.output_shape);
    json["shape"] = shape.is_array() ? shape : Json::array({shape});
  }
  if (request.outputs != 1) json["count"] = request.outputs;
  return json;
}

/// "3", "1,2", "same", "true", "table.npy"; nothing: true.
Json attribute_value(const std::string& text) {
  if (text.empty()) return true;
  return one_or_many(text);
}

/// "--stride 2,2 --padding=same --transpose-b" as {"stride": [2, 2], "padding": "same", "transpose_b": true}.
Json attributes_json(const std::vector<std::string>& words) {
  Json json = Json::object();
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!words[i].starts_with("--")) refuse_option(words[i], "an option is expected here, such as --stride 2,2");
    const std::size_t equals = words[i].find('=');
    std::string key = words[i].substr(2, equals == std::string::npos ? equals : equals - 2);
    std::ranges::replace(key, '-', '_');
    if (json.contains(key)) refuse_option(words[i], "is given twice");
    const bool has_value = equals == std::string::npos && i + 1 < words.size() && !words[i + 1].starts_with("--");
    json[key] = equals != std::string::npos ? attribute_value(words[i].substr(equals + 1)) : attribute_value(has_value ? words[++i] : "");
  }
  return json;
}

bool says_anything(const LayerRequest& request) {
  const auto given = [](const LayerRequest::Arrays& arrays) { return !arrays.files.empty(); };
  return given(request.inputs) || given(request.weights) || given(request.bias) || given(request.multiplier) || given(request.table) ||
         given(request.feedback) || given(request.constants) || !request.attributes.empty() || !request.layout.empty() ||
         !output_json(request).empty();
}

}  // namespace

void add_layer_options(Command& command, LayerRequest& request) {
  command.option("operation", request.operation, "conv2d, fully_connected, add, … or a file (.json)")
      .required()
      .value_name("OP | FILE.json");
  add_arrays(command, "input", request.inputs, input_meaning);
  add_arrays(command, "weights", request.weights, "weights, a part of the layer");
  add_arrays(command, "bias", request.bias, "bias, a part of the layer");
  add_file(command, "multiplier", request.multiplier, "integer multipliers, one per row of the weights");
  add_file(command, "table", request.table, "a table of the activation");
  add_file(command, "feedback", request.feedback, "earlier outputs of a recurrent layer");
  add_arrays(command, "constant", request.constants, "a further constant after the inputs (repeatable)");
  command.option("--output-type", request.output_type, "of a sum without output scale the accumulators, else the type of the input")
      .value_name("TYPE");
  command.option("--output-scale", request.output_scale, "of the output").value_name("S");
  command.option("--output-zero-point", request.output_zero_point, "of the output").value_name("Z");
  command.option("--output-shape", request.output_shape, "where it does not follow from the inputs").value_name("N[,N…]");
  command.option("--outputs", request.outputs, "how many, where the operation leaves it open").within(1, 64);
  command.option("--layout", request.layout, layout_meaning).value_name("nhwc|nchw").suggests(ValueKind::choice, {"nhwc", "nchw"});
}

LayerDescription describe_layer(const LayerRequest& request) {
  if (request.operation.ends_with(".json")) {
    if (says_anything(request))
      refuse_option(request.operation,
                    "a file says all that there is to say of a layer; options that describe arrays or attributes exclude it");
    return read_layer(request.operation);
  }
  Json json{{"format", "lastbit.layer.v1"}, {"op", request.operation}, {"inputs", arrays_json(request.inputs, "--input")}};
  for (const auto& [key, arrays] :
       {std::pair{"weights", &request.weights}, std::pair{"bias", &request.bias}, std::pair{"multiplier", &request.multiplier},
        std::pair{"table", &request.table}, std::pair{"feedback", &request.feedback}}) {
    const Json list = arrays_json(*arrays, std::string("--") + key);
    if (list.size() > 1) refuse_option(std::string("--") + key, "is given twice");
    if (!list.empty()) json[key] = list[0];
  }
  if (const Json constants = arrays_json(request.constants, "--constant"); !constants.empty()) json["constants"] = constants;
  if (const Json output = output_json(request); !output.empty()) json["output"] = output;
  if (!request.layout.empty()) json["layout"] = request.layout;
  if (const Json attributes = attributes_json(request.attributes); !attributes.empty()) json["attributes"] = attributes;
  return parse_layer(json.dump(), {}, "layer");
}

}  // namespace lastbit::tool
