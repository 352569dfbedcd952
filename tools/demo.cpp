// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <system_error>

#include "common_options.hpp"
#include "lastbit/error.hpp"
#include "lastbit/json_value.hpp"
#include "lastbit/nearest.hpp"
#include "story.hpp"
#include "subcommand.hpp"

namespace lastbit::tool {
namespace {

struct DemoArguments {
  std::string name;
  StoryOptions story;
};

/// Where an installed program finds what came with it; in a clone, whose program lies in the build folder, what the working directory has.
std::filesystem::path examples_folder() {
  std::error_code none;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", none);
  const std::filesystem::path installed = (program.parent_path() / LASTBIT_INSTALLED_EXAMPLES).lexically_normal();
  return std::filesystem::is_directory(installed, none) ? installed : std::filesystem::path("examples");
}

int list(const StoryOptions& options) {
  if (!options.plot.empty()) throw Error(ErrorCode::bad_input, "--plot", "the name of a demo is needed");
  if (options.json) {
    auto json = JsonValue::array();
    for (const Story& story : stories()) json.push_back({{"name", story.name}, {"title", story.title}});
    std::cout << json.text(2) << "\n";
    return equal;
  }
  std::size_t width = 0;
  for (const Story& story : stories()) width = std::max(width, story.name.size());
  std::cout << "lastbit demo NAME: each prints what was seen, what lastbit computes, and why\n";
  for (const Story& story : stories()) {
    std::cout << "  " << story.name << std::string(width + 2 - story.name.size(), ' ') << story.title << "\n";
  }
  return equal;
}

int run(const DemoArguments& options) {
  if (options.name.empty()) return list(options.story);
  std::string known;
  for (const Story& story : stories()) {
    if (story.name == options.name) {
      tell(story, options.story);
      return equal;
    }
    known += (known.empty() ? "" : ", ") + story.name;
  }
  std::vector<std::string_view> names;
  for (const Story& story : stories()) names.push_back(story.name);
  throw Error(ErrorCode::bad_input, "demo",
              "unknown demo '" + options.name + "'" + did_you_mean(options.name, names) + "; known: " + known);
}

}  // namespace

void add_demo(CommandLine& line) {
  Command command = line.add("demo", "what lastbit is for: a small network, and mismatches that users met; without a name, the list");
  const auto options = std::make_shared<DemoArguments>();
  std::vector<std::string> names;
  for (const Story& story : stories()) names.push_back(story.name);
  command.option("name", options->name, "the demo to show").suggests(ValueKind::choice, names);
  options->story.data = examples_folder();
  command.option("--examples", options->story.data, "the folder with the data of the demos").value_name("DIR");
  command.renamed("--data", "--examples");
  add_plot_option(command, options->story.plot);
  add_json_option(command, options->story.json);
  command.runs([options] { return run(*options); });
}

}  // namespace lastbit::tool
