// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/shrink.hpp"

#include <filesystem>
#include <iostream>
#include <memory>

#include "backend_option.hpp"
#include "common_options.hpp"
#include "lastbit/error.hpp"
#include "lastbit/io/model_file.hpp"
#include "log.hpp"
#include "memory_option.hpp"
#include "model_inputs.hpp"
#include "output_option.hpp"
#include "placement_option.hpp"
#include "problem.hpp"
#include "progress.hpp"
#include "subcommand.hpp"

namespace lastbit::tool {
namespace {

struct ShrinkArguments {
  std::string model, a, b, layer, output;
  std::vector<std::string> settings_a, settings_b, inputs;
  std::optional<std::int64_t> index;
  int threads = 1;
  bool json = false;
};

int run(const ShrinkArguments& options) {
  Model model = read_users_model(options.model);
  const std::filesystem::path path(options.model);
  model.name = (path.parent_path().filename() / path.filename()).string();  // tells networks apart wherever the files go
  Progress progress("shrink");
  ShrinkOptions how{
      .layer = options.layer.empty() ? std::nullopt : std::optional(options.layer), .index = options.index, .threads = options.threads};
  how.on_progress = [&](std::size_t done, std::size_t all) { progress.show(done, all); };
  const auto [a, b] = placed_sides({options.a, options.settings_a}, {options.b, options.settings_b}, {model, options.model});
  const auto shrunk = shrink(model, read_inputs(model, options.inputs), a, b, how);
  progress.clear();
  if (!shrunk) {
    std::cout << (options.json ? "null\n" : options.model + ": every layer is equal on both\n");
    return equal;
  }
  std::cout << (options.json ? to_json(*shrunk) : to_text(*shrunk));
  if (options.output.empty()) return different;
  const auto refused = write_case(options.output, *shrunk);
  if (refused) log_note("no layer.tflite: " + *refused);
  if (!options.json)
    std::cout << "\nwritten to " << options.output << ": cases.json, test_catch2.cpp, test_googletest.cpp"
              << (refused ? "\n" : ", layer.tflite\n");
  return different;
}

}  // namespace

void add_shrink(CommandLine& line) {
  Command command = line.add("shrink", "find the smallest case in which two backends still differ, for the same cause");
  const auto options = std::make_shared<ShrinkArguments>();
  add_model(command, options->model).required();
  add_side_a(command, options->a, options->settings_a).required();
  add_side_b(command, options->b, options->settings_b).required();
  add_placement_options(command);
  add_input_option(command, options->inputs);
  add_layer_option(command, options->layer);
  command.option("--index", options->index, "this value of the layer's output (over all samples) instead of one of the commonest cause");
  add_output_option(command, options->output, "DIR");
  add_threads_option(command, options->threads);
  add_memory_option(command);
  add_force_option(command);
  add_json_option(command, options->json);
  command.note("--layer: instead of the first that differs. --output: the case, a Catch2 test, a GoogleTest test and a .tflite.");
  command.footer("Exit status: 0 every layer equal, 1 a case was found, 2 error.");
  command.runs([options] { return run(*options); });
}

}  // namespace lastbit::tool
