// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include "convert.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/one_operation.hpp"
#include "lastbit/operation_rules.hpp"
#include "lastbit/real_inputs.hpp"
#include "subjects.hpp"

namespace lastbit::python {
namespace {

/// A network prepared for a device; it keeps the network.
struct Runner {
  ModelPointer model;
  SpecSheet sheet;
  Emulator emulator;
};

std::unique_ptr<Runner> prepare(const ModelPointer& model, const Device& device) {
  return released([&] {
    SpecSheet sheet = device.on(*model);
    Emulator emulator(*model, sheet.backend);
    return std::make_unique<Runner>(Runner{model, std::move(sheet), std::move(emulator)});
  });
}

/// [(tensor's index, name, array)] in the order of the model's tensors.
py::list arrays_of(const Model& model, std::vector<std::optional<Tensor>>& tensors) {
  py::list arrays;
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i]) arrays.append(py::make_tuple(i, model.tensors[i].name, array_of(std::move(*tensors[i]))));
  return arrays;
}

py::list events_of(const Model& model, const std::vector<Events>& events) {
  py::list list;
  for (std::size_t i = 0; i < events.size(); ++i)
    list.append(py::make_tuple(layer_name(model, i), events[i].accumulator_overflows, events[i].saturated_outputs, events[i].outputs,
                               events[i].saturated_stages, events[i].wrapped_stages));
  return list;
}

py::list assumptions_of(const Runner& runner) {
  py::list list;
  for (const Assumption& assumption : lastbit::assumptions_of(runner.emulator.model(), runner.sheet))
    list.append(py::make_tuple(assumption.rule, assumption.source));
  return list;
}

/// Members of the command line's "real_inputs", and what it prints of them.
py::list real_inputs_of(const std::vector<RealInput>& inputs) {
  py::list list;
  for (const RealInput& input : inputs)
    list.append(py::make_tuple(input.name, input.least, input.largest, input.lowest, input.highest, input.codes_used, input.codes,
                               input.clipped, input.values, input.suspicion(), text_of(input)));
  return list;
}

py::tuple run(const Runner& runner, const std::vector<py::array>& arrays, int threads, bool keep_all, bool count_events,
              bool reset_states) {
  const Model& model = runner.emulator.model();
  const Views inputs = views_from(*runner.model, arrays);
  const RunOptions how{.threads = threads,
                       .keep_all = keep_all,
                       .count_events = count_events,
                       .states = reset_states ? StatesBetweenSamples::reset : StatesBetweenSamples::carried};
  Trace trace = released([&] { return runner.emulator.run(inputs.tensors, how); });
  const std::vector<RealInput> given = released([&] { return real_inputs(*runner.model, runner.sheet.backend, inputs.tensors); });
  const py::list events = events_of(model, trace.events);
  return py::make_tuple(arrays_of(model, trace.tensors), trace.path, events, real_inputs_of(given));
}

}  // namespace

void add_runs(py::module_& module) {
  py::class_<Runner>(module, "Runner")
      .def(py::init(&prepare))
      .def("run", &run)
      .def("assumptions", &assumptions_of)
      .def_property_readonly("backend", [](const Runner& runner) { return runner.sheet.name; })
      .def_property_readonly("elsewhere", [](const Runner& runner) { return computed_elsewhere(*runner.model, runner.sheet); });
  module.def("host_path", &host_path);
  module.def("host_paths", &available_host_paths);
}

}  // namespace lastbit::python
