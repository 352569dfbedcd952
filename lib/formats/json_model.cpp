// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "formats/json_model.hpp"

#include <cmath>
#include <limits>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "formats/file.hpp"
#include "lastbit/io/json_model.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/shape.hpp"

namespace lastbit {
namespace {

Quantization quantization_from(const JsonView& json) {
  json.only({"scale", "zero_point", "axis"});
  Quantization quantization{.scales = json["scale"].numbers(), .zero_points = {}, .axis = 0};
  if (quantization.scales.empty()) json.fail("an empty list of scales");
  if (const auto zero_points = json.find("zero_point")) quantization.zero_points = zero_points->integers();
  if (const auto axis = json.find("axis")) quantization.axis = axis->integer();
  return quantization;
}

template <class T>
T element_from(const JsonView& json) {
  if constexpr (std::is_same_v<T, bool>) {
    return json.boolean();
  } else if constexpr (std::is_integral_v<T>) {
    const std::int64_t value = json.integer();
    if (value < std::numeric_limits<T>::min() || value > std::numeric_limits<T>::max()) {
      json.fail(std::to_string(value) + " is outside " + std::string(name_of(element_type_of<T>)));
    }
    return static_cast<T>(value);
  } else {
    const double value = json.number();
    constexpr double largest = std::is_same_v<T, Float16> ? 65504 : static_cast<double>(std::numeric_limits<T>::max());
    if (std::abs(value) > largest) json.fail("a number beyond " + std::string(name_of(element_type_of<T>)));
    if constexpr (std::is_same_v<T, Float16>) return to_float16(value, ieee_float16);
    else return static_cast<T>(value);
  }
}

/// The list is as long as the shape says before anything is allocated for it.
Tensor data_from(const JsonView& json, ElementType type, const Shape& shape) {
  const std::int64_t needed = shape.element_count();
  if (json.size() != static_cast<std::size_t>(needed)) {
    json.fail(std::to_string(json.size()) + " values; shape " + shape.text() + " needs " + std::to_string(needed));
  }
  Tensor tensor(type, shape);
  visit_element_type(type, [&]<class T>() {
    const auto values = tensor.values<T>();
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = element_from<T>(json.at(i));
  });
  return tensor;
}

Tensor file_from(const JsonView& json, ElementType type, const Shape& shape, const std::filesystem::path& directory) {
  const std::filesystem::path path = path_below(directory, json.text(), json.where());
  Tensor tensor = read_npy(path);
  if (tensor.type() != type) {
    json.fail(path.string() + " holds " + std::string(name_of(tensor.type())) + ", the tensor is " + std::string(name_of(type)));
  }
  if (tensor.element_count() != shape.element_count()) {
    json.fail(path.string() + " holds " + tensor.shape().text() + ", the tensor is " + shape.text());
  }
  tensor.reshape(shape);
  return tensor;
}

ElementType type_from(const JsonView& json) {
  const std::string name = json["type"].text();
  const auto type = element_type_from(name);
  if (!type) json.fail("unknown type '" + name + "'");
  return *type;
}

Shape shape_from(const JsonView& json, ElementType type) {
  Shape shape(json["shape"].integers());
  if (shape.rank() > largest_rank || !checked_element_count(shape.sizes(), type)) {
    json["shape"].fail("more than " + std::to_string(largest_rank) + " sizes, a size below 1, or too large as a whole");
  }
  return shape;
}

ModelTensor tensor_from(const JsonView& json, const std::filesystem::path& directory) {
  json.only({"name", "type", "shape", "quantization", "merged", "data", "file"});
  const ElementType type = type_from(json);
  ModelTensor tensor{.name = json["name"].text(), .type = type, .shape = shape_from(json, type), .quantization = {}, .constant = {}};
  if (tensor.name.empty()) json.fail("an empty name");
  if (const auto quantization = json.find("quantization")) tensor.quantization = quantization_from(*quantization);
  if (const auto merged = json.find("merged")) tensor.merged = quantization_from(*merged);
  const auto data = json.find("data"), file = json.find("file");
  if (data && file) json.fail("data and file exclude each other");
  if (data) tensor.constant = data_from(*data, type, tensor.shape);
  if (file) tensor.constant = file_from(*file, type, tensor.shape, directory);
  return tensor;
}

/// Tensors are named in the file and numbered in the model.
class Names {
 public:
  explicit Names(const JsonView& tensors, const Model& model) {
    for (std::size_t i = 0; i < model.tensors.size(); ++i) {
      const bool added = indices_.emplace(model.tensors[i].name, static_cast<std::int32_t>(i)).second;
      if (!added) tensors.at(i).fail("the name '" + model.tensors[i].name + "' is taken");
    }
  }

  [[nodiscard]] std::vector<std::int32_t> list(const JsonView& json) const {
    std::vector<std::int32_t> result;
    for (std::size_t i = 0; i < json.size(); ++i) result.push_back(json.at(i).value().is_null() ? absent_tensor : one(json.at(i)));
    return result;
  }

  [[nodiscard]] std::int32_t one(const JsonView& json) const {
    const auto found = indices_.find(json.text());
    if (found == indices_.end()) json.fail("no tensor is named '" + json.text() + "'");
    return found->second;
  }

 private:
  std::unordered_map<std::string, std::int32_t> indices_;
};

Operation operation_from(const JsonView& json, const Names& names, const Model& model) {
  json.only({"op", "name", "inputs", "outputs", "attributes", "stated"});
  const std::string kind_name = json["op"].text();
  const auto kind = operation_kind_from(kind_name);
  if (!kind) json.fail("unknown operation '" + kind_name + "'", ErrorCode::unsupported_operation);
  Operation operation{
      .kind = *kind, .name = {}, .inputs = names.list(json["inputs"]), .outputs = names.list(json["outputs"]), .attributes = {}};
  if (operation.inputs.empty() || operation.inputs[0] == absent_tensor) json.fail("an operation needs an input");
  if (operation.outputs.empty() || operation.outputs[0] == absent_tensor) json.fail("an operation needs an output");
  const auto name = json.find("name");
  operation.name = name ? name->text() : model.tensor(operation.outputs[0]).name;
  static const Json no_attributes = Json::object();
  const JsonView attributes = json.find("attributes").value_or(JsonView(no_attributes, json.where()));
  operation.attributes = attributes_from_json(*kind, attributes, model.tensor(operation.inputs[0]).type);
  if (const auto stated = json.find("stated")) {
    const auto statement = statement_from(stated->text());
    if (!statement) stated->fail("'" + stated->text() + "'; on_codes, fusible, fusible_as_uint8, fusible_by_option or not_fusible");
    operation.stated = *statement;
  }
  return operation;
}

State state_from(const JsonView& json, const Names& names) {
  json.only({"before", "after"});
  return {names.one(json["before"]), names.one(json["after"])};
}

}  // namespace

Tensor tensor_from_json(const JsonView& json) {
  json.only({"type", "shape", "data"});
  const ElementType type = type_from(json);
  return data_from(json["data"], type, shape_from(json, type));
}

Model model_from_json(const JsonView& json, const std::filesystem::path& directory) {
  json.only({"format", "name", "tensors", "operations", "inputs", "outputs", "states"});
  if (json["format"].text() != "lastbit.model.v1") json["format"].fail("\"lastbit.model.v1\" is needed");
  Model model;
  if (const auto name = json.find("name")) model.name = name->text();
  const JsonView tensors = json["tensors"], operations = json["operations"];
  for (std::size_t i = 0; i < tensors.size(); ++i) model.tensors.push_back(tensor_from(tensors.at(i), directory));
  const Names names(tensors, model);
  for (std::size_t i = 0; i < operations.size(); ++i) model.operations.push_back(operation_from(operations.at(i), names, model));
  model.inputs = names.list(json["inputs"]);
  model.outputs = names.list(json["outputs"]);
  if (const auto states = json.find("states")) {
    for (std::size_t i = 0; i < states->size(); ++i) model.states.push_back(state_from(states->at(i), names));
  }
  validate(model, json.where());
  return model;
}

Model parse_json_model(std::string_view text, const std::filesystem::path& directory, std::string_view where) {
  return model_from_json(JsonView(parse_json(text, where), std::string(where)), directory);
}

Model read_json_model(const std::filesystem::path& path) {
  return parse_json_model(read_text_file(path), path.parent_path(), path.string());
}

}  // namespace lastbit
