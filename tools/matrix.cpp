// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/matrix.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>

#include "backend_option.hpp"
#include "common_options.hpp"
#include "html_option.hpp"
#include "lastbit/error.hpp"
#include "lastbit/io/model_file.hpp"
#include "lastbit/io/output.hpp"
#include "lastbit/registry.hpp"
#include "memory_option.hpp"
#include "model_inputs.hpp"
#include "output_option.hpp"
#include "placement_option.hpp"
#include "plot.hpp"
#include "problem.hpp"
#include "progress.hpp"
#include "report/documents.hpp"
#include "subcommand.hpp"
#include "view_option.hpp"

namespace lastbit::tool {
namespace {

struct MatrixArguments {
  std::string model, csv;
  std::filesystem::path plot, html;
  std::vector<std::string> backends, inputs;
  ViewRequest view{};
  int threads = 1;
  bool pairs = false, json = false;
  AssumptionsAre assumptions = AssumptionsAre::named;
};

struct Devices {
  std::vector<SpecSheet> sheets;
  std::vector<std::string> refused;  ///< that would compute no sum of a float network
};

/// Those that were named, or every device there is.
Devices devices_of(const MatrixArguments& options, const Model& model) {
  Devices devices;
  for (const std::string& name : options.backends) devices.sheets.push_back(with_placements(named_backend(name), {model, options.model}));
  if (!options.backends.empty()) return devices;
  for (const SpecSheet& sheet : builtin_backends()) {
    if (sheet.backend.domain == Domain::real) continue;
    if (is_refused_for_floats(model, sheet)) devices.refused.push_back(sheet.name);
    else devices.sheets.push_back(with_placements(sheet, {model, options.model}));
  }
  return devices;
}

/// What runs no layer of the network is many a line when every device was tried.
void leave_out_quietly(Matrix& found) {
  if (found.left_out.empty()) return;
  std::string names;
  for (const auto& [name, reason] : found.left_out) names += (names.empty() ? "" : ", ") + name;
  found.left_out = {{names, "the network is not one of theirs; --backend NAME says why"}};
}

HeatMap heat_map_of(const Matrix& found) {
  HeatMap map{.title = "expected share of differing outputs", .names = found.backends, .values = {}};
  for (std::size_t row = 0; row < found.backends.size(); ++row) {
    std::vector<double>& values = map.values.emplace_back();
    for (std::size_t column = 0; column < found.backends.size(); ++column)
      values.push_back(row == column ? 0 : found.pair(row, column).expected());
  }
  return map;
}

LayerView pair_view(const MatrixArguments& options, const Model& model) {
  LayerView view = view_from(options.view, &model);
  if (view.order == LayerOrder::largest)
    throw Error(ErrorCode::bad_input, "--sort largest", "a matrix has shares, and no difference in LSB");
  return view;
}

int run(const MatrixArguments& options) {
  const Model model = read_users_model(options.model);
  const LayerView view = pair_view(options, model);
  const std::vector<Tensor> inputs = options.inputs.empty() ? std::vector<Tensor>{} : read_inputs(model, options.inputs);
  const Devices devices = devices_of(options, model);
  Progress progress("comparing pairs");
  Matrix found = matrix(model, devices.sheets, inputs,
                        {.threads = options.threads, .on_progress = [&](std::size_t done, std::size_t all) { progress.show(done, all); }});
  progress.clear();
  found.model = options.model;
  for (const std::string& name : devices.refused) found.left_out.emplace_back(name, "a float network, of which it computes no sum");
  if (options.backends.empty()) leave_out_quietly(found);
  if (!options.plot.empty()) draw(heat_map_of(found), options.plot);
  if (!options.html.empty()) write_html(document_of(found), options.html);
  if (!options.csv.empty() && options.csv != "-") write_text_file(options.csv, to_csv(found));
  if (options.csv == "-") std::cout << to_csv(found);
  else std::cout << (options.json ? to_json(found) : to_text(found, options.assumptions));
  const bool in_detail = options.pairs || found.pairs.size() == 1;
  for (const PairShares& pair : found.pairs)
    if (in_detail && !options.json && options.csv != "-" && !pair.equal()) std::cout << "\n" << to_text(found, pair, view);
  return found.holds(options.assumptions) ? equal : different;
}

}  // namespace

void add_matrix(CommandLine& line) {
  Command command =
      line.add("matrix", "each backend against each on a network: equal for every input, or how often they are expected to differ");
  const auto options = std::make_shared<MatrixArguments>();
  add_model(command, options->model).required();
  add_backends_option(command, options->backends);
  add_placement_options(command);
  add_input_option(command, options->inputs);
  command.flag("--pairs", options->pairs, "every pair that differs, layer by layer");
  add_view_options(command, options->view);
  add_accept_assumptions_option(command, options->assumptions);
  add_plot_option(command, options->plot);
  add_html_option(command, options->html);
  add_threads_option(command, options->threads);
  add_memory_option(command);
  add_report_option(command, "--csv", options->csv);
  add_force_option(command);
  add_json_option(command, options->json);
  command.note("Without --backend every device that runs the network is taken.");
  command.footer("Exit status: 0 all of them equal for every input, 1 some can differ, are open or rest on assumptions, 2 error.");
  command.runs([options] { return run(*options); });
}

}  // namespace lastbit::tool
