// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/explain.hpp"

#include <iostream>
#include <memory>

#include "backend_option.hpp"
#include "lastbit/error.hpp"
#include "lastbit/io/model_file.hpp"
#include "model_inputs.hpp"
#include "subcommand.hpp"

namespace lastbit::tool {
namespace {

struct Options {
  std::string model, a, b, layer;
  std::vector<std::string> settings_a, settings_b, inputs;
  bool json = false;
};

int run(const Options& options) {
  const Model model = read_model(options.model);
  const auto layer = options.layer.empty() ? std::nullopt : std::optional(options.layer);
  ExplainReport report = explain_network(model, read_inputs(model, options.inputs), reported_backend(options.a, options.settings_a),
                                         reported_backend(options.b, options.settings_b), layer);
  report.model = options.model;
  std::cout << (options.json ? to_json(report) : to_text(report));
  const bool same = std::all_of(report.layers.begin(), report.layers.end(), [](const auto& each) { return each.differing.empty(); });
  return same ? equal : different;
}

}  // namespace

Subcommand add_explain(CLI::App& root) {
  CLI::App* app = root.add_subcommand("explain", "say for every value in which two backends differ which rules make the difference");
  const auto options = std::make_shared<Options>();
  app->add_option("model", options->model, "a model (.tflite, .onnx or JSON)")->required();
  app->add_option("--a", options->a, "the backend that is expected: a built-in one, or a file (.json)")->required();
  app->add_option("--b", options->b, "the backend that is judged")->required();
  add_set_option(*app, options->settings_a, "--set-a");
  add_set_option(*app, options->settings_b, "--set-b");
  add_input_option(*app, options->inputs);
  app->add_option("--layer", options->layer, "only this one: the name of an operation or of its output");
  app->add_flag("--json", options->json, "print JSON: every differing value with its cause");
  app->footer("Exit status: 0 every layer equal, 1 some differ, 2 error.");
  return {app, [options] { return run(*options); }};
}

}  // namespace lastbit::tool
