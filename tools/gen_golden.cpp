// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <memory>

#include "backend_option.hpp"
#include "common_options.hpp"
#include "lastbit/error.hpp"
#include "lastbit/io/model_file.hpp"
#include "lastbit/printable.hpp"
#include "lastbit/recording.hpp"
#include "memory_option.hpp"
#include "model_inputs.hpp"
#include "output_option.hpp"
#include "problem.hpp"
#include "subcommand.hpp"

namespace lastbit::tool {
namespace {

struct GenGoldenArguments {
  std::string model, backend, output, check;
  std::vector<std::string> settings, inputs;
  bool outputs_only = false, json = false;
};

int check(const GenGoldenArguments& options) {
  if (!options.output.empty()) throw Error(ErrorCode::bad_input, "gen-golden", "--check and --output exclude each other");
  if (!options.inputs.empty()) throw Error(ErrorCode::bad_input, "gen-golden", "--check takes the inputs of the store, not --input");
  const std::string backend = options.backend.empty() ? recorded_backend(options.check) : options.backend;
  const RecordingReport report =
      check_recording(options.check, read_users_model(options.model), selected_backend(backend, options.settings));
  std::cout << (options.json ? to_json(report) : to_text(report));
  return report.passed() ? equal : different;
}

int write(const GenGoldenArguments& options) {
  if (options.backend.empty()) throw Error(ErrorCode::bad_input, "gen-golden", "--backend is needed");
  if (options.output.empty()) throw Error(ErrorCode::bad_input, "gen-golden", "--output is needed, or --check");
  const Model model = read_users_model(options.model);
  const SpecSheet sheet = selected_backend(options.backend, options.settings);
  write_recording(options.output, model, sheet, read_inputs(model, options.inputs),
                  options.outputs_only ? RecordedTensors::outputs : RecordedTensors::all);
  const RecordingReport report = check_recording(options.output, model, sheet);
  if (options.json) std::cout << to_json(report);
  else
    std::cout << options.output << ": " << count_of(static_cast<std::int64_t>(report.tensors), "tensor") << ", "
              << count_of(report.values, "value") << ", on " << report.backend << "\n";
  return report.passed() ? equal : different;
}

}  // namespace

void add_gen_golden(CommandLine& line) {
  Command command = line.add("gen-golden", "store what a backend computes, with the backend itself, and notice later what changed");
  const auto options = std::make_shared<GenGoldenArguments>();
  add_model(command, options->model).required();
  add_backend_option(command, options->backend);
  add_set_option(command, options->settings);
  add_input_option(command, options->inputs);
  add_output_option(command, options->output, "DIR");
  command.flag("--outputs-only", options->outputs_only, "store the model's outputs only, not every tensor");
  add_check_option(command, options->check, "DIR");
  add_memory_option(command);
  add_force_option(command);
  add_json_option(command, options->json);
  command.note("--output: a recording. --check: on --backend, or else on the backend of the store.");
  command.footer("Exit status: 0 written, or unchanged; 1 a rule, a value or the model changed; 2 error.");
  command.runs([options] { return options->check.empty() ? write(*options) : check(*options); });
}

}  // namespace lastbit::tool
