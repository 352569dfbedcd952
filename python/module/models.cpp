// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include "convert.hpp"
#include "lastbit/error.hpp"
#include "lastbit/info.hpp"
#include "lastbit/io/json_model.hpp"
#include "lastbit/io/model_file.hpp"
#include "lastbit/io/tflite.hpp"
#include "lastbit/one_operation.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/samples.hpp"
#include "subjects.hpp"

namespace lastbit::python {
namespace {

namespace fs = std::filesystem;

ModelPointer load(const fs::path& file, const std::map<std::string, std::vector<std::int64_t>>& shapes,
                  const std::map<std::string, py::array>& constants, std::vector<std::string> from, std::vector<std::string> to) {
  ModelOptions options;
  for (const auto& [name, sizes] : shapes) options.shapes.emplace(name, Shape(sizes));
  for (const auto& [name, values] : constants) options.constants.emplace(name, tensor_from(values, "constant '" + name + "'"));
  options.cut = {std::move(from), std::move(to)};
  return released([&] { return std::make_shared<Model>(read_model(file, options)); });
}

void write(const Model& model, const fs::path& file) {
  if (file.extension() == ".tflite") write_tflite(model, file);
  else if (file.extension() == ".json") write_json_model(file, model);
  else throw Error(ErrorCode::bad_input, file.string(), "a model is written as .json or .tflite");
}

std::vector<std::string> names_of(const Model& model, const std::vector<std::int32_t>& tensors) {
  std::vector<std::string> names;
  for (const std::int32_t each : tensors) names.push_back(each == absent_tensor ? std::string() : model.tensor(each).name);
  return names;
}

py::tuple facts_of(const ModelTensor& tensor) {
  const Quantization& codes = tensor.quantization;
  return py::make_tuple(tensor.name, name_of(tensor.type), shape_of(tensor.shape), codes.scales, codes.zero_points, codes.axis,
                        tensor.constant.has_value());
}

py::list tensors_of(const Model& model) {
  py::list list;
  for (const ModelTensor& tensor : model.tensors) list.append(facts_of(tensor));
  return list;
}

py::list operations_of(const Model& model) {
  py::list list;
  for (std::size_t i = 0; i < model.operations.size(); ++i) {
    const Operation& operation = model.operations[i];
    list.append(py::make_tuple(i, layer_name(model, i), name_of(operation.kind), operation.name, names_of(model, operation.inputs),
                               names_of(model, operation.outputs)));
  }
  return list;
}

py::object constant_of(const py::object& owner, const std::string& name) {
  const auto& model = owner.cast<const Model&>();
  const auto index = model.find_tensor(name);
  if (!index || !model.tensor(*index).constant) throw py::key_error(name);
  return view_of(*model.tensor(*index).constant, owner);
}

Report info(const ModelPointer& model, const std::vector<Device>& devices) {
  std::vector<SpecSheet> sheets;
  for (const Device& device : devices) sheets.push_back(device.sheet);
  const auto found =
      released([&] { return std::make_shared<NetworkInfo>(network_info(*model, sheets.empty() ? builtin_backends() : sheets)); });
  return {.json = [found] { return to_json(*found); }, .text = [found](bool) { return to_text(*found); }, .csv = {}, .passes = true};
}

/// Files and folders of samples (samples.hpp): all of them, as a batch.
py::list read_places(const Model& model, const std::vector<fs::path>& places, std::int64_t most) {
  auto inputs = released([&] {
    SampleSource source(model, places);
    return source.read(0, most > 0 ? std::min(most, source.samples()) : source.samples());
  });
  py::list arrays;
  for (Tensor& input : inputs) arrays.append(array_of(std::move(input)));
  return arrays;
}

}  // namespace

void add_models(py::module_& module) {
  py::class_<Report>(module, "Report")
      .def("json", [](const Report& report) { return released(report.json); })
      .def("text", [](const Report& report, bool details) { return released([&] { return report.text(details); }); })
      .def("csv", [](const Report& report) { return report.csv ? released(report.csv) : std::string(); })
      .def_readonly("passes", &Report::passes);
  py::class_<Model, ModelPointer>(module, "Model")
      .def_readonly("name", &Model::name)
      .def("inputs", [](const Model& model) { return names_of(model, model.inputs); })
      .def("outputs", [](const Model& model) { return names_of(model, model.outputs); })
      .def("tensors", &tensors_of)
      .def("operations", &operations_of)
      .def("constant", &constant_of)
      .def("json", [](const Model& model) { return json_model_text(model); })
      .def("write", &write);
  module.def("load_model", &load);
  module.def("parse_model", [](const std::string& text, const fs::path& folder) {
    return released([&] { return std::make_shared<Model>(parse_json_model(text, folder, "model")); });
  });
  module.def("info", &info);
  module.def("places_of_inputs", &places_of_inputs);
  module.def("read_places", &read_places);
}

}  // namespace lastbit::python
