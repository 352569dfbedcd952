// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/advise.hpp"

#include <iostream>
#include <memory>

#include "backend_option.hpp"
#include "lastbit/error.hpp"
#include "lastbit/io/model_file.hpp"
#include "memory_option.hpp"
#include "progress.hpp"
#include "samples.hpp"
#include "subcommand.hpp"

namespace lastbit::tool {
namespace {

struct Options {
  std::string model, a, b, data, objective;
  std::vector<std::string> settings_a, settings_b;
  std::int64_t samples = 0;
  AdviseOptions advice;
  bool json = false;
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

/// "cpu" is TFLite's own kernels, which are what a delegate falls back to.
SpecSheet wanted(const Options& options) { return reported_backend(options.a == "cpu" ? "tflite_double" : options.a, options.settings_a); }

int run(const Options& options) {
  const Model model = read_model(options.model);
  AdviseOptions advice = options.advice;
  if (!options.objective.empty()) advice.objective = objective_from(options.objective);
  Steps steps;
  advice.progress = [&](std::string_view what, double done) { steps.show(what, done); };
  const SpecSheet a = wanted(options), b = reported_backend(options.b, options.settings_b);
  AdviseReport report = advise(model, a, b, read_samples(model, options.data, options.samples), advice);
  steps.clear();
  report.model = options.model;
  std::cout << (options.json ? to_json(report) : to_text(report));
  return report.equal() ? equal : different;
}

}  // namespace

void add_advise(CommandLine& line) {
  Command command =
      line.add("advise", "say which layers to compute elsewhere, which output scales or rescaled constants help, and what users would see");
  const auto options = std::make_shared<Options>();
  command.option("model", options->model, "a model (.tflite, .onnx or JSON)").required();
  command.option("--a", options->a, "what is wanted: float, cpu (tflite_double), a built-in backend, or a file (.json)").required();
  command.option("--b", options->b, "the device: a built-in backend, or a file (.json)").required();
  add_set_option(command, options->settings_a, "--set-a");
  add_set_option(command, options->settings_b, "--set-b");
  command.option("--data", options->data, "samples, as for quantize --calibrate: a folder of .npy files, or one .npy")
      .value_name("DIR|FILE.npy")
      .required();
  command.option("--samples", options->samples, "take so many samples at most; 0: all").not_negative();
  command.option("--candidates", options->advice.candidates, "try all subsets of so many layers").within(1, 20);
  command.option("--objective", options->objective, "what a choice of layers is judged by")
      .one_of({"differing", "cosine", "top", "distance", "relative_error"});
  command.option("--at", options->advice.judged_at, "judge by this tensor (an embedding, the logits) instead of the outputs")
      .value_name("TENSOR");
  command
      .option("--effort", options->advice.effort,
              "how much each search may cost, in 10^9 multiply-accumulates; where it is not enough, fewer samples decide")
      .positive();
  add_memory_option(command);
  command.flag("--json", options->json, "print everything as JSON");
  command.runs([options] { return run(*options); });
}

}  // namespace lastbit::tool
