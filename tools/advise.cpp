// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/advise.hpp"

#include <iostream>
#include <memory>

#include "backend_option.hpp"
#include "common_options.hpp"
#include "html_option.hpp"
#include "lastbit/error.hpp"
#include "lastbit/io/model_file.hpp"
#include "lastbit/io/output.hpp"
#include "lastbit/printable.hpp"
#include "lastbit/sums_on.hpp"
#include "layer_plot.hpp"
#include "memory_option.hpp"
#include "model_inputs.hpp"
#include "output_option.hpp"
#include "placement_option.hpp"
#include "problem.hpp"
#include "progress.hpp"
#include "report/documents.hpp"
#include "samples.hpp"
#include "subcommand.hpp"
#include "view_option.hpp"

namespace lastbit::tool {
namespace {

struct AdviseArguments {
  std::string model, a, b, objective, output;
  std::vector<std::string> settings_a, settings_b, inputs;
  std::int64_t samples = 0;
  AdviseOptions advice;
  ViewRequest view{};
  std::filesystem::path plot{}, html{};
  bool json = false, scales = false;
};

/// One bar after the other.
class Steps {
 public:
  void show(std::string_view what, double done) {
    if (!bar_ || what != what_) {
      clear();
      what_ = what;
      bar_ = std::make_unique<Progress>(what_);
    }
    bar_->show(static_cast<std::size_t>(100 * done), 100);
  }
  void clear() { bar_.reset(); }

 private:
  std::string what_;
  std::unique_ptr<Progress> bar_;
};

/// "cpu" is TFLite's own kernels, which are what a delegate falls back to. Nothing is placed: what is best placed where is the question.
Sides sides_of(const AdviseArguments& options, const Model& model) {
  SpecSheet a = reported_backend(options.a == "cpu" ? "tflite_double" : options.a, options.settings_a);
  SpecSheet b = with_placements(reported_backend(options.b, options.settings_b), {model, options.model});
  const bool in_floats = sums_on(model, b.backend).what == SumsOf::device_floats;  // a is float then, or told so
  if (!in_floats) a = with_fallbacks(std::move(a), {model, options.model});
  return {std::move(a), std::move(b)};
}

/// The scales alone, which no data are needed for.
int print_scales(const AdviseArguments& options, const Model& model, const AdviseOptions& advice, Steps& steps) {
  const auto [a, b] = sides_of(options, model);
  EqualScales scales = equal_scales(model, a, b, advice);
  steps.clear();
  scales.network = options.model;
  std::cout << (options.json ? to_json(scales) : to_text(scales));
  if (!options.output.empty()) write_model(options.output, scales.model);
  const bool as_they_are = scales.layers.empty() && scales.open.empty();
  return as_they_are ? equal : different;
}

int run(const AdviseArguments& options) {
  if (options.inputs.empty() && !options.scales)
    throw Error(ErrorCode::bad_input, "advise", "--input is needed; only --scales does without");
  const Model model = read_users_model(options.model);
  AdviseOptions advice = options.advice;
  if (!options.objective.empty()) advice.objective = objective_from(options.objective);
  Steps steps;
  advice.progress = [&](std::string_view what, double done) { steps.show(what, done); };
  if (options.scales) return print_scales(options, model, advice, steps);
  const auto [a, b] = sides_of(options, model);
  if (!options.output.empty()) (void)layer_list({}, b);  // a vendor without such a list is told before the search
  AdviseReport report = advise(model, a, b, read_samples(model, options.inputs, options.samples), advice);
  steps.clear();
  report.model = options.model;
  draw_if_asked(report, options.plot);
  if (!options.html.empty()) write_html(document_of(report, model), options.html);
  std::cout << (options.json ? to_json(report) : to_text(report, view_from(options.view, &model)));
  if (!options.output.empty()) {
    const LayerListFile list = layer_list(report, b);
    write_text_file(options.output, list.text);
    if (!options.json)
      std::cout << "wrote " << printable(options.output) << ": " << count_of(static_cast<std::int64_t>(list.layers), "layer") << " of '"
                << list.choice << "', for " << list.option << "\n";
  }
  return report.equal() ? equal : different;
}

}  // namespace

void add_advise(CommandLine& line) {
  Command command =
      line.add("advise", "say which layers to compute elsewhere, which output scales or rescaled constants help, and what users would see");
  const auto options = std::make_shared<AdviseArguments>();
  add_model(command, options->model).required();
  add_side_a(command, options->a, options->settings_a).required();
  add_side_b(command, options->b, options->settings_b).required();
  add_allow_float_option(command);
  add_input_option(command, options->inputs);
  command.renamed("--data", "--input");
  add_samples_option(command, options->samples);
  command.option("--candidates", options->advice.candidates, "try all subsets of so many layers").within(1, 20);
  command.option("--objective", options->objective, "what a choice of layers is judged by")
      .one_of({"differing", "cosine", "top", "distance", "relative_error"});
  command.option("--at", options->advice.judged_at, "judge by this tensor (an embedding, the logits) instead of the outputs")
      .value_name("TENSOR");
  command
      .option("--effort", options->advice.effort,
              "how much each search may cost, in 10^9 multiply-accumulates; where it is not enough, fewer samples decide")
      .positive();
  const Option scales = command.flag("--scales", options->scales,
                                     "only the output scales at which both sides are proven equal for every input; needs no data");
  add_output_option(command, options->output, "FILE");
  add_view_options(command, options->view);
  add_threads_option(command, options->advice.threads);
  add_plot_option(command, options->plot).excludes(scales);
  add_html_option(command, options->html).excludes(scales);
  add_force_option(command);
  add_memory_option(command);
  add_json_option(command, options->json);
  command.note("--a cpu is tflite_double, which a delegate falls back to.");
  command.note(
      "-o writes the layers to keep off the device as the vendor's tool reads them (ATC's --keep_dtype, hb_mapper's run_on_cpu); with "
      "--scales the "
      "network on these scales (.json, .tflite).");
  command.runs([options] { return run(*options); });
}

}  // namespace lastbit::tool
