// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/replay.hpp"

#include <iostream>
#include <memory>

#include "backend_option.hpp"
#include "common_options.hpp"
#include "dump_option.hpp"
#include "lastbit/error.hpp"
#include "lastbit/io/model_file.hpp"
#include "lastbit/io/output.hpp"
#include "memory_option.hpp"
#include "model_inputs.hpp"
#include "output_option.hpp"
#include "placement_option.hpp"
#include "problem.hpp"
#include "subcommand.hpp"
#include "view_option.hpp"

namespace lastbit::tool {
namespace {

struct ReplayArguments {
  std::string model, float_network, dump, required, csv;
  ChosenBackend backend;
  std::vector<std::string> inputs;
  ViewRequest view{};
  int threads = 1;
  bool json = false;
};

ReplayReport replayed(const ReplayArguments& options, const Model& model) {
  std::optional<Model> real;
  if (!options.float_network.empty()) real = read_model(options.float_network);
  const SpecSheet backend = with_placements(reported_backend(options.backend.name, options.backend.settings), {model, options.model});
  const std::vector<Tensor> inputs = options.inputs.empty() ? std::vector<Tensor>() : read_inputs(model, options.inputs);
  const NamedTrace dump = read_given_dump(options.dump, model, inputs);
  ReplayOptions how{.float_network = real ? &*real : nullptr, .threads = options.threads};
  if (!options.required.empty()) how.required = dump_requirement_from(options.required, "--require " + options.required);
  ReplayReport report = replay(model, dump, backend, inputs, how);
  report.model = options.model;
  report.float_network = options.float_network;
  report.board = options.dump;
  return report;
}

int run(const ReplayArguments& options) {
  if (options.model.empty()) throw Error(ErrorCode::bad_input, "replay", "a model is needed: the network that the board computes");
  if (options.dump.empty()) throw Error(ErrorCode::bad_input, "replay", "--dump is needed: what the board computed");
  if (options.backend.name.empty())
    throw Error(ErrorCode::bad_input, "replay", "--backend is needed: the device that the board is; lastbit backends lists them");
  const Model model = read_users_model(options.model);
  const LayerView view = view_from(options.view, &model);
  const ReplayReport report = replayed(options, model);
  const bool csv_to_stdout = options.csv == "-";
  if (!options.csv.empty() && !csv_to_stdout) write_text_file(options.csv, to_csv(report));
  if (csv_to_stdout) std::cout << to_csv(report);
  else std::cout << (options.json ? to_json(report) : to_text(report, view));
  return report.equal() ? equal : different;
}

}  // namespace

void add_replay(CommandLine& line) {
  Command command =
      line.add("replay", "show a float network, its emulated model and a board side by side: what is lost where, and by whom");
  const auto options = std::make_shared<ReplayArguments>();
  add_model(command, options->model, "model,--model");
  command.option("--float", options->float_network, "the float network of the model; without it the model's own float path")
      .value_name("FILE");
  add_dump_options(command, options->dump);
  add_require_option(command, options->required);
  add_backend_option(command, options->backend.name);
  command.renamed("--b", "--backend");
  add_set_option(command, options->backend.settings);
  add_placement_options(command);
  add_input_option(command, options->inputs);
  add_threads_option(command, options->threads);
  add_view_options(command, options->view);
  const Option csv = add_report_option(command, "--csv", options->csv);
  add_memory_option(command);
  add_force_option(command);
  add_json_option(command, options->json).excludes(csv);
  command.note(
      "Without --input the inputs are the dump's. --shape, --bind, --from and --to are of the model; of the float network, lastbit "
      "extract\n"
      "writes a part, or one with the shapes that its file leaves open.");
  command.footer(
      "Exit status: 0 the board equals the emulated model in every layer compared; 1 it differs, or less of the dump was matched than\n"
      "--require says; 2 error, or no layer to compare.");
  command.runs([options] { return run(*options); });
}

}  // namespace lastbit::tool
