// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include "convert.hpp"
#include "lastbit/layer.hpp"
#include "subjects.hpp"

namespace lastbit::python {
namespace {

/// One layer as its JSON describes it (docs/case-format.md), its files in `folder`: the model, its inputs, its outputs in the user's layout.
py::tuple run_layer(const std::string& json, const std::filesystem::path& folder, const Device& device) {
  auto layer = std::make_shared<Layer>();
  std::vector<Tensor> outputs;
  released([&] {
    const LayerDescription description = parse_layer(json, folder, "layer");
    *layer = make_layer(description, device.sheet.backend);
    const Trace trace = lastbit::run(layer->model, device.on(layer->model).backend, layer->inputs);
    for (const std::int32_t output : layer->model.outputs)
      outputs.push_back(in_users_layout(*layer, *trace.tensors[static_cast<std::size_t>(output)]));
  });
  py::list inputs, results;
  for (const Tensor& input : layer->inputs) inputs.append(array_of(input));
  for (Tensor& output : outputs) results.append(array_of(std::move(output)));
  return py::make_tuple(ModelPointer(layer, &layer->model), inputs, results);
}

}  // namespace

void add_layers(py::module_& module) { module.def("run_layer", &run_layer); }

}  // namespace lastbit::python
