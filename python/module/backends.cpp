// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include "lastbit/backends_page.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/error.hpp"
#include "lastbit/json_value.hpp"
#include "lastbit/one_operation.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rule_enumerations.hpp"
#include "lastbit/rules.hpp"
#include "lastbit/sums_on.hpp"
#include "subjects.hpp"

namespace lastbit::python {
namespace {

py::list list_backends() {
  py::list list;
  for (const SpecSheet& sheet : builtin_backends()) {
    const EvidenceRange range = evidence_range(sheet);
    list.append(py::make_tuple(sheet.name, sheet.title, name_of(range.strongest), name_of(range.weakest)));
  }
  return list;
}

/// All that is wrong is told at once, and the name tells what was set.
Device with_rules(Device device, const std::vector<std::pair<std::string, std::string>>& rules) {
  std::vector<Diagnostic> problems;
  for (const auto& [path, value] : rules) {
    try {
      set_rule(device.sheet.backend, path, value);
      if (device.sheet.origin.empty()) device.sheet.origin = device.sheet.name;
      device.sheet.name += " " + path + "=" + value;
    } catch (const Error& error) {
      for (const Diagnostic& each : error.diagnostics()) problems.push_back(each);
    }
  }
  if (!problems.empty()) throw Error(std::move(problems));
  return device;
}

Device with_others(Device device, const std::vector<Device>& fallbacks,
                   const std::vector<std::pair<std::vector<std::string>, Device>>& kept, bool allow_float) {
  device.allow_float = device.allow_float || allow_float;
  for (const Device& other : fallbacks) device.fallbacks.push_back(other.sheet);
  for (const auto& [layers, other] : kept) device.kept.emplace_back(layers, other.sheet);
  return device;
}

py::list rules_of(const Device& device) {
  py::list list;
  for (const RuleText& rule : list_rules(device.sheet.backend)) {
    const Evidence* evidence = evidence_for(device.sheet, rule.path);
    const py::object level = evidence == nullptr ? py::object(py::none()) : py::object(py::str(std::string(name_of(evidence->level))));
    list.append(py::make_tuple(rule.path, rule.value, level, evidence == nullptr ? std::string() : evidence->source));
  }
  return list;
}

/// [(name, [(value, meaning)])]
py::list enumerations() {
  py::list list;
  for (const RuleEnumeration& enumeration : rule_enumerations()) {
    py::list values;
    for (std::size_t i = 0; i < enumeration.values.size(); ++i)
      values.append(py::make_tuple(enumeration.values[i], enumeration.meanings[i]));
    list.append(py::make_tuple(enumeration.name, values));
  }
  return list;
}

py::list differences_of(const Device& a, const Device& b) {
  py::list list;
  for (const RuleDifference& rule : diff_backends(a.sheet.backend, b.sheet.backend)) list.append(py::make_tuple(rule.path, rule.a, rule.b));
  return list;
}

py::list problems_of(const Device& device, const Model& model) {
  py::list list;
  std::vector<Diagnostic> problems = check(model, device.placed_on(model).backend);
  if (const auto refusal = problems.empty() ? device.refusal_of(model) : std::nullopt) problems.push_back(*refusal);
  for (const Diagnostic& each : problems) list.append(py::make_tuple(each.where, each.message));
  return list;
}

std::vector<std::string> lines_of(const Model& model, const std::vector<SpecSheet>& sheets) {
  std::vector<std::string> lines;
  for (const SpecSheet& sheet : sheets)
    for (std::string& line : computed_elsewhere(model, sheet)) lines.push_back(std::move(line));
  return lines;
}

}  // namespace

SpecSheet Device::worded_on(const Model& model) const {
  std::vector<Placement> placements;
  for (const auto& [names, other] : kept) {
    std::vector<std::string> layers;
    for (const std::string& name : names) layers.push_back(layer_name(model, operation_called(model, name, "keep")));
    placements.push_back({other, std::move(layers)});
  }
  for (const SpecSheet& other : fallbacks) placements.push_back({other, {}});
  SpecSheet placed = sheet;
  placed.backend.elsewhere = Placements(std::move(placements));
  return placed;
}

SpecSheet Device::placed_on(const Model& model) const {
  SpecSheet placed = worded_on(model);
  if (check(model, placed.backend).empty()) placed.backend.elsewhere = placements_for(model, placed.backend);
  return placed;
}

/// Before the fallbacks are resolved: they say whether float computes every sum.
std::optional<Diagnostic> Device::refusal_of(const Model& model) const {
  if (allow_float || !computes_no_sum(model, worded_on(model).backend)) return {};
  const std::string where = is_float_network(model) ? "float network" : "fallback would compute every sum in float";
  const std::string way = sheet.quantizer.empty()
                              ? sheet.name + " computes codes, and lastbit has no quantiser for it: quantise it with the vendor's tools"
                              : "prepare it: lastbit.quantize(model, '" + sheet.name + "', samples).model";
  return Diagnostic{ErrorCode::bad_input, where, way + "; or lastbit.backend(…, allow_float=True)"};
}

void Device::refuse_floats(const Model& model) const {
  if (auto refusal = refusal_of(model)) throw Error(std::vector<Diagnostic>{std::move(*refusal)});
}

SpecSheet Device::on(const Model& model) const {
  refuse_floats(model);
  return placed_on(model);
}

Report with_placements(Report report, const Model& model, const std::vector<SpecSheet>& sheets) {
  const std::vector<std::string> lines = lines_of(model, sheets);
  if (lines.empty()) return report;
  std::string behind;
  for (const std::string& line : lines) behind += line + "\n";
  report.json = [lines, json = std::move(report.json)] {
    JsonValue value = JsonValue::parse(json());
    value["elsewhere"] = lines;
    return value.text(2) + "\n";
  };
  report.text = [behind, text = std::move(report.text)](bool details) { return text(details) + behind; };
  return report;
}

void add_backends(py::module_& module) {
  py::class_<Device>(module, "Device")
      .def_property_readonly("name", [](const Device& device) { return device.sheet.name; })
      .def_property_readonly("title", [](const Device& device) { return device.sheet.title; })
      .def_property_readonly("quantizer", [](const Device& device) { return device.sheet.quantizer; })
      .def_property_readonly("is_integer", [](const Device& device) { return device.sheet.backend.domain == Domain::integer; })
      .def("with_rules", &with_rules)
      .def("with_others", &with_others)
      .def("rules", &rules_of)
      .def("problems", &problems_of)
      .def("describe", [](const Device& device) { return describe(device.sheet); })
      .def("json", [](const Device& device) { return backend_to_json(device.sheet); });
  module.def("backends", &list_backends);
  module.def("find_backend", [](const std::string& name) { return Device{.sheet = find_backend(name)}; });
  module.def("parse_backend", [](const std::string& json) { return Device{.sheet = backend_from_json(json, "backend")}; });
  module.def("diff_backends", &differences_of);
  module.def("rules_page", &rules_page);
  module.def("rule_enumerations", &enumerations);
}

}  // namespace lastbit::python
