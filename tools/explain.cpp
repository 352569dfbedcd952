// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/explain.hpp"

#include <algorithm>
#include <iostream>
#include <memory>

#include "backend_option.hpp"
#include "lastbit/error.hpp"
#include "lastbit/io/model_file.hpp"
#include "memory_option.hpp"
#include "model_inputs.hpp"
#include "subcommand.hpp"

namespace lastbit::tool {
namespace {

struct Options {
  std::string model, a, b, dump, layer;
  std::vector<std::string> settings_a, settings_b, inputs;
  std::size_t top = 0;
  bool json = false;
};

void refuse(bool mistake, const std::string& message) {
  if (mistake) throw Error(ErrorCode::bad_input, "explain", message);
}

int explain_runs(const Options& options, const Model& model, const std::optional<std::string>& layer) {
  ExplainReport report = explain_network(model, read_inputs(model, options.inputs), reported_backend(options.a, options.settings_a),
                                         reported_backend(options.b, options.settings_b), {layer, options.top});
  report.model = options.model;
  std::cout << (options.json ? to_json(report) : to_text(report));
  return std::all_of(report.layers.begin(), report.layers.end(), [](const auto& each) { return each.differing.empty(); }) ? equal
                                                                                                                          : different;
}

int explain_board(const Options& options, const Model& model, const std::optional<std::string>& layer) {
  refuse(!options.b.empty() || !options.settings_b.empty(), "with --dump, the board is side b: --b and --set-b mean nothing");
  refuse(options.top > 0, "--top shows two backends side by side; a dump has no stages");
  const std::vector<Tensor> inputs = options.inputs.empty() ? std::vector<Tensor>() : read_inputs(model, options.inputs);
  DumpReport report = explain_dump(model, read_dump(options.dump, model), reported_backend(options.a, options.settings_a), inputs, layer);
  report.model = options.model;
  report.dump = options.dump;
  std::cout << (options.json ? to_json(report) : to_text(report));
  const bool nothing_differs =
      std::all_of(report.layers.begin(), report.layers.end(), [](const auto& each) { return each.differing == 0; });
  return nothing_differs && report.one_device ? equal : different;
}

int run(const Options& options) {
  refuse(options.b.empty() == options.dump.empty(), "either --b, a backend, or --dump, a board's tensors, is needed");
  const Model model = read_model(options.model);
  const auto layer = options.layer.empty() ? std::nullopt : std::optional(options.layer);
  return options.dump.empty() ? explain_runs(options, model, layer) : explain_board(options, model, layer);
}

}  // namespace

void add_explain(CommandLine& line) {
  Command command =
      line.add("explain", "say for every value that differs, between two backends or on a board, which rule makes the difference");
  const auto options = std::make_shared<Options>();
  command.option("model", options->model, "a model (.tflite, .onnx or JSON)").required();
  command.option("--a", options->a, "the backend that is expected: a built-in one, or a file (.json)").required();
  command.option("--b", options->b, "the backend that is judged");
  command.option("--dump", options->dump,
                 "instead of --b: a folder of .npy from a board, named after tensors or their index (tensor_012.npy)");
  add_set_option(command, options->settings_a, "--set-a");
  add_set_option(command, options->settings_b, "--set-b");
  add_input_option(command, options->inputs);
  command.option("--layer", options->layer, "only this one: its number, or the name of the operation or of its output");
  command.option("--top", options->top, "of each layer, how many differing values to show on both sides, stage by stage").shows_default();
  add_memory_option(command);
  command.flag("--json", options->json, "print JSON: every differing value with its cause");
  command.footer("Exit status: 0 every layer equal, 1 some differ, 2 error.");
  command.runs([options] { return run(*options); });
}

}  // namespace lastbit::tool
