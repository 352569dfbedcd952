// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <algorithm>

#include "convert.hpp"
#include "lastbit/certify.hpp"
#include "lastbit/error.hpp"
#include "lastbit/matrix.hpp"
#include "lastbit/prove.hpp"
#include "subjects.hpp"

namespace lastbit::python {
namespace {

using Arrays = std::vector<py::array>;

InputRange range_from(const std::string& range) {
  if (range != "type" && range != "data") throw Error(ErrorCode::bad_input, "input_range", "'" + range + "' is neither 'type' nor 'data'");
  return range == "data" ? InputRange::data : InputRange::type;
}

AssumptionsAre assumptions(bool are_accepted) { return are_accepted ? AssumptionsAre::accepted : AssumptionsAre::named; }

Report certify(const ModelPointer& model, const std::string& called, const Device& a, const Device& b, const Arrays& arrays,
               const std::string& range, const std::optional<std::string>& layer, bool accept, int threads, const py::object& progress) {
  const std::vector<Tensor> inputs = inputs_from(*model, arrays);
  const AssumptionsAre are = assumptions(accept);
  return released([&] {
    const SpecSheet side_a = a.on(*model), side_b = b.on(*model);
    const auto found = std::make_shared<Certificate>(
        lastbit::certify(*model, side_a, side_b, inputs, {range_from(range), layer, threads, Watch(progress), called}));
    return with_placements({.json = [found] { return to_json(*found); },
                            .text = [found, are](bool) { return to_text(*found, {}, are); },
                            .csv = {},
                            .passes = found->holds(are)},
                           *model, {side_a, side_b});
  });
}

/// What does not hold of a certificate; empty: it holds.
std::vector<std::string> check(const std::filesystem::path& file, const ModelPointer& model, const std::string& called, const Device& a,
                               const Device& b, const Arrays& arrays, int threads, const py::object& progress) {
  const std::vector<Tensor> inputs = inputs_from(*model, arrays);
  return released([&] {
    const CertifyOptions options{.threads = threads, .on_progress = Watch(progress), .called = called};
    return check_certificate(file, *model, a.on(*model), b.on(*model), inputs, options).wrong;
  });
}

Report prove(const ModelPointer& model, const std::string& called, const Device& device, const Arrays& arrays, const std::string& range,
             const std::optional<int>& bits, const std::optional<std::string>& layer, bool accept, int threads,
             const py::object& progress) {
  const std::vector<Tensor> inputs = inputs_from(*model, arrays);
  const AssumptionsAre are = assumptions(accept);
  return released([&] {
    const SpecSheet side = device.on(*model);
    const auto found =
        std::make_shared<ProveReport>(lastbit::prove(*model, side, inputs, {range_from(range), bits, layer, threads, Watch(progress)}));
    found->model = called;
    if (found->layers.empty() && !found->float16)
      throw Error(ErrorCode::bad_input, called, "nothing was proven: no operation adds anything up in " + side.name + "'s arithmetic");
    return with_placements({.json = [found] { return to_json(*found); },
                            .text = [found, are](bool) { return to_text(*found, {}, are); },
                            .csv = {},
                            .passes = found->holds(are)},
                           *model, {side});
  });
}

Report matrix(const ModelPointer& model, const std::string& called, const std::vector<Device>& devices, bool refuse, const Arrays& arrays,
              bool accept, int threads, const py::object& progress) {
  const std::vector<Tensor> inputs = inputs_from(*model, arrays);
  const AssumptionsAre are = assumptions(accept);
  return released([&] {
    std::vector<SpecSheet> sheets;
    std::vector<std::string> left_out;
    for (const Device& device : devices) {
      if (!refuse && device.refusal_of(*model)) left_out.push_back(device.sheet.name);
      else sheets.push_back(device.on(*model));
    }
    const auto found = std::make_shared<Matrix>(lastbit::matrix(*model, sheets, inputs, {threads, Watch(progress)}));
    found->model = called;
    for (const std::string& name : left_out) found->left_out.emplace_back(name, "a float network, of which it computes no sum");
    return Report{.json = [found] { return to_json(*found); },
                  .text = [found, are](bool) { return to_text(*found, are); },
                  .csv = [found] { return to_csv(*found); },
                  .passes = found->holds(are)};
  });
}

}  // namespace

void add_proofs(py::module_& module) {
  module.def("certify", &certify);
  module.def("check_certificate", &check);
  module.def("prove", &prove);
  module.def("matrix", &matrix);
}

}  // namespace lastbit::python
