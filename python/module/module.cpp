// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// lastbit._lastbit: the library as Python sees it. The package around it (python/lastbit) gives it names, defaults and documentation.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <array>

#include "lastbit/error.hpp"
#include "lastbit/memory.hpp"
#include "lastbit/version.hpp"
#include "subjects.hpp"

namespace lastbit::python {
namespace {

std::string_view name_of(ErrorCode code) {
  constexpr std::array<std::string_view, 11> names{"unreadable_file",       "malformed_file", "unknown_backend", "unknown_rule",
                                                   "unsupported_operation", "shape_mismatch", "type_mismatch",   "bad_quantization",
                                                   "bad_attribute",         "bad_input",      "unavailable_path"};
  return names[static_cast<std::size_t>(code)];
}

/// Raises lastbit.Error, or one derived from it, with all diagnostics.
void raise(const Error& error, const char* name) {
  const py::object type = py::module_::import("lastbit.errors").attr(name);
  py::list diagnostics;
  for (const Diagnostic& each : error.diagnostics()) diagnostics.append(py::make_tuple(name_of(each.code), each.where, each.message));
  const py::object raised = type(diagnostics);
  PyErr_SetObject(type.ptr(), raised.ptr());
}

}  // namespace

void add_errors(py::module_&) {
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const MemoryRefused& error) {
      raise(error, "MemoryRefused");
    } catch (const Error& error) {
      raise(error, "Error");
    }
  });
}

PYBIND11_MODULE(_lastbit, module) {
  module.doc() = "What an NPU computes, to the last bit: the compiled part of the package lastbit.";
  module.attr("version") = version();
  module.def("set_memory_budget", &set_memory_budget, py::arg("bytes"));
  add_errors(module);
  add_models(module);
  add_backends(module);
  add_runs(module);
  add_layers(module);
  add_comparisons(module);
  add_proofs(module);
  add_searches(module);
}

}  // namespace lastbit::python
