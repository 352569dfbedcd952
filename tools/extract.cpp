// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <memory>

#include "common_options.hpp"
#include "lastbit/info.hpp"
#include "model_option.hpp"
#include "output_option.hpp"
#include "subcommand.hpp"

namespace lastbit::tool {
namespace {

struct ExtractArguments {
  std::string model, output;
  bool json = false;
};

int run(const ExtractArguments& options) {
  require_model_name("--output", options.output);
  const Model model = read_given_model(options.model);
  write_model(options.output, model);
  const NetworkInfo info = network_info(model, {});
  std::cout << (options.json ? to_json(info) : to_text(info));
  if (!options.json) std::cout << "written to " << options.output << "\n";
  return equal;
}

}  // namespace

void add_extract(CommandLine& line) {
  Command command = line.add("extract", "write the part of a network that lies between some tensors and others");
  const auto options = std::make_shared<ExtractArguments>();
  add_model(command, options->model).required();
  add_output_option(command, options->output, "FILE.json|.tflite").required();
  add_force_option(command);
  add_json_option(command, options->json);
  command.note("Every other command that reads a model takes --from and --to as well.");
  command.runs([options] { return run(*options); });
}

}  // namespace lastbit::tool
