// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <set>

#include "backend_option.hpp"
#include "common_options.hpp"
#include "lastbit/compare.hpp"
#include "lastbit/error.hpp"
#include "lastbit/io/model_file.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/io/output.hpp"
#include "lastbit/json_value.hpp"
#include "lastbit/one_operation.hpp"
#include "lastbit/printable.hpp"
#include "lastbit/real_inputs.hpp"
#include "lastbit/sums_on.hpp"
#include "lastbit/trace.hpp"
#include "log.hpp"
#include "memory_option.hpp"
#include "model_inputs.hpp"
#include "output_option.hpp"
#include "placement_option.hpp"
#include "problem.hpp"
#include "subcommand.hpp"

namespace lastbit::tool {
namespace {

namespace fs = std::filesystem;

struct RunArguments {
  std::string model;
  std::string backend;
  std::vector<std::string> settings;
  std::vector<std::string> inputs;
  std::string output;
  std::string trace;
  std::int64_t trace_samples = 4;
  int threads = 1;
  bool reset_states = false;
  bool json = false;
};

struct OutputReport {
  const NamedTensor* tensor;
  std::string file;               ///< empty: in the trace alone
  std::vector<std::int64_t> top;  ///< per sample: the position of the largest value
};

/// A file name of letters, digits, '.', '-' and '_', unlike every other one.
std::string file_name(const std::string& tensor, std::int32_t index, std::set<std::string>& used) {
  std::string name;
  for (const char c : tensor.substr(0, 200)) {
    const bool keep = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || (c == '.' && !name.empty());
    name += keep ? c : '_';
  }
  if (name.empty() || !used.insert(name).second) name += "_" + std::to_string(index);
  used.insert(name);
  return name + ".npy";
}

std::vector<OutputReport> describe_outputs(const Model& model, const NamedTrace& trace) {
  std::vector<OutputReport> outputs;
  for (const std::int32_t output : model.outputs) {
    const NamedTensor& tensor = *trace.find(output);
    outputs.push_back({&tensor, {}, top_positions(tensor.values, model.tensor(output).shape.element_count())});
  }
  return outputs;
}

/// In a folder of outputs: a line for each file that runs have written there, below a first one that says so.
constexpr const char* list_of_outputs = ".lastbit-outputs";
constexpr const char* head_of_list = "files that lastbit run wrote here:";

std::set<std::string> listed_outputs(const fs::path& folder) {
  std::set<std::string> files;
  std::ifstream list(folder / list_of_outputs);
  std::string line;
  if (!std::getline(list, line) || line != head_of_list) return files;
  while (std::getline(list, line))
    if (line.ends_with(".npy") && fs::path(line).filename() == line) files.insert(line);
  return files;
}

void write_outputs(std::vector<OutputReport>& outputs, const fs::path& folder) {
  create_folder(folder);
  std::set<std::string> used;
  for (OutputReport& output : outputs) {
    const fs::path file = folder / file_name(output.tensor->name, output.tensor->index, used);
    write_npy(file, output.tensor->values);
    output.file = file.lexically_normal().string();
  }
}

/// Into a folder of the user's, where no output of an earlier run is to be taken for one of this.
void write_outputs_alone(std::vector<OutputReport>& outputs, const fs::path& folder) {
  std::set<std::string> files = listed_outputs(folder);
  write_outputs(outputs, folder);
  const auto is_new = [&](const std::string& file) {
    return std::ranges::any_of(outputs, [&](const OutputReport& output) { return fs::path(output.file).filename() == file; });
  };
  for (const std::string& file : files)
    if (!is_new(file)) remove_older(folder / file);
  for (const OutputReport& output : outputs) files.insert(fs::path(output.file).filename().string());
  std::erase_if(files, [&](const std::string& file) { return !fs::exists(folder / file); });
  std::string list = std::string(head_of_list) + "\n";
  for (const std::string& file : files) list += file + "\n";
  write_text_file(folder / list_of_outputs, list);
}

std::string list_text(const std::vector<std::int64_t>& values) {
  constexpr std::size_t shown = 16;
  std::string text;
  for (std::size_t i = 0; i < std::min(shown, values.size()); ++i) text += " " + std::to_string(values[i]);
  return values.size() > shown ? text + " … (" + std::to_string(values.size()) + " samples)" : text;
}

/// What computes floats: the device, or, of some operations, the golden path in its place. Empty: nothing does.
struct Floats {
  std::string of_device, not_emulated;
};

Floats floats_of(const Model& model, const SpecSheet& sheet) {
  const NetworkSums sums = sums_on(model, sheet.backend);
  const std::string prepared = sums.golden > 0 && !sheet.quantizer.empty() ? "; lastbit quantize prepares it for the device" : "";
  if (sums.what == SumsOf::device_floats) return {float_sums_text(sums, sheet.name) + prepared, {}};
  if (sheet.backend.float32 != Float32Operations::golden) return {};
  const std::size_t golden = float32_operations(model, sheet.backend).size();
  if (golden == 0) return {};
  return {{}, sheet.name + ": " + float_path_text(golden, model)};
}

std::string text_of(const Floats& floats) {
  if (!floats.not_emulated.empty()) return "Not emulated: " + floats.not_emulated + ".\n";
  return floats.of_device.empty() ? "" : floats.of_device + "\n";
}

void print_text(const NamedTrace& trace, const std::vector<OutputReport>& outputs, const std::string& elsewhere,
                const RunArguments& options) {
  std::cout << options.model << " on " << trace.backend << ", " << trace.path << " path\n" << elsewhere;
  for (const OutputReport& output : outputs) {
    const Tensor& values = output.tensor->values;
    std::cout << "output '" << output.tensor->name << "': " << name_of(values.type()) << " " << values.shape().text()
              << (output.file.empty() ? "" : ", written to " + output.file) << "\n  largest value at:" << list_text(output.top) << "\n";
  }
  if (!options.trace.empty()) {
    std::cout << count_of(static_cast<std::int64_t>(trace.tensors.size()), "tensor") << " and trace.json written to " << options.trace;
    if (options.trace_samples > 0)
      std::cout << "; of a batch, the outputs whole, the others' first " << count_of(options.trace_samples, "sample");
    std::cout << "\n";
  }
  if (!trace.assumptions.empty()) std::cout << "This result rests on assumptions:\n";
  for (const Assumption& assumption : trace.assumptions) std::cout << "  " << assumption.rule << ": " << assumption.source << "\n";
}

/// Every operation: what it took and, where it is sums of products, how many of them may be added in any order, and why.
JsonValue layers_of(const Emulator& emulator, const Trace& trace) {
  auto layers = JsonValue::array();
  const Model& model = emulator.model();
  for (std::size_t i = 0; i < trace.costs.size(); ++i) {
    const Operation& operation = model.operations[i];
    const Placement* const placement = emulator.placement(i);
    const SumRoutes& sums = trace.costs[i].sums;
    JsonValue layer{{"number", i},
                    {"name", layer_name(model, i)},
                    {"operation", name_of(operation.kind)},
                    {"path", trace.path},
                    {"seconds", trace.costs[i].seconds}};
    if (placement != nullptr) layer["computed_by"] = placement->sheet.name;
    const std::int64_t proven = sums.order_free + sums.proven_by_type + sums.proven_by_input + sums.proven_by_output;
    const std::int64_t outputs = proven + sums.step_by_step;
    if (outputs > 0) {
      layer["proven"] = static_cast<double>(proven) / static_cast<double>(outputs);
      layer["sums"] = {{"outputs", outputs},
                       {"order_free", sums.order_free},
                       {"proven_by_type", sums.proven_by_type},
                       {"proven_by_input", sums.proven_by_input},
                       {"proven_by_output", sums.proven_by_output},
                       {"step_by_step", sums.step_by_step}};
    }
    layers.push_back(std::move(layer));
  }
  return layers;
}

std::string texts_of(const std::vector<std::string>& readings, const std::vector<RealInput>& inputs) {
  std::string text;
  for (const std::string& reading : readings) text += reading + "\n";
  for (const RealInput& input : inputs) text += text_of(input);
  return text;
}

void print_json(const NamedTrace& trace, const std::vector<OutputReport>& outputs, const std::vector<std::string>& readings,
                const std::vector<RealInput>& inputs, const Floats& floats, JsonValue layers, const RunArguments& options) {
  JsonValue report{{"model", options.model}, {"backend", trace.backend}, {"path", trace.path}};
  if (!floats.of_device.empty()) report["float_network"] = floats.of_device;
  if (!floats.not_emulated.empty()) report["not_emulated"].push_back(floats.not_emulated);
  for (const std::string& reading : readings) report["readings"].push_back(reading);
  for (const RealInput& input : inputs) {
    report["real_inputs"].push_back({{"name", input.name},
                                     {"least", input.least},
                                     {"largest", input.largest},
                                     {"codes_used", input.codes_used},
                                     {"codes", input.codes},
                                     {"clipped", input.clipped},
                                     {"values", input.values},
                                     {"suspicion", input.suspicion()}});
  }
  report["outputs"] = JsonValue::array();
  for (const OutputReport& output : outputs) {
    const Tensor& values = output.tensor->values;
    report["outputs"].push_back({{"name", output.tensor->name},
                                 {"file", output.file},
                                 {"dtype", name_of(values.type())},
                                 {"shape", values.shape().sizes()},
                                 {"largest_value_at", output.top}});
  }
  report["assumptions"] = JsonValue::array();
  for (const Assumption& assumption : trace.assumptions)
    report["assumptions"].push_back({{"rule", assumption.rule}, {"source", assumption.source}});
  report["layers"] = std::move(layers);
  std::cout << report.text(2) << "\n";
}

int run(const RunArguments& options) {
  SpecSheet sheet = reported_backend(options.backend, options.settings);
  const Model model = read_users_model(options.model);
  sheet = with_placements(std::move(sheet), {model, options.model});
  const Emulator emulator(model, sheet.backend);
  const bool traced = !options.trace.empty();
  std::vector<std::string> readings;
  const std::vector<Tensor> inputs = read_inputs(model, options.inputs, &readings);
  const std::vector<RealInput> given = real_inputs(model, sheet.backend, std::vector<TensorView>(inputs.begin(), inputs.end()));
  const RunOptions how{.threads = options.threads,
                       .keep_all = traced,
                       .count_events = traced,
                       .measure = options.json,
                       .keep_samples = options.trace_samples,
                       .states = options.reset_states ? StatesBetweenSamples::reset : StatesBetweenSamples::carried};
  Trace computed = [&] {
    const Stopwatch stopwatch("run " + sheet.name);
    return emulator.run(inputs, how);
  }();
  auto layers = layers_of(emulator, computed);
  NamedTrace trace = named(std::move(computed), emulator.model(), sheet);
  trace.model = options.model;
  auto outputs = describe_outputs(emulator.model(), trace);
  if (!options.output.empty()) write_outputs_alone(outputs, options.output);
  else if (!traced) write_outputs(outputs, ".");
  if (traced) write_trace(options.trace, trace);
  const Floats floats = floats_of(model, sheet);
  if (options.json) print_json(trace, outputs, readings, given, floats, std::move(layers), options);
  else print_text(trace, outputs, text_of(floats) + placement_text(model, {&sheet}) + texts_of(readings, given), options);
  return equal;
}

}  // namespace

void add_run(CommandLine& line) {
  Command command = line.add("run", "compute a model on a backend and write its outputs");
  const auto options = std::make_shared<RunArguments>();
  add_model(command, options->model).required();
  add_backend_option(command, options->backend).required();
  add_set_option(command, options->settings);
  add_placement_options(command);
  add_input_option(command, options->inputs);
  add_output_option(command, options->output, "DIR");
  add_trace_option(command, options->trace);
  command
      .option("--trace-samples", options->trace_samples,
              "of a batch, how many samples the trace holds of tensors that are no outputs; 0: all, as of outputs")
      .within(std::int64_t{0}, std::int64_t{1} << 31)
      .shows_default();
  add_threads_option(command, options->threads);
  command.flag("--reset-states", options->reset_states,
               "of a network that remembers (svdf, lstm): begin every sample anew; otherwise a batch is a sequence");
  add_memory_option(command);
  add_force_option(command);
  add_json_option(command, options->json);
  command.note(
      "--output: one .npy per output, named after it; by default in the current folder, or none with --trace.\n"
      "--json: also the time of every layer and the share of its sums that is proven.");
  command.runs([options] { return run(*options); });
}

}  // namespace lastbit::tool
