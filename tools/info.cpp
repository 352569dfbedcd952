// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/info.hpp"

#include <iostream>
#include <memory>

#include "backend_option.hpp"
#include "common_options.hpp"
#include "lastbit/registry.hpp"
#include "memory_option.hpp"
#include "model_option.hpp"
#include "subcommand.hpp"

namespace lastbit::tool {
namespace {

struct InfoArguments {
  std::string model, backend;
  bool json = false;
};

int run(const InfoArguments& options) {
  const std::vector<SpecSheet> devices =
      options.backend.empty() ? std::vector<SpecSheet>(builtin_backends()) : std::vector<SpecSheet>{selected_backend(options.backend, {})};
  const NetworkInfo info = network_info(read_given_model(options.model), devices);
  std::cout << (options.json ? to_json(info) : to_text(info));
  return equal;
}

}  // namespace

void add_info(CommandLine& line) {
  Command command = line.add("info", "show what a network is: inputs, outputs, operations, size, and which backends run it");
  const auto options = std::make_shared<InfoArguments>();
  add_model(command, options->model).required();
  add_backend_option(command, options->backend);
  add_memory_option(command);
  add_json_option(command, options->json);
  command.note("--backend: of this one alone.");
  command.runs([options] { return run(*options); });
}

}  // namespace lastbit::tool
