// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/prove.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iostream>
#include <memory>

#include "backend_option.hpp"
#include "common_options.hpp"
#include "lastbit/error.hpp"
#include "lastbit/io/model_file.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/io/output.hpp"
#include "lastbit/pair_proof.hpp"
#include "layer_plot.hpp"
#include "memory_option.hpp"
#include "model_inputs.hpp"
#include "output_option.hpp"
#include "placement_option.hpp"
#include "problem.hpp"
#include "progress.hpp"
#include "subcommand.hpp"
#include "terminal.hpp"

namespace lastbit::tool {
namespace {

struct ProveArguments {
  std::string model, backend, range = "type", layer, folder;
  std::vector<std::string> settings, inputs;
  std::optional<int> bits;
  int threads = 1;
  std::filesystem::path plot{};
  AssumptionsAre assumptions = AssumptionsAre::named;
  bool json = false, without_vnni = false;
};

/// The operation's number makes it unique; of long names the end says more.
std::string file_name(const LayerProof& layer, std::size_t input, std::size_t inputs) {
  constexpr std::size_t longest = 60;
  std::string name = layer.name.substr(layer.name.size() - std::min(longest, layer.name.size()));
  if (!layer.part.empty()) name += "_" + layer.part;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.' ? c : '_';
  return std::to_string(layer.operation) + "_" + name + (inputs > 1 ? "_" + std::to_string(input + 1) : "") + ".npy";
}

/// The inputs that overflow, one .npy per layer and input; their names.
std::vector<std::string> write_examples(const ProveReport& report, const std::filesystem::path& folder) {
  std::vector<std::string> files;
  create_folder(folder);
  for (const LayerProof& layer : report.layers) {
    if (!layer.example) continue;
    const std::vector<Tensor>& inputs = layer.example->inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      files.push_back((folder / file_name(layer, i, inputs.size())).string());
      write_npy(files.back(), inputs[i]);
    }
  }
  for (const StageProof& stage : report.behind) {
    LayerProof named;
    named.operation = stage.operation;
    named.name = stage.name;
    named.part = stage.part.empty() ? "behind" : stage.part;
    for (std::size_t i = 0; i < stage.inputs.size(); ++i) {
      files.push_back((folder / file_name(named, i, stage.inputs.size())).string());
      write_npy(files.back(), stage.inputs[i]);
    }
  }
  return files;
}

int answer_about_pairs(const ProveArguments& options) {
  const std::vector<PairProof> layers = prove_pairs(read_users_model(options.model));
  std::cout << (options.json ? to_json(layers, options.model) : to_text(layers, options.model));
  const bool same = std::ranges::all_of(layers, [](const PairProof& layer) { return layer.verdict == PairVerdict::same; });
  return same ? equal : different;
}

int run(const ProveArguments& options) {
  if (options.without_vnni) return answer_about_pairs(options);
  if (options.backend.empty())
    throw Error(ErrorCode::bad_input, "prove", "--backend is needed; without it only --without-vnni is answered");
  const Model model = read_users_model(options.model);
  const SpecSheet sheet = with_placements(reported_backend(options.backend, options.settings), {model, options.model});
  const std::vector<Tensor> inputs = options.inputs.empty() ? std::vector<Tensor>{} : read_inputs(model, options.inputs);
  Progress progress("proving");
  ProveOptions request{.range = options.range == "data" ? InputRange::data : InputRange::type,
                       .bits = options.bits,
                       .threads = options.threads,
                       .on_progress = [&](std::size_t done, std::size_t all) { progress.show(done, all); }};
  if (!options.layer.empty()) request.layer = options.layer;
  ProveReport report = prove(model, sheet, inputs, request);
  progress.clear();
  report.model = options.model;
  draw_if_asked(report, options.plot);
  const auto files = options.folder.empty() ? std::vector<std::string>{} : write_examples(report, options.folder);
  std::cout << (options.json ? json_with_placements(to_json(report), model, {&sheet})
                             : to_text(report, {.width = terminal_width()}, options.assumptions) + placement_text(model, {&sheet}));
  for (const std::string& file : files)
    if (!options.json) std::cout << "written: " << file << "\n";
  if (report.layers.empty() && report.behind.empty() && !report.float16)
    throw Error(ErrorCode::bad_input, options.model,
                "nothing was proven: no operation adds anything up in " + sheet.name + "'s arithmetic");
  return report.holds(options.assumptions) ? equal : different;
}

}  // namespace

void add_prove(CommandLine& line) {
  Command command = line.add("prove", "bound every running sum: which accumulators cannot overflow, and inputs for those that can");
  const auto options = std::make_shared<ProveArguments>();
  add_model(command, options->model).required();
  add_backend_option(command, options->backend);
  add_set_option(command, options->settings);
  add_placement_options(command);
  add_input_range_option(command, options->range);
  add_input_option(command, options->inputs);
  command.option("--bits", options->bits, "ask about accumulators of this width instead of the device's").within(2, 64);
  add_layer_option(command, options->layer);
  add_output_option(command, options->folder, "DIR");
  command.renamed("--write", "--output");
  add_threads_option(command, options->threads);
  add_plot_option(command, options->plot);
  add_memory_option(command);
  add_force_option(command);
  add_accept_assumptions_option(command, options->assumptions);
  command.flag("--without-vnni", options->without_vnni, "ask instead whether x86 processors without VNNI compute the same");
  add_json_option(command, options->json);
  command.note("--output: the inputs that overflow, one .npy per layer.");
  command.footer(
      "Exit status: 0 every sum is safe (every layer the same), 1 one can overflow (may differ) or it rests on assumptions, 2 error, or "
      "nothing to prove.");
  command.runs([options] { return run(*options); });
}

}  // namespace lastbit::tool
