// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include <map>
#include <string>
#include <utility>

#include "convert.hpp"
#include "lastbit/layer.hpp"
#include "subjects.hpp"

namespace lastbit::python {
namespace {

/// One layer as its JSON describes it (docs/case-format.md), with arrays by the names of its files: its outputs in the user's layout.
py::list run_layer(const std::string& json, const std::map<std::string, py::array>& arrays, const Device& device) {
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, values] : arrays) tensors.emplace(name, tensor_from(values, name));
  Layer layer;
  std::vector<Tensor> outputs;
  released([&] {
    const LayerDescription description = parse_layer_of_arrays(
        json, [&](const std::string& name) { return std::move(tensors.at(name)); }, "layer");
    layer = make_layer(description, device.sheet.backend);
    const Trace trace = lastbit::run(layer.model, device.placed_on(layer.model).backend, layer.inputs);
    for (const std::int32_t output : layer.model.outputs)
      outputs.push_back(in_users_layout(layer, *trace.tensors[static_cast<std::size_t>(output)]));
  });
  py::list results;
  for (Tensor& output : outputs) results.append(array_of(std::move(output)));
  return results;
}

}  // namespace

void add_layers(py::module_& module) { module.def("run_layer", &run_layer); }

}  // namespace lastbit::python
