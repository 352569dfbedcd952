// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>
#include <type_traits>

#include "formats/file.hpp"
#include "formats/json_model.hpp"
#include "lastbit/io/json_model.hpp"
#include "lastbit/io/npy.hpp"

namespace lastbit {
namespace {

/// Larger constants go to files of their own.
constexpr std::int64_t most_inline_values = 256;

template <class T>
bool is_finite(T value) {
  if constexpr (std::is_integral_v<T>) return true;
  else return std::isfinite(static_cast<double>(value));
}

bool is_sayable(const Tensor& constant) {
  return visit_element_type(constant.type(), [&]<class T>() {  // JSON has neither infinity nor NaN
    return std::ranges::all_of(constant.values<T>(), [](T value) { return is_finite(value); });
  });
}

OrderedJson data_to_json(const Tensor& constant) {
  OrderedJson list = OrderedJson::array();
  visit_element_type(constant.type(), [&]<class T>() {
    for (const T value : constant.values<T>()) {
      if constexpr (std::is_integral_v<T>) list.push_back(value);
      else list.push_back(static_cast<double>(value));
    }
  });
  return list;
}

/// Files beside the model, named after it and the tensor.
class ConstantFiles {
 public:
  explicit ConstantFiles(const std::filesystem::path& model) : folder_(model.parent_path()), stem_(model.stem().string()) {}

  std::string write(const ModelTensor& tensor, std::size_t index) {
    std::string name;
    for (const char c : tensor.name.substr(0, 100))
      name += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' ? c : '_';
    if (!used_.insert(name).second) name += "_" + std::to_string(index);
    used_.insert(name);
    std::string file = stem_ + "." + name + ".npy";
    write_npy(folder_ / file, *tensor.constant);
    return file;
  }

 private:
  std::filesystem::path folder_;
  std::string stem_;
  std::set<std::string> used_;
};

OrderedJson quantization_to_json(const Quantization& quantization) {
  OrderedJson json{{"scale", quantization.scales}};
  if (!quantization.zero_points.empty()) json["zero_point"] = quantization.zero_points;
  if (quantization.per_channel()) json["axis"] = quantization.axis;
  return json;
}

/// `files` absent: every constant is inline.
OrderedJson tensor_to_json(const ModelTensor& tensor, std::size_t index, ConstantFiles* files) {
  OrderedJson json{{"name", tensor.name}, {"type", name_of(tensor.type)}};
  json["shape"] = tensor.shape.sizes();
  if (tensor.quantization.present()) json["quantization"] = quantization_to_json(tensor.quantization);
  if (tensor.merged) json["merged"] = quantization_to_json(*tensor.merged);
  if (!tensor.constant) return json;
  const bool sayable = is_sayable(*tensor.constant);
  if (!sayable && files == nullptr) throw Error(ErrorCode::bad_input, "tensor '" + tensor.name + "'", "JSON has neither infinity nor NaN");
  const bool is_inline = sayable && (files == nullptr || tensor.constant->element_count() <= most_inline_values);
  if (is_inline) json["data"] = data_to_json(*tensor.constant);
  else json["file"] = files->write(tensor, index);
  return json;
}

OrderedJson names_to_json(const Model& model, const std::vector<std::int32_t>& tensors) {
  OrderedJson list = OrderedJson::array();
  for (const std::int32_t tensor : tensors)
    list.push_back(tensor == absent_tensor ? OrderedJson() : OrderedJson(model.tensor(tensor).name));
  return list;
}

OrderedJson operation_to_json(const Model& model, const Operation& operation) {
  OrderedJson json{{"op", name_of(operation.kind)}, {"name", operation.name}};
  json["inputs"] = names_to_json(model, operation.inputs);
  json["outputs"] = names_to_json(model, operation.outputs);
  OrderedJson attributes = attributes_to_json(operation.kind, operation.attributes);
  if (!attributes.empty()) json["attributes"] = std::move(attributes);
  if (operation.stated != Statement::on_codes) json["stated"] = name_of(operation.stated);
  return json;
}

/// Empty for most models, which remember nothing.
std::string states_text(const Model& model) {
  if (model.states.empty()) return {};
  OrderedJson list = OrderedJson::array();
  for (const State& state : model.states)
    list.push_back({{"before", model.tensor(state.before).name}, {"after", model.tensor(state.after).name}});
  return ",\n  \"states\": " + list.dump();
}

void require_own_names(const Model& model, const std::string& where) {
  std::set<std::string_view> names;
  for (const ModelTensor& tensor : model.tensors) {
    if (!tensor.name.empty() && names.insert(tensor.name).second) continue;
    throw Error(ErrorCode::bad_input, where, "cannot be written: tensor '" + tensor.name + "' has no name of its own");
  }
}

/// One line per tensor and operation: short enough to read, long enough to search.
std::string lines_of(const OrderedJson& list) {
  std::string text = "[";
  for (std::size_t i = 0; i < list.size(); ++i) text += (i == 0 ? "\n    " : ",\n    ") + list[i].dump();
  return text + "\n  ]";
}

std::string text_of(const Model& model, const std::string& where, ConstantFiles* files) {
  require_own_names(model, where);
  OrderedJson tensors = OrderedJson::array(), operations = OrderedJson::array();
  for (std::size_t i = 0; i < model.tensors.size(); ++i) tensors.push_back(tensor_to_json(model.tensors[i], i, files));
  for (const Operation& operation : model.operations) operations.push_back(operation_to_json(model, operation));
  return "{\n  \"format\": \"lastbit.model.v1\",\n  \"name\": " + OrderedJson(model.name).dump() +
         ",\n  \"tensors\": " + lines_of(tensors) + ",\n  \"operations\": " + lines_of(operations) +
         ",\n  \"inputs\": " + names_to_json(model, model.inputs).dump() +
         ",\n  \"outputs\": " + names_to_json(model, model.outputs).dump() + states_text(model) + "\n}\n";
}

}  // namespace

void write_json_model(const std::filesystem::path& path, const Model& model) {
  ConstantFiles files(path);
  write_file(path, text_of(model, path.string(), &files), {});
}

std::string json_model_text(const Model& model) { return text_of(model, "model '" + model.name + "'", nullptr); }

}  // namespace lastbit
