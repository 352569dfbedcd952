// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/compare.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>

#include "backend_option.hpp"
#include "common_options.hpp"
#include "dump_option.hpp"
#include "html_option.hpp"
#include "lastbit/error.hpp"
#include "lastbit/io/model_file.hpp"
#include "lastbit/io/output.hpp"
#include "lastbit/json_value.hpp"
#include "lastbit/misread.hpp"
#include "lastbit/quantizer.hpp"
#include "layer_plot.hpp"
#include "log.hpp"
#include "memory_option.hpp"
#include "model_inputs.hpp"
#include "model_option.hpp"
#include "output_option.hpp"
#include "placement_option.hpp"
#include "problem.hpp"
#include "report/documents.hpp"
#include "subcommand.hpp"
#include "tolerance_option.hpp"
#include "view_option.hpp"

namespace lastbit::tool {
namespace {

namespace fs = std::filesystem;

struct CompareArguments {
  std::vector<std::string> subjects;
  ChosenBackend a, b;
  ChosenBackend known;  ///< beside a dump
  std::vector<std::string> inputs;
  std::string dump, required;
  std::string csv, junit;
  ToleranceRequest tolerances;
  ViewRequest view{};
  int threads = 1;
  bool golden = false;
  bool details = false;
  std::filesystem::path plot{}, html{};
  bool json = false;
};

CompareOptions compare_options(const CompareArguments& options) {
  CompareOptions how{.golden = options.golden ? Golden::with : Golden::without, .threads = options.threads};
  if (!options.required.empty()) how.required = dump_requirement_from(options.required, "--require " + options.required);
  return how;
}

/// A comparison, and the model that it is of, where one is at hand.
struct Compared {
  CompareReport report;
  std::optional<Model> model{};
  std::string note{};  ///< on the same dump and another model of the network
};

/// Of two folders, the models that made them need not be at hand.
Compared compare_folders(const CompareArguments& options) {
  const bool needs_model =
      options.a.given() || options.b.given() || options.known.given() || !options.inputs.empty() || !options.dump.empty() || options.golden;
  refuse_if("compare", needs_model || !options.required.empty(), "two traces take no backend, input, setting or dump");
  CompareReport report = compare_traces(read_trace(options.subjects[0]), read_trace(options.subjects[1]));
  report.a += " (" + options.subjects[0] + ")";
  report.b += " (" + options.subjects[1] + ")";
  return {std::move(report)};
}

std::int64_t differing_tensors(const CompareReport& report) {
  return std::ranges::count_if(report.layers, [](const LayerDifference& layer) { return layer.accumulated.differing > 0; });
}

/// Where the vendor's compiler is known to make another model of such a network, and that one is nearer to the dump.
std::string note_on_compiler(const CompareReport& report, const Model& model, const NamedTrace& dump, const SpecSheet& b,
                             const std::vector<Tensor>& inputs, const CompareOptions& how) {
  const auto other = compiled_otherwise(model, b);
  if (!other) return {};
  const CompareReport there = compare_with_dump(other->model, dump, b, inputs, how);
  if (differing_tensors(there) >= differing_tensors(report)) return {};
  const std::string made = other->option.empty() ? "" : "; quantize --set " + other->option + " makes that model";
  return other->what + ": read so, " + std::to_string(differing_tensors(there)) + " of the dump's tensors differ, not " +
         std::to_string(differing_tensors(report)) + made;
}

Compared compare_dump(const CompareArguments& options) {
  refuse_if("compare", options.a.given(), "with --dump, side a is the dump: --a and --set-a mean nothing");
  Model model = read_users_model(options.subjects[0]);
  const SpecSheet b = with_placements(reported_backend(options.b.name, options.b.settings), {model, options.subjects[0]});
  const std::vector<Tensor> inputs = options.inputs.empty() ? std::vector<Tensor>() : read_inputs(model, options.inputs);
  const NamedTrace dump = read_given_dump(options.dump, model, inputs);
  CompareReport report = compare_with_dump(model, dump, b, inputs, compare_options(options));
  report.a = options.dump;
  const bool differs = report.first_divergence() != nullptr;  // what differs nowhere can only be of another shape
  add_misread(report, differs ? find_misread(model, dump) : find_misshapen(model, dump));
  std::string note = differs ? note_on_compiler(report, model, dump, b, inputs, compare_options(options)) : "";
  return {std::move(report), std::move(model), std::move(note)};
}

Compared compare_runs(const CompareArguments& options) {
  refuse_if("compare", options.known.given(), "--backend stands beside --dump; two backends are --a and --b");
  refuse_if("compare", options.b.name.empty(), "--b is needed: the backend to judge");
  refuse_if("compare", options.a.name.empty(), "--a is needed: the backend that side b is compared with (or --dump, or two traces)");
  Model model = read_users_model(options.subjects[0]);
  const auto [a, b] = placed_sides(options.a, options.b, {model, options.subjects[0]});
  CompareReport report = compare_backends(model, a, b, read_inputs(model, options.inputs), compare_options(options));
  return {std::move(report), std::move(model)};
}

Compared compare(CompareArguments& options) {
  if (options.subjects.size() == 2) return compare_folders(options);
  refuse_if("compare", fs::is_directory(options.subjects[0]), options.subjects[0] + " is a folder: two traces are needed, or a model");
  if (!options.dump.empty()) take_known_backend("compare", options.b, options.known);
  refuse_if("compare", options.dump.empty() && !options.required.empty(), "--require says how much of a --dump must be there");
  Compared compared = options.dump.empty() ? compare_runs(options) : compare_dump(options);
  compared.report.model = options.subjects[0];
  return compared;
}

std::string title_of(const ToleranceVerdict::Outside& tensor) {
  return (tensor.number ? "layer " + std::to_string(*tensor.number) + " " : "") + "'" + tensor.name + "'";
}

/// What was asked for: with tolerances whether they are kept, without whether all is equal.
struct Verdict {
  bool passes = false;
  std::optional<ToleranceVerdict> tolerated{};
};

Verdict verdict_of(const CompareReport& report, const CompareArguments& options) {
  const Tolerances tolerances = tolerances_from(options.tolerances);
  if (!options.tolerances.given()) return {report.equal()};
  ToleranceVerdict tolerated = judge(report, tolerances);
  const bool well_read = report.misread.empty() && (!report.match || report.match->enough());
  return {tolerated.outside.empty() && well_read, std::move(tolerated)};
}

/// Never "equal" where something differs.
std::string text_of(const ToleranceVerdict& verdict, std::size_t tensors) {
  const auto counted = [](std::size_t count) { return std::to_string(count) + (count == 1 ? " tensor differs" : " tensors differ"); };
  std::string text;
  for (const auto& tensor : verdict.outside) text += "Outside the tolerance: " + title_of(tensor) + ": " + tensor.reason + "\n";
  if (!verdict.outside.empty())
    return text + "Of " + std::to_string(tensors) + " tensors " + std::to_string(verdict.outside.size()) + " outside the tolerance.\n";
  if (verdict.within == 0) return "No tensor needs the tolerance: every value is equal.\n";
  return "Within the tolerance, not equal: " + counted(static_cast<std::size_t>(verdict.within)) + " of " + std::to_string(tensors) + ".\n";
}

JsonValue json_of(const CompareReport& report, const std::string& note, const Verdict& verdict) {
  JsonValue json = JsonValue::parse(to_json(report));
  if (!note.empty()) json["compiled_otherwise"] = note;
  if (!verdict.tolerated) return json;
  JsonValue outside = JsonValue::array();
  for (const auto& tensor : verdict.tolerated->outside) {
    outside.push_back(
        {{"number", tensor.number ? JsonValue(*tensor.number) : JsonValue()}, {"name", tensor.name}, {"reason", tensor.reason}});
  }
  json["tolerance"] = {{"within", verdict.passes}, {"tensors_within", verdict.tolerated->within}, {"outside", outside}};
  return json;
}

/// A case per tensor, and one for a dump that was not read well or holds too little.
std::vector<JunitCase> junit_cases(const CompareReport& report, const Verdict& verdict) {
  std::vector<JunitCase> cases;
  for (const LayerDifference& layer : report.layers) {
    const TensorDifference& d = layer.accumulated;
    std::string failure;
    if (verdict.tolerated) {
      for (const auto& tensor : verdict.tolerated->outside)
        if (tensor.name == layer.name && tensor.number == layer.number) failure = tensor.reason;
    } else if (d.differing > 0) {
      failure = std::to_string(d.differing) + " of " + std::to_string(d.values) + " values differ" +
                (d.largest_lsb ? ", by at most " + std::to_string(*d.largest_lsb) + " LSB" : "");
    }
    const std::string number = layer.number ? std::to_string(*layer.number) + " " : "";
    cases.push_back({report.b + " against " + report.a, number + layer.name, failure});
  }
  if (!report.match) return cases;
  std::string misread = report.match->enough() ? "" : "too few tensors were matched";
  for (const std::string& each : report.misread) misread += (misread.empty() ? "" : "; ") + each;
  cases.push_back({report.a, "the dump is read", misread});
  return cases;
}

int run(CompareArguments& options) {
  const auto [report, model, note] = compare(options);
  const Verdict verdict = verdict_of(report, options);
  const LayerView view = view_from(options.view, model ? &*model : nullptr);
  if (!options.junit.empty()) write_text_file(options.junit, junit_text("lastbit compare", junit_cases(report, verdict)));
  draw_if_asked(report, options.plot);
  if (!options.html.empty()) write_html(document_of(report, model ? &*model : nullptr), options.html);
  const bool csv_to_stdout = options.csv == "-";
  if (!options.csv.empty() && !csv_to_stdout) write_text_file(options.csv, to_csv(report));
  if (csv_to_stdout) std::cout << to_csv(report);
  else if (options.json) std::cout << json_of(report, note, verdict).text(1) << "\n";
  else std::cout << to_text(report, options.details ? Detail::everything : Detail::summary, view);
  if (!note.empty() && !options.json && !csv_to_stdout) std::cout << "Compiled otherwise: " << note << ".\n";
  if (verdict.tolerated && !options.json) {
    const std::string kept = text_of(*verdict.tolerated, report.layers.size());
    if (csv_to_stdout) log_note(kept);
    else std::cout << kept;
  }
  return verdict.passes ? equal : different;
}

}  // namespace

void add_compare(CommandLine& line) {
  Command command = line.add("compare", "show layer by layer where two backends, two traces, or a board and a backend differ");
  const auto options = std::make_shared<CompareArguments>();
  command
      .option("subjects", options->subjects,
              "a model (.tflite, .onnx or JSON) with --a and --b, or --dump and --backend; or two traces, folders that run --trace wrote")
      .required()
      .takes(1, 2)
      .value_name("MODEL | TRACE_A TRACE_B");
  add_model_options(command);
  add_side_a(command, options->a.name, options->a.settings);
  add_side_b(command, options->b.name, options->b.settings);
  add_backend_option(command, options->known.name);
  add_set_option(command, options->known.settings);
  add_placement_options(command);
  add_input_option(command, options->inputs);
  add_dump_options(command, options->dump);
  add_require_option(command, options->required);
  add_golden_option(command, options->golden);
  add_threads_option(command, options->threads);
  command.flag("--details", options->details, "print histograms in LSB, first index, errors and saturation of every layer that differs");
  add_view_options(command, options->view);
  const Option csv = add_report_option(command, "--csv", options->csv);
  add_junit_option(command, options->junit);
  add_tolerance_options(command, options->tolerances);
  add_plot_option(command, options->plot);
  add_html_option(command, options->html);
  add_memory_option(command);
  add_force_option(command);
  add_json_option(command, options->json).excludes(csv);
  command.note(
      "--dump is side a, which is expected; --backend (or --b) computes side b.\n"
      "--csv FILE writes the file; without FILE, or with -, it goes to stdout.");
  command.footer(
      "Exit status: 0 every value equal, or within the tolerances that are given; 1 some differ, or too little of a dump was matched; 2 "
      "error.");
  command.runs([options] { return run(*options); });
}

}  // namespace lastbit::tool
