// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <memory>

#include "backend_option.hpp"
#include "common_options.hpp"
#include "html_option.hpp"
#include "lastbit/error.hpp"
#include "lastbit/io/tflite.hpp"
#include "lastbit/json_value.hpp"
#include "lastbit/quantizer.hpp"
#include "lastbit/ranges.hpp"
#include "layer_plot.hpp"
#include "memory_option.hpp"
#include "model_inputs.hpp"
#include "model_option.hpp"
#include "output_option.hpp"
#include "report/documents.hpp"
#include "samples.hpp"
#include "subcommand.hpp"
#include "view_option.hpp"

namespace lastbit::tool {
namespace {

struct QuantizeArguments {
  std::string model;
  std::string backend;
  std::string output, ranges, save_ranges;
  std::vector<std::string> settings, inputs;
  ViewRequest view{};
  std::int64_t most_samples = 0;
  int threads = 1;
  bool list = false;
  std::filesystem::path plot{}, html{};
  bool json = false;
};

QuantizerOptions quantizer_options(const std::vector<std::string>& settings) {
  QuantizerOptions options;
  for (const std::string& setting : settings) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos) throw Error(ErrorCode::bad_input, "--set " + setting, "must be OPTION=VALUE");
    options[setting.substr(0, equals)] = setting.substr(equals + 1);
  }
  return options;
}

std::string values_of(const QuantizerOption& option) {
  std::string text;
  for (const std::string& value : option.values) text += (text.empty() ? "" : " | ") + value;
  return text;
}

void list_text(const Quantizer& quantizer, const std::string& backends) {
  std::cout << quantizer.name << ": " << quantizer.title << "\n  for " << backends << "\n";
  for (const QuantizerOption& option : quantizer.options) {
    std::cout << "  --set " << option.name << "=" << option.default_value;
    if (!option.values.empty()) std::cout << "  (" << values_of(option) << ")";
    std::cout << "\n      " << option.meaning << "\n";
  }
}

JsonValue list_json(const Quantizer& quantizer, const std::vector<std::string>& backends) {
  JsonValue json{{"quantizer", quantizer.name}, {"title", quantizer.title}, {"backends", backends}};
  json["options"] = JsonValue::array();
  for (const QuantizerOption& option : quantizer.options) {
    json["options"].push_back(
        {{"name", option.name}, {"default", option.default_value}, {"values", option.values}, {"meaning", option.meaning}});
  }
  return json;
}

/// Of one backend's quantiser, or of all.
int list_options(const QuantizeArguments& options) {
  const std::string only = options.backend.empty() ? "" : named_backend(options.backend).quantizer;
  JsonValue list = JsonValue::array();
  for (const Quantizer& quantizer : quantizers()) {
    if (!options.backend.empty() && quantizer.name != only) continue;
    std::vector<std::string> backends;
    std::string text;
    for (const SpecSheet& sheet : builtin_backends()) {
      if (sheet.quantizer != quantizer.name) continue;
      backends.push_back(sheet.name);
      text += (text.empty() ? "" : ", ") + sheet.name;
    }
    if (options.json) list.push_back(list_json(quantizer, backends));
    else list_text(quantizer, text);
  }
  if (options.json) std::cout << list.text(2) << "\n";
  return equal;
}

void require(const std::string& value, const std::string& option) {
  if (value.empty()) throw Error(ErrorCode::bad_input, "quantize", option + " is needed");
}

/// How many paddings became operations, which a .tflite file cannot say otherwise.
std::size_t write_quantized(const std::string& file, const Model& model) {
  const Model written = file.ends_with(".tflite") ? with_pads(model) : model;
  write_model(file, written);
  return written.operations.size() - model.operations.size();
}

int run(const QuantizeArguments& options) {
  if (options.list) return list_options(options);
  require(options.model, "MODEL");
  require(options.backend, "--backend");
  if (options.inputs.empty() && options.ranges.empty())
    throw Error(ErrorCode::bad_input, "quantize", "--input is needed: samples to calibrate with; or --ranges");
  if (!options.output.empty()) require_model_name("--output", options.output);
  const SpecSheet sheet = selected_backend(options.backend, {});
  const Model model = read_given_model(options.model);  // what runs is another: its problems are told as they are found
  const RangeFile ranges = options.ranges.empty() ? RangeFile{} : read_ranges(options.ranges);
  std::vector<std::vector<Tensor>> samples;
  if (!options.inputs.empty()) samples = read_samples(model, options.inputs, options.most_samples);
  const auto [result, chosen] = quantize(model, sheet, samples, quantizer_options(options.settings), options.threads, ranges);
  const std::size_t pads = options.output.empty() ? 0 : write_quantized(options.output, result.model);
  if (!options.save_ranges.empty()) write_ranges(options.save_ranges, chosen);
  draw_if_asked(result.report, options.plot);
  if (!options.html.empty()) write_html(document_of(result.report, options.model), options.html);
  std::cout << (options.json ? to_json(result.report) : to_text(result.report, view_from(options.view, nullptr)));
  for (const std::string& file : {options.output, options.save_ranges})
    if (!options.json && !file.empty()) std::cout << "Written to " << file << ".\n";
  if (!options.json && pads > 0)
    std::cout << pads << (pads == 1 ? " padding is a pad" : " paddings are pads") << " there: .tflite has SAME and VALID alone.\n";
  return equal;
}

}  // namespace

void add_quantize(CommandLine& line) {
  Command command = line.add("quantize", "turn a float network into a model of a device, by the vendor's rules, and show what is lost");
  const auto options = std::make_shared<QuantizeArguments>();
  add_model(command, options->model);
  add_backend_option(command, options->backend);
  add_input_option(command, options->inputs);
  command.renamed("--calibrate", "--input");
  command.renamed("--data", "--input");
  add_samples_option(command, options->most_samples);
  add_set_option(command, options->settings).value_name("OPTION=VALUE");
  command.option("--ranges", options->ranges, "take ranges from a file, instead of calibrating").value_name("FILE");
  command.option("--save-ranges", options->save_ranges, "write the ranges that were chosen, for --ranges").value_name("FILE");
  add_output_option(command, options->output, "FILE.json|.tflite");
  add_view_options(command, options->view);
  add_threads_option(command, options->threads);
  command.flag("--list-options", options->list, "show the quantisers, or that of --backend, with their options");
  add_plot_option(command, options->plot);
  add_html_option(command, options->html);
  add_memory_option(command);
  add_force_option(command);
  add_json_option(command, options->json);
  command.note(
      "MODEL is a float network; of a quantised one, the real values are taken. --input: samples to calibrate with.\n"
      "--ranges: a table tensor,min,max or tensor,scale,zero_point; what N2D2, hb_mapper, TensorRT, POT or NNCF wrote; or a\n"
      "quantised model. What it lacks is calibrated with --input; if it lacks nothing, --input is not needed.\n"
      "--layer: a tensor. --sort, --only-differing: by what is clipped (differing) or lost (largest, own) of a tensor.\n"
      "--output: the model, a .json file with .npy files beside it for large constants, or a .tflite.");
  command.runs([options] { return run(*options); });
}

}  // namespace lastbit::tool
