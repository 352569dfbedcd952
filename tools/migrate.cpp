// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/migrate.hpp"

#include <iostream>
#include <memory>

#include "backend_option.hpp"
#include "common_options.hpp"
#include "lastbit/error.hpp"
#include "lastbit/io/model_file.hpp"
#include "layer_plot.hpp"
#include "memory_option.hpp"
#include "model_inputs.hpp"
#include "model_option.hpp"
#include "output_option.hpp"
#include "placement_option.hpp"
#include "problem.hpp"
#include "progress.hpp"
#include "subcommand.hpp"
#include "view_option.hpp"

namespace lastbit::tool {
namespace {

struct MigrateArguments {
  std::string before, after, model;
  ChosenBackend device;
  std::vector<std::string> inputs;
  ViewRequest view{};
  int threads = 1;
  std::filesystem::path plot{};
  AssumptionsAre assumptions = AssumptionsAre::named;
  bool json = false;
};

std::vector<Tensor> given_inputs(const Model& model, const MigrateArguments& options) {
  return options.inputs.empty() ? std::vector<Tensor>{} : read_inputs(model, options.inputs);
}

int migrate_networks(const MigrateArguments& options, const MigrateOptions& request, Progress& progress) {
  refuse_if("migrate", options.device.name.empty(),
            "--backend is needed, the device of both networks; or --model, the network of two devices");
  const Model before = read_given_model(options.before), after = read_given_model(options.after);  // problems are told of both
  const SpecSheet sheet = reported_backend(options.device.name, options.device.settings);
  const SpecSheet sheet_before = with_placements(sheet, {before, options.before}),
                  sheet_after = with_placements(sheet, {after, options.after});
  NetworkMigration migration = migrate_network({before, sheet_before}, {after, sheet_after}, given_inputs(before, options), request);
  progress.clear();
  migration.before = options.before;
  migration.after = options.after;
  draw_if_asked(migration, options.plot);
  std::cout << (options.json
                    ? json_with_placements(to_json(migration), after, {&sheet_after})
                    : to_text(migration, view_from(options.view, &before), options.assumptions) + placement_text(after, {&sheet_after}));
  return migration.holds(options.assumptions) ? equal : different;
}

int migrate_devices(const MigrateArguments& options, const MigrateOptions& request, Progress& progress) {
  refuse_if("migrate", options.device.given(), "--model says that OLD and NEW are devices; then there is no other --backend");
  const Model model = read_users_model(options.model);
  SpecSheet before = named_backend(options.before), after = named_backend(options.after);
  if (before.name == after.name) before.name = options.before, after.name = options.after;  // a file and what it was made from
  before = with_placements(std::move(before), {model, options.model});
  after = with_placements(std::move(after), {model, options.model});
  DeviceMigration migration = migrate_device(model, before, after, given_inputs(model, options), request);
  progress.clear();
  migration.model = migration.certificate.model = options.model;
  if (migration.on_data) migration.on_data->model = options.model;
  draw_if_asked(migration, options.plot);
  std::cout << (options.json
                    ? json_with_placements(to_json(migration), model, {&before, &after})
                    : to_text(migration, view_from(options.view, &model), options.assumptions) + placement_text(model, {&before, &after}));
  return migration.holds(options.assumptions) ? equal : different;
}

int run(const MigrateArguments& options) {
  Progress progress("migrating");
  const MigrateOptions request{.threads = options.threads,
                               .on_progress = [&](std::size_t done, std::size_t all) { progress.show(done, all); }};
  return options.model.empty() ? migrate_networks(options, request, progress) : migrate_devices(options, request, progress);
}

}  // namespace

void add_migrate(CommandLine& line) {
  Command command =
      line.add("migrate", "show what another version of a network, or of a device, changes: layer by layer, for every input and on data");
  const auto options = std::make_shared<MigrateArguments>();
  command.option("old", options->before, "a network (.tflite, .onnx or JSON), beside --backend; or a device, beside --model").required();
  command.option("new", options->after, "its other version").required();
  add_model_options(command);
  add_named_model(command, options->model);
  add_backend_option(command, options->device.name);
  add_set_option(command, options->device.settings);
  add_placement_options(command);
  add_input_option(command, options->inputs);
  add_view_options(command, options->view);
  add_accept_assumptions_option(command, options->assumptions);
  add_threads_option(command, options->threads);
  add_plot_option(command, options->plot);
  add_memory_option(command);
  add_force_option(command);
  add_json_option(command, options->json);
  command.note("--model: the network that two versions of a device compute. --input: of the old network.");
  command.footer(
      "Exit status: 0 the same for every input, 1 a layer can differ, is not decided, rests on assumptions, or has no counterpart, 2 "
      "error.");
  command.runs([options] { return run(*options); });
}

}  // namespace lastbit::tool
