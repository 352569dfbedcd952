// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/explain.hpp"

#include <algorithm>
#include <iostream>
#include <memory>
#include <mutex>

#include "backend_option.hpp"
#include "common_options.hpp"
#include "dump_option.hpp"
#include "html_option.hpp"
#include "lastbit/error.hpp"
#include "lastbit/io/model_file.hpp"
#include "layer_plot.hpp"
#include "memory_option.hpp"
#include "model_inputs.hpp"
#include "output_option.hpp"
#include "placement_option.hpp"
#include "problem.hpp"
#include "progress.hpp"
#include "report/documents.hpp"
#include "subcommand.hpp"

namespace lastbit::tool {
namespace {

struct ExplainArguments {
  std::string model, dump, layer;
  ChosenBackend a, b;
  ChosenBackend known;  ///< beside a dump
  std::vector<std::string> inputs;
  std::size_t top = 0;
  std::filesystem::path plot{}, html{};
  int threads = 1;
  bool json = false;
};

/// Shows how far it is, from any thread, and is gone before anything is printed.
template <class Explain>
auto with_progress(const ExplainArguments& options, std::size_t top, Explain&& explain) {
  Progress progress("explaining");
  std::mutex showing;
  const auto show = [&](std::size_t done, std::size_t all) {
    const std::scoped_lock lock(showing);
    progress.show(done, all);
  };
  const auto layer = options.layer.empty() ? std::nullopt : std::optional(options.layer);
  return explain(ExplainOptions{.layer = layer, .top = top, .threads = options.threads, .on_progress = show});
}

int explain_runs(const ExplainArguments& options, const Model& model) {
  const Sides sides = placed_sides(options.a, options.b, {model, options.model});
  const SpecSheet &a = sides.a, &b = sides.b;
  const std::size_t for_page = options.html.empty() ? 0 : 1;  // a page shows one of each layer unasked
  const std::vector<Tensor> inputs = read_inputs(model, options.inputs);
  ExplainReport report = with_progress(options, std::max(options.top, for_page),
                                       [&](const ExplainOptions& how) { return explain_network(model, inputs, a, b, how); });
  report.model = options.model;
  draw_if_asked(report, options.plot);
  if (!options.html.empty()) write_html(document_of(report, model), options.html);
  for (LayerAttribution& each : report.layers) each.shown.resize(std::min(each.shown.size(), options.top));
  std::cout << (options.json ? json_with_placements(to_json(report), model, {&a, &b}) : to_text(report) + placement_text(model, {&a, &b}));
  return std::all_of(report.layers.begin(), report.layers.end(), [](const auto& each) { return each.differing.empty(); }) ? equal
                                                                                                                          : different;
}

int explain_board(const ExplainArguments& options, const Model& model) {
  refuse_if("explain", options.b.given(), "with --dump, the board is side b: --b and --set-b mean nothing");
  refuse_if("explain", options.top > 0, "--top shows two backends side by side; a dump has no stages");
  const std::vector<Tensor> inputs = options.inputs.empty() ? std::vector<Tensor>() : read_inputs(model, options.inputs);
  const SpecSheet a = with_placements(reported_backend(options.a.name, options.a.settings), {model, options.model});
  const NamedTrace board = read_given_dump(options.dump, model, inputs);
  DumpReport report = with_progress(options, 0, [&](const ExplainOptions& how) { return explain_dump(model, board, a, inputs, how); });
  report.model = options.model;
  report.dump = options.dump;
  draw_if_asked(report, options.plot);
  if (!options.html.empty()) write_html(document_of(report, model), options.html);
  std::cout << (options.json ? json_with_placements(to_json(report), model, {&a}) : to_text(report) + placement_text(model, {&a}));
  const bool nothing_differs =
      std::all_of(report.layers.begin(), report.layers.end(), [](const auto& each) { return each.differing == 0; });
  return nothing_differs && report.one_device ? equal : different;
}

int run(ExplainArguments& options) {
  refuse_if("explain", options.b.name.empty() == options.dump.empty(), "either --b, a backend, or --dump, a board's tensors, is needed");
  if (!options.dump.empty()) take_known_backend("explain", options.a, options.known);
  else refuse_if("explain", options.known.given(), "--backend stands beside --dump; two backends are --a and --b");
  refuse_if("explain", options.a.name.empty(), "--a is needed: the backend that is expected");
  const Model model = read_users_model(options.model);
  return options.dump.empty() ? explain_runs(options, model) : explain_board(options, model);
}

}  // namespace

void add_explain(CommandLine& line) {
  Command command =
      line.add("explain", "say for every value that differs, between two backends or on a board, which rule makes the difference");
  const auto options = std::make_shared<ExplainArguments>();
  add_model(command, options->model).required();
  add_side_a(command, options->a.name, options->a.settings);
  add_side_b(command, options->b.name, options->b.settings);
  add_backend_option(command, options->known.name);
  add_set_option(command, options->known.settings);
  add_placement_options(command);
  add_dump_options(command, options->dump);
  add_input_option(command, options->inputs);
  add_layer_option(command, options->layer);
  add_top_option(command, options->top);
  add_plot_option(command, options->plot);
  add_html_option(command, options->html);
  add_threads_option(command, options->threads);
  add_memory_option(command);
  add_force_option(command);
  add_json_option(command, options->json);
  command.note(
      "--dump is side b, which is judged; --backend (or --a) computes side a.\n"
      "--top: differing values of each layer, on both sides, stage by stage.");
  command.footer("Exit status: 0 every layer equal, 1 some differ, 2 error.");
  command.runs([options] { return run(*options); });
}

}  // namespace lastbit::tool
