// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <exception>

#include "convert.hpp"
#include "lastbit/advise.hpp"
#include "lastbit/error.hpp"
#include "lastbit/identify.hpp"
#include "lastbit/misread.hpp"
#include "lastbit/quantizer.hpp"
#include "lastbit/ranges.hpp"
#include "lastbit/sums_on.hpp"
#include "lastbit/sweep.hpp"
#include "subjects.hpp"

namespace lastbit::python {
namespace {

namespace fs = std::filesystem;
using Arrays = std::vector<py::array>;

/// The report, the backend that was found, and whether the search came to an end.
py::tuple identify(const ModelPointer& model, const NamedTrace& board, const std::string& name, const std::optional<Device>& base,
                   std::size_t top, double most_seconds, bool as_is, int threads, const py::object& progress) {
  bool decided = false;
  Device device;
  Report report = released([&] {
    ReadDump read{.readings = board.readings};
    std::vector<Misread> unlike = find_misread(*model, board);
    for (const Misread& one : unlike) (one.certainty == Certainty::certain ? read.misread : read.suspected).push_back(text_of(one));
    if (!as_is) require_well_read(std::move(unlike));
    std::vector<SkippedPair> skipped;
    const std::vector<IdentifyPair> pairs = pairs_of(*model, board, &skipped);
    const Watch watch(progress);
    const auto found = std::make_shared<Identification>(
        lastbit::identify(pairs, {.runners_up = top, .most_seconds = most_seconds, .threads = threads, .progress = [&](double share) {
                                    watch(static_cast<std::size_t>(share * 100), 100);
                                  }}));
    found->skipped.insert(found->skipped.end(), skipped.begin(), skipped.end());
    device.sheet = identified_backend(*found, name, base ? &base->sheet : nullptr);
    const auto network = std::make_shared<const std::optional<Reproduction>>(reproduce(*model, board, device.sheet.backend));
    decided = found->decided();
    return Report{.json = [found, network, read] { return to_json(*found, *network, read); },
                  .text = [found, network](bool) { return to_text(*found) + to_text(**network); },
                  .csv = {},
                  .passes = found->exact() && (*network)->differing == 0};
  });
  return py::make_tuple(std::move(report), device, decided);
}

py::tuple quantize(const ModelPointer& model, const Device& device, const Arrays& arrays, const QuantizerOptions& options,
                   const std::string& ranges, int threads) {
  const auto samples = samples_from(*model, arrays);
  auto made = std::make_shared<Model>();
  Report report = released([&] {
    const RangeFile given = ranges.empty() ? RangeFile{} : read_ranges(ranges);
    QuantizationResult result = lastbit::quantize(*model, device.sheet, samples, options, threads, given).result;
    *made = std::move(result.model);
    const auto found = std::make_shared<const QuantizationReport>(std::move(result.report));
    return Report{
        .json = [found] { return to_json(*found); }, .text = [found](bool) { return to_text(*found); }, .csv = {}, .passes = true};
  });
  return py::make_tuple(std::move(report), made);
}

/// What a sweep's report refers to.
struct Swept {
  ModelPointer model;
  std::unique_ptr<Sweeper> sweeper;
  std::unique_ptr<SampleSource> source;
  std::unique_ptr<SweepState> state;
  std::string called, data;
  [[nodiscard]] SweepReport report() const { return {called, data, sweeper.get(), &state->statistics, state->samples()}; }
};

Report sweep(const ModelPointer& model, const std::string& called, const std::vector<Device>& devices, const std::vector<fs::path>& places,
             const std::string& data, bool golden, bool events, std::int64_t batch, const std::string& state, int threads,
             const py::object& progress) {
  return released([&] {
    const auto swept = std::make_shared<Swept>(Swept{model, {}, {}, {}, called, data});
    std::vector<SpecSheet> sheets;
    for (const Device& device : devices) sheets.push_back(device.on(*model));
    const SweepOptions options{
        .threads = threads, .batch = batch, .golden = golden ? Golden::with : Golden::without, .count_events = events};
    swept->sweeper = std::make_unique<Sweeper>(*model, std::move(sheets), options);
    swept->source = std::make_unique<SampleSource>(*model, places);
    swept->state = std::make_unique<SweepState>(state, *swept->sweeper, *swept->source);
    const Watch watch(progress);
    std::exception_ptr raised;  // between two batches, so that the state is kept
    const auto asked = [&] {
      try {
        watch(static_cast<std::size_t>(swept->state->statistics.samples.count()), static_cast<std::size_t>(swept->state->samples()));
      } catch (...) {
        raised = std::current_exception();
      }
      return raised != nullptr;
    };
    lastbit::sweep(*swept->state, *swept->sweeper, *swept->source, {.stop = asked});
    if (raised) std::rethrow_exception(raised);
    return Report{.json = [swept] { return to_json(swept->report()); },
                  .text = [swept](bool) { return to_text(swept->report()); },
                  .csv = [swept] { return to_csv(swept->report()); },
                  .passes = swept->report().equal()};
  });
}

AdviseOptions advise_options(std::size_t candidates, const std::string& objective, const std::string& at, double effort, int threads) {
  AdviseOptions options;
  options.candidates = candidates;
  options.judged_at = at;
  options.effort = effort;
  options.threads = threads;
  if (objective.empty()) return options;
  options.objective = objective_from(objective);
  if (!options.objective)
    throw Error(ErrorCode::bad_input, "objective", "'" + objective + "' is none of differing, cosine, top, distance, relative_error");
  return options;
}

/// Beside a device of float16 side a is float, or told so.
void refuse_floats(const Model& model, const Device& a, const Device& b) {
  b.refuse_floats(model);
  if (sums_on(model, b.sheet.backend).what != SumsOf::device_floats) a.refuse_floats(model);
}

Report advise(const ModelPointer& model, const std::string& called, const Device& a, const Device& b, const Arrays& arrays,
              std::size_t candidates, const std::string& objective, const std::string& at, double effort, int threads,
              const py::object& progress) {
  AdviseOptions options = advise_options(candidates, objective, at, effort, threads);
  const auto samples = samples_from(*model, arrays);
  const Watch watch(progress);
  options.progress = [&](std::string_view what, double done) { watch.tell(std::string(what), done); };
  return released([&] {
    refuse_floats(*model, a, b);
    const auto found = std::make_shared<AdviseReport>(lastbit::advise(*model, a.sheet, b.sheet, samples, options));
    found->model = called;
    return Report{.json = [found] { return to_json(*found); },
                  .text = [found](bool) { return to_text(*found); },
                  .csv = {},
                  .passes = found->equal()};
  });
}

py::tuple scales(const ModelPointer& model, const std::string& called, const Device& a, const Device& b, int threads,
                 const py::object& progress) {
  const Watch watch(progress);
  AdviseOptions options;
  options.threads = threads;
  options.progress = [&](std::string_view what, double done) { watch.tell(std::string(what), done); };
  const auto found = released([&] {
    refuse_floats(*model, a, b);
    return std::make_shared<EqualScales>(equal_scales(*model, a.sheet, b.sheet, options));
  });
  found->network = called;
  Report report{.json = [found] { return to_json(*found); },
                .text = [found](bool) { return to_text(*found); },
                .csv = {},
                .passes = found->layers.empty() && found->open.empty()};
  return py::make_tuple(std::move(report), std::make_shared<Model>(found->model));
}

}  // namespace

void add_searches(py::module_& module) {
  module.def("identify", &identify);
  module.def("quantize", &quantize);
  module.def("sweep", &sweep);
  module.def("advise", &advise);
  module.def("equal_scales", &scales);
}

}  // namespace lastbit::python
