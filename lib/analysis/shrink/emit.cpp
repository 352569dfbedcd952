// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "analysis/backend_reference.hpp"
#include "analysis/explain/text.hpp"
#include "analysis/shrink/origin.hpp"
#include "formats/file.hpp"
#include "formats/json_model.hpp"
#include "lastbit/error.hpp"
#include "lastbit/io/json_model.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/io/output.hpp"
#include "lastbit/io/tflite.hpp"
#include "lastbit/json_value.hpp"
#include "lastbit/shrink.hpp"
#include "lastbit/version.hpp"

namespace lastbit {

namespace {

JsonValue size_to_json(const CaseSize& size) {
  return {{"multiply_accumulates", size.multiply_accumulates}, {"elements", size.elements}, {"nonzero", size.nonzero}};
}

constexpr const char* layer_file = "layer.json";

/// One backend's case: the layer and its inputs beside the file, and what this backend computes.
JsonValue case_to_json(const ShrunkCase& shrunk, const SpecSheet& sheet, const std::string& identifier) {
  const BackendReference reference = reference_to(sheet);
  JsonValue json{{"name", "on " + sheet.name}};
  json["backend"] = reference.name.empty() ? backend_file(identifier) : reference.name;
  for (const RuleText& rule : reference.settings) json["settings"][rule.path] = rule.value;
  json["model"] = layer_file;
  json["inputs"] = JsonValue::object();
  for (const std::int32_t input : shrunk.model.inputs)
    json["inputs"][shrunk.model.tensor(input).name] = shrunk.model.tensor(input).name + ".npy";
  const std::string& output = shrunk.model.tensor(shrunk.model.outputs[0]).name;
  json["expected"][output] = output + "_" + identifier + ".npy";
  return json;
}

std::string cases_text(const ShrunkCase& shrunk) {
  const auto [of_a, of_b] = identifiers_of(shrunk.a, shrunk.b);
  JsonValue json{{"format", "lastbit.cases.v1"}, {"suite", "shrunk"}};
  json["source"] = "lastbit " + std::string(version()) + " shrink";
  json["notes"] = origin_of(shrunk) + "; " + shrunk.cause.text();
  json["cases"] = {case_to_json(shrunk, shrunk.a, of_a), case_to_json(shrunk, shrunk.b, of_b)};
  return json.text(2) + "\n";
}

std::string size_text(const CaseSize& size) {
  const std::string nonzero = ", " + std::to_string(size.nonzero) + " numbers other than zero";
  if (size.multiply_accumulates > 0) return std::to_string(size.multiply_accumulates) + " multiply-accumulates" + nonzero;
  return std::to_string(size.elements) + " elements" + nonzero;
}

std::string value_text(const Tensor& tensor, std::int64_t index) {
  const auto at = static_cast<std::size_t>(index);
  return visit_element_type(tensor.type(), [&]<class T>() -> std::string {
    const T value = tensor.values<T>()[at];
    if constexpr (std::is_integral_v<T>) return std::to_string(value);
    else return JsonValue(static_cast<double>(value)).text();
  });
}

}  // namespace

std::string origin_of(const ShrunkCase& shrunk) {
  return layer_title(shrunk.operation, std::string(name_of(shrunk.kind())), shrunk.layer) + " of '" + shrunk.network + "', sample " +
         std::to_string(shrunk.sample) + ", value " + std::to_string(shrunk.position);
}

std::string to_json(const ShrunkCase& shrunk) {
  JsonValue json{{"network", shrunk.network},
                 {"layer", shrunk.layer},
                 {"number", shrunk.operation},
                 {"operation", name_of(shrunk.kind())},
                 {"sample", shrunk.sample}};
  json["value"] = shrunk.position;
  json["a"] = {{"backend", shrunk.a.name}, {"result", value_text(shrunk.of_a, shrunk.index)}};
  json["b"] = {{"backend", shrunk.b.name}, {"result", value_text(shrunk.of_b, shrunk.index)}};
  json["cause"] = JsonValue::array();
  for (const RuleChange& change : shrunk.cause.changes)
    json["cause"].push_back({{"name", change.name}, {"what", change.what}, {"rules", change.rules}});
  json["attributed"] = shrunk.cause.attributed;
  json["before"] = size_to_json(shrunk.before);
  json["after"] = size_to_json(shrunk.after);
  json["trials"] = shrunk.trials;
  json["model"] = JsonValue::parse(json_model_text(shrunk.model));
  return json.text(2) + "\n";
}

std::string to_text(const ShrunkCase& shrunk) {
  std::string text = origin_of(shrunk) + "\n";
  text += "  the layer    " + size_text(shrunk.before) + "\n";
  text += "  the case     " + size_text(shrunk.after) + " (" + std::to_string(shrunk.trials) + " trials)\n";
  for (const ModelTensor& tensor : shrunk.model.tensors) {
    const auto input = std::find(shrunk.model.inputs.begin(), shrunk.model.inputs.end(), &tensor - shrunk.model.tensors.data());
    const Tensor* const values = tensor.constant ? &*tensor.constant
                                 : input != shrunk.model.inputs.end()
                                     ? &shrunk.inputs[static_cast<std::size_t>(input - shrunk.model.inputs.begin())]
                                     : nullptr;
    std::string line = "  " + tensor.name;
    line.resize(std::max<std::size_t>(line.size() + 1, 15), ' ');
    text += line + std::string(name_of(tensor.type)) + " " + tensor.shape.text();
    if (tensor.quantization.present()) {
      text += ", scale " + JsonValue(tensor.quantization.scale()).text() + (tensor.quantization.per_channel() ? " and others" : "");
      text += ", zero point " + std::to_string(tensor.quantization.zero_point());
    }
    constexpr std::int64_t most = 8;
    for (std::int64_t i = 0; values != nullptr && i < std::min(values->element_count(), most); ++i)
      text += (i == 0 ? ": " : ", ") + value_text(*values, i);
    text += values != nullptr && values->element_count() > most ? ", …\n" : "\n";
  }
  const std::string at = shrunk.of_a.element_count() > 1 ? " (value " + std::to_string(shrunk.index) + ")" : "";
  text += "  " + shrunk.a.name + " computes " + value_text(shrunk.of_a, shrunk.index) + ", " + shrunk.b.name + " computes " +
          value_text(shrunk.of_b, shrunk.index) + at + "\n";
  return text + "  cause        " + shrunk.cause.text() + "\n";
}

std::optional<std::string> write_case(const std::filesystem::path& folder, const ShrunkCase& shrunk) {
  create_folder(folder);
  const auto [of_a, of_b] = identifiers_of(shrunk.a, shrunk.b);
  const std::string& output = shrunk.model.tensor(shrunk.model.outputs[0]).name;
  write_file(folder / layer_file, json_model_text(shrunk.model), {});
  write_file(folder / "cases.json", cases_text(shrunk), {});
  for (std::size_t i = 0; i < shrunk.inputs.size(); ++i)
    write_npy(folder / (shrunk.model.tensor(shrunk.model.inputs[i]).name + ".npy"), shrunk.inputs[i]);
  const auto write_side = [&](const SpecSheet& sheet, const std::string& identifier, const Tensor& result) {
    write_npy(folder / (output + "_" + identifier + ".npy"), result);
    const BackendReference reference = reference_to(sheet);
    if (reference.name.empty()) write_file(folder / backend_file(identifier), reference.json, {});
  };
  write_side(shrunk.a, of_a, shrunk.of_a);
  write_side(shrunk.b, of_b, shrunk.of_b);
  write_file(folder / "test_catch2.cpp", to_test(shrunk, TestFramework::catch2), {});
  write_file(folder / "test_googletest.cpp", to_test(shrunk, TestFramework::googletest), {});
  try {
    write_tflite(shrunk.model, folder / "layer.tflite");
  } catch (const Error& error) {
    return error.diagnostics().front().message;
  }
  return std::nullopt;
}

}  // namespace lastbit
