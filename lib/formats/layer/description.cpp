// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "formats/file.hpp"
#include "formats/json_model.hpp"
#include "lastbit/io/npz.hpp"
#include "lastbit/layer.hpp"
#include "lastbit/shape.hpp"
#include "model/operation_signature.hpp"

namespace lastbit {
namespace {

constexpr std::int64_t most_outputs = 64;

/// Names that devices use for what is one of the kinds with some of its freedom taken away.
struct Sugar {
  std::string_view name;
  OperationKind kind;
};
constexpr Sugar sugar[] = {{"affine", OperationKind::fully_connected},
                           {"conv1d", OperationKind::conv2d},
                           {"depthwise", OperationKind::depthwise_conv2d},
                           {"diagonal", OperationKind::depthwise_conv2d}};

OperationKind kind_from(const JsonView& json) {
  const std::string name = json.text();
  if (const auto kind = operation_kind_from(name)) return *kind;
  for (const Sugar& other : sugar)
    if (other.name == name) return other.kind;
  std::string known;
  for (const OperationSignature& signature : operation_signatures())
    known += std::string(known.empty() ? "" : ", ") + std::string(signature.name);
  for (const Sugar& other : sugar) known += ", " + std::string(other.name);
  json.fail("unknown operation '" + name + "'; known: " + known, ErrorCode::unsupported_operation);
}

ElementType type_from(const JsonView& json) {
  const std::string name = json.text();
  const auto type = element_type_from(name);
  if (!type) json.fail("unknown type '" + name + "'");
  return *type;
}

/// A number, or a list of them; a number may be written as a quotient: "1/2048".
double scale_from(const JsonView& json) {
  if (!json.value().is_string()) return json.number();
  const std::string text = json.text();
  double parts[2] = {0, 1};
  std::size_t begin = 0;
  for (double& part : parts) {
    const std::size_t end = std::min(text.find('/', begin), text.size());
    std::size_t used = 0;
    try {
      part = std::stod(text.substr(begin, end - begin), &used);
    } catch (const std::exception&) {
      used = text.size() + 1;
    }
    if (used != end - begin) json.fail("'" + text + "' is not a number or a quotient such as 1/2048");
    if (end == text.size()) break;
    begin = end + 1;
  }
  const double scale = parts[0] / parts[1];
  if (!std::isfinite(scale)) json.fail("'" + text + "' is not a finite number");
  return scale;
}

template <class Get>
auto one_or_many(const JsonView& json, Get get) {
  std::vector<decltype(get(json))> values;
  if (!json.value().is_array()) return decltype(values){get(json)};
  for (std::size_t i = 0; i < json.size(); ++i) values.push_back(get(json.at(i)));
  if (values.empty()) json.fail("an empty list");
  return values;
}

Quantization quantization_from(const JsonView& json) {
  Quantization quantization;
  if (const auto scale = json.find("scale")) quantization.scales = one_or_many(*scale, scale_from);
  if (const auto zero = json.find("zero_point")) {
    quantization.zero_points = one_or_many(*zero, [](const JsonView& item) { return item.integer(); });
    if (quantization.scales.empty()) zero->fail("a zero point without a scale");
  }
  return quantization;
}

/// Sizes of nested lists, by their first entries.
Shape shape_of(const JsonView& json) {
  std::vector<std::int64_t> sizes;
  for (const Json* level = &json.value(); level->is_array(); level = &level->front()) {
    if (level->empty() || sizes.size() == largest_rank) json.fail("an empty list, or one nested too deep");
    sizes.push_back(static_cast<std::int64_t>(level->size()));
  }
  return Shape(std::move(sizes));
}

void collect(const JsonView& json, const Shape& shape, std::size_t depth, std::vector<double>& values) {
  if (depth == shape.rank()) return values.push_back(json.number());
  if (static_cast<std::int64_t>(json.size()) != shape[depth]) json.fail("lists of unequal length");
  for (std::size_t i = 0; i < json.size(); ++i) collect(json.at(i), shape, depth + 1, values);
}

/// Nested lists: integers where every number is one, else float32.
Tensor data_from(const JsonView& json) {
  const Shape shape = shape_of(json);
  std::vector<double> numbers;
  collect(json, shape, 0, numbers);
  constexpr double exact = 0x1p53;
  const bool integers = std::ranges::all_of(numbers, [](double value) { return value == std::floor(value) && std::abs(value) <= exact; });
  Tensor tensor(integers ? ElementType::int64 : ElementType::float32, shape);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (integers) tensor.values<std::int64_t>()[i] = static_cast<std::int64_t>(numbers[i]);
    else
      tensor.values<float>()[i] =
          static_cast<float>(std::clamp<double>(numbers[i], std::numeric_limits<float>::lowest(), std::numeric_limits<float>::max()));
  }
  return tensor;
}

using Arrays = std::function<Tensor(const std::string& file)>;

LayerOperand operand_from(const JsonView& json, const std::string& name, const Arrays& array) {
  if (json.value().is_string()) return {.name = name, .values = array(json.text())};
  json.only({"name", "file", "data", "type", "scale", "zero_point"});
  const auto file = json.find("file"), data = json.find("data"), type = json.find("type");
  if (file.has_value() == data.has_value()) json.fail("either 'file' or 'data' is needed");
  LayerOperand operand{.name = json.find("name") ? json["name"].text() : name, .values = file ? array(file->text()) : data_from(*data)};
  if (operand.name.empty()) json.fail("an empty name");
  if (type) operand.type = type_from(*type);
  operand.quantization = quantization_from(json);
  return operand;
}

/// What the inputs behind the first are called, in the operation's order.
struct Roles {
  std::string_view kind;
  std::vector<std::string_view> names;
  std::size_t needed;  ///< so many of them, from the first on, the operation cannot do without
};
const Roles& roles_of(OperationKind kind) {
  static const std::vector<Roles> all{{"fully_connected", {"weights", "bias", "multiplier"}, 1},
                                      {"depthwise_conv2d", {"weights", "bias", "multiplier"}, 1},
                                      {"fused_conv2d", {"weights", "bias", "table"}, 1},
                                      {"recurrent", {"weights", "feedback", "table", "bias", "multiplier"}, 3},
                                      {"pwl", {"table"}, 1}};
  static const Roles others{"", {"weights", "bias"}, 0};
  const auto found = std::ranges::find(all, name_of(kind), &Roles::kind);
  return found == all.end() ? others : *found;
}
constexpr std::string_view role_names[] = {"weights", "bias", "multiplier", "table", "feedback"};

/// The first input, then what is named by its role, then further inputs and constants.
void add_operands(const JsonView& json, const Arrays& array, LayerDescription& layer) {
  const JsonView inputs = json["inputs"];
  if (inputs.size() == 0) inputs.fail("an input is needed");
  const auto input = [&](std::size_t i) { return operand_from(inputs.at(i), i == 0 ? "input" : "input_" + std::to_string(i + 1), array); };
  const auto constant = [&](const JsonView& operand, const std::string& name) {
    LayerOperand read = operand_from(operand, name, array);
    read.constant = true;
    return read;
  };
  layer.operands.emplace_back(input(0));
  const auto& [kind, roles, needed] = roles_of(layer.kind);
  for (const std::string_view role : role_names) {
    const auto given = json.find(role);
    if (!given) continue;
    const auto place = std::ranges::find(roles, role);
    if (place == roles.end()) given->fail(std::string(name_of(layer.kind)) + " has none");
    const auto position = static_cast<std::size_t>(place - roles.begin()) + 1;
    layer.operands.resize(std::max(layer.operands.size(), position + 1));
    layer.operands[position] = constant(*given, std::string(role));
  }
  for (std::size_t i = 1; i < inputs.size(); ++i) layer.operands.emplace_back(input(i));
  const auto constants = json.find("constants");
  for (std::size_t i = 0; constants && i < constants->size(); ++i) {
    layer.operands.emplace_back(constant(constants->at(i), "constant_" + std::to_string(i + 1)));
  }
  for (std::size_t i = 0; i < needed; ++i) {
    if (layer.operands.size() <= i + 1 || !layer.operands[i + 1]) json.fail(std::string(kind) + " needs '" + std::string(roles[i]) + "'");
  }
}

/// Windows along one axis: weights of three dimensions, or a filter of one number.
bool is_one_dimensional(const LayerDescription& layer, const Json& attributes) {
  if (layer.operands.size() > 1 && layer.operands[1]) return layer.operands[1]->values.shape().rank() == 3;
  const auto filter = attributes.find("filter");
  const bool single = filter != attributes.end() && (filter->is_number() || (filter->is_array() && filter->size() == 1));
  return single && layer.operands[0]->values.shape().rank() <= 3;
}

/// One number stands for both directions, or for the only one; two paddings for [vertical, horizontal], or for before and after.
Json spelled_out(Json attributes, bool one_dimensional) {
  if (!attributes.is_object()) return attributes;
  for (const char* key : {"stride", "dilation", "filter"}) {
    const auto found = attributes.find(key);
    if (found == attributes.end()) continue;
    if (found->is_array() && found->size() == 1) *found = Json(found->front());
    if (found->is_number()) *found = one_dimensional ? Json::array({1, *found}) : Json::array({*found, *found});
  }
  if (const auto pool = attributes.find("pool"); pool != attributes.end()) *pool = spelled_out(*pool, one_dimensional);
  const auto padding = attributes.find("padding");
  if (padding == attributes.end()) return attributes;
  if (padding->is_array() && padding->size() == 1) *padding = Json(padding->front());
  const Json given = *padding;
  if (given.is_number()) *padding = one_dimensional ? Json::array({0, 0, given, given}) : Json::array({given, given, given, given});
  else if (given.is_array() && given.size() == 2)
    *padding = one_dimensional ? Json::array({0, 0, given[0], given[1]}) : Json::array({given[0], given[0], given[1], given[1]});
  return attributes;
}

/// One number stands for a list of one.
Json with_lists(Json attributes) {
  if (!attributes.is_object()) return attributes;
  for (const char* key : {"axes", "permutation", "begin", "strides", "active_rows"}) {
    const auto found = attributes.find(key);
    if (found != attributes.end() && found->is_number()) *found = Json::array({Json(*found)});
  }
  return attributes;
}

bool has_windows(OperationKind kind) {
  return std::visit(
      []<class T>(const T&) {
        return requires(T attributes) { attributes.stride; };
      },
      default_attributes(kind));
}

bool averages(OperationKind kind) { return kind == OperationKind::average_pool2d || kind == OperationKind::global_average_pool; }

void read_attributes(const JsonView& json, LayerDescription& layer) {
  static const Json none = Json::object();
  const JsonView given = json.find("attributes").value_or(JsonView(none, json.where()));
  Json attributes = with_lists(given.value());
  if (attributes.is_object() && has_windows(layer.kind)) {
    layer.one_dimensional = is_one_dimensional(layer, attributes);
    attributes = spelled_out(std::move(attributes), layer.one_dimensional);
  }
  const LayerOperand& first = *layer.operands[0];
  layer.attributes = attributes_from_json(layer.kind, JsonView(attributes, given.where()), first.type.value_or(first.values.type()));
  const Shape& image = first.values.shape();
  auto* const pool = std::get_if<Pool2dAttributes>(&layer.attributes);
  if (pool != nullptr && layer.layout == LayerLayout::channels_first && image.rank() > 2)
    pool->planar = averages(layer.kind) && image[image.rank() - (layer.one_dimensional ? 2U : 3U)] > 1;
}

/// "diagonal": one weight per channel, channels last, which is a depthwise convolution of one by one.
void expand_diagonal(LayerDescription& layer, const JsonView& json) {
  if (layer.operands.size() < 2 || !layer.operands[1]) json.fail("'weights' is missing");
  Tensor& weights = layer.operands[1]->values;
  Tensor& input = layer.operands[0]->values;
  const std::int64_t channels = weights.element_count();
  if (input.shape().rank() == 0 || input.shape().back() != channels) {
    json.fail("input " + input.shape().text() + " does not end with the " + std::to_string(channels) + " values of the weights");
  }
  weights.reshape({1, 1, 1, channels});
  layer.shown_shape = input.shape();
  input.reshape({1, 1, input.element_count() / channels, channels});
}

void read_output(const JsonView& json, LayerDescription& layer) {
  json.only({"type", "scale", "zero_point", "shape", "count"});
  if (const auto type = json.find("type")) layer.output_type = type_from(*type);
  layer.output_quantization = quantization_from(json);
  if (const auto count = json.find("count")) layer.outputs = count->integer();
  if (layer.outputs < 1 || layer.outputs > most_outputs) json.fail("'count' is not between 1 and " + std::to_string(most_outputs));
  if (const auto shape = json.find("shape")) {
    layer.output_shape = Shape(shape->integers());
    if (layer.output_shape->rank() > largest_rank || !checked_element_count(layer.output_shape->sizes(), ElementType::int64)) {
      shape->fail("more than " + std::to_string(largest_rank) + " sizes, a size below 1, or too large as a whole");
    }
  }
}

}  // namespace

LayerDescription parse_layer_of_arrays(std::string_view text, const Arrays& array, std::string_view where) {
  const Json parsed = parse_json(text, where);
  const JsonView json(parsed, std::string(where));
  json.only({"format", "op", "backend", "layout", "inputs", "weights", "bias", "multiplier", "table", "feedback", "constants", "attributes",
             "output"});
  if (json["format"].text() != "lastbit.layer.v1") json["format"].fail("\"lastbit.layer.v1\" is needed");
  LayerDescription layer{.kind = kind_from(json["op"]), .attributes = {}, .operands = {}};
  if (const auto backend = json.find("backend")) layer.backend = backend->text();
  if (const auto layout = json.find("layout")) {
    const std::string name = layout->text();
    if (name != "nhwc" && name != "nchw") layout->fail("'" + name + "' is neither \"nhwc\" nor \"nchw\"");
    layer.layout = name == "nchw" ? LayerLayout::channels_first : LayerLayout::channels_last;
  }
  add_operands(json, array, layer);
  if (const auto output = json.find("output")) read_output(*output, layer);
  if (json["op"].text() == "diagonal") {
    if (layer.layout == LayerLayout::channels_first) json["layout"].fail("a diagonal layer reads channels last");
    expand_diagonal(layer, json);
  }
  read_attributes(json, layer);
  return layer;
}

LayerDescription parse_layer(std::string_view text, const std::filesystem::path& directory, std::string_view where) {
  return parse_layer_of_arrays(
      text, [&](const std::string& file) { return read_array(directory / file); }, where);
}

LayerDescription read_layer(const std::filesystem::path& path) {
  return parse_layer(read_text_file(path), path.parent_path(), path.string());
}

}  // namespace lastbit
