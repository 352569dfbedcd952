// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <algorithm>

#include "convert.hpp"
#include "lastbit/compare.hpp"
#include "lastbit/dump.hpp"
#include "lastbit/error.hpp"
#include "lastbit/explain.hpp"
#include "lastbit/misread.hpp"
#include "lastbit/tolerance.hpp"
#include "subjects.hpp"

namespace lastbit::python {
namespace {

using Arrays = std::vector<py::array>;

/// A board's dump, read.
NamedTrace read_board(const std::filesystem::path& folder, const ModelPointer& model, const std::map<std::string, std::string>& names,
                      const std::string& layout) {
  return released([&] { return read_dump(folder, *model, {.layout = layout, .names = names}); });
}

Report report_of(CompareReport&& found) {
  const auto report = std::make_shared<const CompareReport>(std::move(found));
  return {.json = [report] { return to_json(*report); },
          .text = [report](bool details) { return to_text(*report, details ? Detail::everything : Detail::summary); },
          .csv = [report] { return to_csv(*report); },
          .passes = report->equal(),
          .comparison = report};
}

CompareOptions options_from(bool golden, int threads, const std::string& required) {
  CompareOptions options{.golden = golden ? Golden::with : Golden::without, .threads = threads};
  if (!required.empty()) options.required = dump_requirement_from(required, "require " + required);
  return options;
}

Report compare(const ModelPointer& model, const std::string& called, const Device& a, const Device& b, const Arrays& arrays, bool golden,
               int threads) {
  const std::vector<Tensor> inputs = inputs_from(*model, arrays);
  return released([&] {
    CompareReport report = compare_backends(*model, a.on(*model), b.on(*model), inputs, options_from(golden, threads, {}));
    report.model = called;
    return report_of(std::move(report));
  });
}

Report compare_board(const ModelPointer& model, const std::string& called, const NamedTrace& board, const std::string& board_called,
                     const Device& b, const Arrays& arrays, bool golden, int threads, const std::string& required) {
  const std::vector<Tensor> inputs = inputs_from(*model, arrays);
  return released([&] {
    CompareReport report = compare_with_dump(*model, board, b.on(*model), inputs, options_from(golden, threads, required));
    report.a = board_called;
    report.model = called;
    const bool differs = report.first_divergence() != nullptr;
    add_misread(report, differs ? find_misread(*model, board) : find_misshapen(*model, board));
    return report_of(std::move(report));
  });
}

Report compare_folders(const std::filesystem::path& a, const std::filesystem::path& b) {
  return released([&] {
    CompareReport report = compare_traces(read_trace(a), read_trace(b));
    report.a += " (" + a.string() + ")";
    report.b += " (" + b.string() + ")";
    return report_of(std::move(report));
  });
}

/// [(layer, reason)] of what is outside, and how many tensors are within.
py::tuple within(const Report& report, std::optional<std::int64_t> max_lsb, std::optional<double> max_share,
                 std::optional<double> min_cosine) {
  if (!report.comparison) throw Error(ErrorCode::bad_input, "within", "a tolerance is for what compare() returns");
  Tolerances tolerances;
  tolerances.all = {max_lsb, max_share, min_cosine};
  const ToleranceVerdict verdict = judge(*report.comparison, tolerances);
  py::list outside;
  for (const auto& tensor : verdict.outside) outside.append(py::make_tuple(tensor.name, tensor.reason));
  return py::make_tuple(outside, verdict.within);
}

Report explain(const ModelPointer& model, const std::string& called, const Device& a, const Device& b, const Arrays& arrays,
               const std::optional<std::string>& layer, std::size_t top, int threads) {
  const std::vector<Tensor> inputs = inputs_from(*model, arrays);
  return released([&] {
    const SpecSheet side_a = a.on(*model), side_b = b.on(*model);
    const auto found =
        std::make_shared<ExplainReport>(explain_network(*model, inputs, side_a, side_b, {.layer = layer, .top = top, .threads = threads}));
    found->model = called;
    Report report{.json = [found] { return to_json(*found); }, .text = [found](bool) { return to_text(*found); }};
    report.passes = std::ranges::all_of(found->layers, [](const auto& each) { return each.differing.empty(); });
    return with_placements(std::move(report), *model, {side_a, side_b});
  });
}

Report explain_board(const ModelPointer& model, const std::string& called, const NamedTrace& board, const std::string& board_called,
                     const Device& device, const Arrays& arrays, const std::optional<std::string>& layer, int threads) {
  const std::vector<Tensor> inputs = inputs_from(*model, arrays);
  return released([&] {
    const SpecSheet side = device.on(*model);
    const auto found = std::make_shared<DumpReport>(explain_dump(*model, board, side, inputs, {.layer = layer, .threads = threads}));
    found->model = called;
    found->dump = board_called;
    Report report{.json = [found] { return to_json(*found); }, .text = [found](bool) { return to_text(*found); }};
    report.passes = found->one_device && std::ranges::all_of(found->layers, [](const auto& each) { return each.differing == 0; });
    return with_placements(std::move(report), *model, {side});
  });
}

}  // namespace

void add_comparisons(py::module_& module) {
  py::class_<NamedTrace>(module, "Board")
      .def_readonly("readings", &NamedTrace::readings)
      .def_readonly("unfit", &NamedTrace::unfit)
      .def("tensors", [](const NamedTrace& board) {
        py::list names;
        for (const NamedTensor& tensor : board.tensors) names.append(tensor.name);
        return names;
      });
  module.def("read_board", &read_board);
  module.def("compare", &compare);
  module.def("compare_board", &compare_board);
  module.def("compare_folders", &compare_folders);
  module.def("within", &within);
  module.def("explain", &explain);
  module.def("explain_board", &explain_board);
}

}  // namespace lastbit::python
