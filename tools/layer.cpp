// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/layer.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>

#include "backend_option.hpp"
#include "common_options.hpp"
#include "lastbit/compare.hpp"
#include "lastbit/error.hpp"
#include "lastbit/explain.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/json_value.hpp"
#include "lastbit/trace.hpp"
#include "layer_request.hpp"
#include "memory_option.hpp"
#include "output_option.hpp"
#include "subcommand.hpp"

namespace lastbit::tool {
namespace {

struct LayerArguments {
  LayerRequest request;
  std::string backend, expected;
  std::vector<std::string> settings, settings_a;
  std::string output;
  std::string trace;
  std::string emitted_model;
  bool json = false;
};

/// What a user wants to know of an array at a glance.
struct Summary {
  std::string name, role, type, shape, range, first, scale;
};

std::string number_text(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

/// Every value as a number, and how it is written: an integer with all its digits.
struct Numbers {
  std::vector<double> values;
  bool integers = true;
  [[nodiscard]] std::string text(double value) const {
    return integers ? std::to_string(static_cast<std::int64_t>(value)) : number_text(value);
  }
};

Numbers numbers_of(const Tensor& tensor) {
  Numbers numbers{{}, is_integer(tensor.type())};
  visit_element_type(tensor.type(), [&]<class T>() {
    for (const T value : tensor.values<T>()) numbers.values.push_back(static_cast<double>(value));
  });
  return numbers;
}

std::string scale_text(const Quantization& quantization) {
  if (!quantization.present()) return "";
  if (quantization.per_channel()) return std::to_string(quantization.scales.size()) + " scales";
  const std::string zero = quantization.zero_point() == 0 ? "" : ", zero point " + std::to_string(quantization.zero_point());
  return "scale " + number_text(quantization.scale()) + zero;
}

Summary summary_of(const ModelTensor& tensor, const std::string& role, const Tensor& values) {
  constexpr std::size_t shown = 8;
  const Numbers numbers = numbers_of(values);
  const auto [low, high] = std::ranges::minmax(numbers.values);
  std::string first;
  for (std::size_t i = 0; i < std::min(shown, numbers.values.size()); ++i) first += (i == 0 ? "" : " ") + numbers.text(numbers.values[i]);
  if (numbers.values.size() > shown) first += " …";
  return {tensor.name,
          role,
          std::string(name_of(values.type())),
          values.shape().text(),
          numbers.text(low) + " … " + numbers.text(high),
          first,
          scale_text(tensor.quantization)};
}

/// Everything that one run gives.
struct Result {
  Layer layer;
  NamedTrace trace;
  std::vector<Tensor> outputs;  ///< in the user's layout
  std::vector<Summary> arrays;
  std::vector<AppliedScale> scales;
  std::optional<CompareReport> report;
};

/// "1073741824/2^39", or the real number that the device multiplies by.
std::string scale_text(const AppliedScale& scale) {
  if (scale.in_float) return number_text(scale.real);
  return std::to_string(scale.multiplier) + "/2^" + std::to_string(scale.shift);
}

/// "multiplier 1073741824, shift 39: the sums times 0.00195312"; of channels the first ones.
void print_scales(const std::vector<AppliedScale>& scales) {
  if (scales.empty()) return;
  const AppliedScale& first = scales.front();
  if (scales.size() == 1 && !first.in_float) std::cout << "multiplier " << first.multiplier << ", shift " << first.shift << ": the sum ";
  else if (scales.size() == 1) std::cout << "the sum ";
  if (scales.size() == 1) {
    std::cout << "times " << number_text(first.real) << (first.in_float ? ", in floating point" : "") << "\n";
    return;
  }
  constexpr std::size_t shown = 4;
  std::cout << (first.in_float ? "the sums of " : "multiplier/2^shift of ") << scales.size() << " channels"
            << (first.in_float ? " times" : ":");
  for (std::size_t c = 0; c < std::min(shown, scales.size()); ++c) std::cout << " " << scale_text(scales[c]);
  std::cout << (scales.size() > shown ? " …" : "") << "\n";
}

Result compute(const LayerArguments& options) {
  const LayerDescription description = describe_layer(options.request);
  const std::string name = options.backend.empty() ? description.backend : options.backend;
  if (name.empty()) throw Error(ErrorCode::bad_input, "--backend", "is needed: the device; lastbit backends lists them");
  const SpecSheet sheet = reported_backend(name, options.settings);
  Result result{.layer = make_layer(description, sheet.backend), .trace = {}, .outputs = {}, .arrays = {}, .scales = {}, .report = {}};
  const Model& model = result.layer.model;
  result.trace = run_named(model, sheet, result.layer.inputs);
  for (const ModelTensor& tensor : model.tensors)
    if (tensor.constant) result.arrays.push_back(summary_of(tensor, "constant", *tensor.constant));
  for (std::size_t i = 0; i < model.inputs.size(); ++i) {
    result.arrays.insert(result.arrays.begin() + static_cast<std::ptrdiff_t>(i),
                         summary_of(model.tensor(model.inputs[i]), "input", result.layer.inputs[i]));
  }
  for (const std::int32_t output : model.outputs) {
    result.outputs.push_back(in_users_layout(result.layer, result.trace.find(output)->values));
    result.arrays.push_back(summary_of(model.tensor(output), "output", result.outputs.back()));
  }
  result.scales = applied_scales(model, sheet.backend, result.layer.inputs);
  if (!options.expected.empty()) {
    result.report = compare_backends(model, reported_backend(options.expected, options.settings_a), sheet, result.layer.inputs);
    result.report->model = "one " + model.name;
  }
  return result;
}

/// One output: the file itself; several: FILE_1.npy, FILE_2.npy, ….
std::vector<std::string> write_outputs(const std::vector<Tensor>& outputs, const std::string& file) {
  std::vector<std::string> files;
  if (file.empty()) return files;
  const std::filesystem::path path = file;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string name = path.stem().string() + "_" + std::to_string(i + 1) + path.extension().string();
    files.push_back(outputs.size() == 1 ? file : (path.parent_path() / name).string());
    write_npy(files.back(), outputs[i]);
  }
  return files;
}

void print_arrays(const std::vector<Summary>& arrays) {
  std::size_t name = 0, shape = 0, range = 0;
  for (const Summary& array : arrays) {
    name = std::max(name, array.name.size());
    shape = std::max(shape, array.type.size() + 1 + array.shape.size());
    range = std::max(range, array.range.size());
  }
  for (const Summary& array : arrays) {
    const std::string what = array.type + " " + array.shape;
    std::cout << "  " << array.name << std::string(name + 2 - array.name.size(), ' ') << what << std::string(shape + 2 - what.size(), ' ')
              << array.range << std::string(range + 2 - array.range.size(), ' ') << array.first
              << (array.scale.empty() ? "" : "  (" + array.scale + ")") << "\n";
  }
}

void print_text(const Result& result, const LayerArguments& options, const std::vector<std::string>& files) {
  std::cout << result.layer.model.name << " on " << result.trace.backend << ", " << result.trace.path << " path\n";
  print_arrays(result.arrays);
  print_scales(result.scales);
  const Events& events = result.trace.events.at(0).events;
  std::cout << "accumulator overflows: " << events.accumulator_overflows;
  if (events.outputs > 0) std::cout << "; outputs saturated: " << events.saturated_outputs << " of " << events.outputs;
  if (events.saturated_stages > 0) std::cout << "; saturated by stages before: " << events.saturated_stages;
  if (events.wrapped_stages > 0) std::cout << "; wrapped by stages before: " << events.wrapped_stages;
  std::cout << "\n";
  for (const std::string& file : files) std::cout << "written to " << file << "\n";
  if (!options.trace.empty()) std::cout << "trace written to " << options.trace << "\n";
  if (!options.emitted_model.empty()) std::cout << "model written to " << options.emitted_model << "\n";
  if (!result.trace.assumptions.empty()) std::cout << "This result rests on assumptions:\n";
  for (const Assumption& assumption : result.trace.assumptions) std::cout << "  " << assumption.rule << ": " << assumption.source << "\n";
  if (result.report) std::cout << "\n" << to_text(*result.report);
}

void print_json(const Result& result, const std::vector<std::string>& files) {
  const Events& events = result.trace.events.at(0).events;
  JsonValue json{
      {"op", result.layer.model.name}, {"backend", result.trace.backend}, {"path", result.trace.path}, {"arrays", JsonValue::array()}};
  for (const Summary& array : result.arrays) {
    json["arrays"].push_back({{"name", array.name}, {"role", array.role}, {"dtype", array.type}, {"shape", array.shape}});
  }
  json["outputs"] = JsonValue::array();
  for (std::size_t i = 0; i < result.outputs.size(); ++i) {
    const Tensor& output = result.outputs[i];
    const Numbers numbers = numbers_of(output);
    const auto [low, high] = std::ranges::minmax(numbers.values);
    json["outputs"].push_back({{"dtype", name_of(output.type())},
                               {"shape", output.shape().sizes()},
                               {"min", low},
                               {"max", high},
                               {"file", i < files.size() ? files[i] : ""}});
  }
  json["output_scales"] = JsonValue::array();
  for (const AppliedScale& scale : result.scales) {
    JsonValue one{{"scale", scale.real}};
    if (!scale.in_float) one["multiplier"] = scale.multiplier, one["shift"] = scale.shift;
    json["output_scales"].push_back(std::move(one));
  }
  json["events"] = {{"accumulator_overflows", events.accumulator_overflows},
                    {"saturated_outputs", events.saturated_outputs},
                    {"outputs", events.outputs},
                    {"saturated_stages", events.saturated_stages},
                    {"wrapped_stages", events.wrapped_stages}};
  json["assumptions"] = JsonValue::array();
  for (const Assumption& assumption : result.trace.assumptions)
    json["assumptions"].push_back({{"rule", assumption.rule}, {"source", assumption.source}});
  if (result.report) json["compare"] = JsonValue::parse(to_json(*result.report));
  std::cout << json.text(2) << "\n";
}

int run(const LayerArguments& options) {
  if (!options.emitted_model.empty()) require_model_name("--emit-model", options.emitted_model);
  const Result result = compute(options);
  const std::vector<std::string> files = write_outputs(result.outputs, options.output);
  if (!options.trace.empty()) write_trace(options.trace, result.trace);
  if (!options.emitted_model.empty()) write_model(options.emitted_model, model_of_users_arrays(result.layer));
  options.json ? print_json(result, files) : print_text(result, options, files);
  return !result.report || result.report->equal() ? equal : different;
}

}  // namespace

void add_layer(CommandLine& line) {
  Command command = line.add("layer", "compute one operation from .npy arrays, without a model file");
  const auto options = std::make_shared<LayerArguments>();
  add_layer_options(command, options->request);
  add_backend_option(command, options->backend);
  add_set_option(command, options->settings);
  add_side_a(command, options->expected, options->settings_a);
  command.renamed("--compare", "--a");
  command.renamed("--set-compare", "--set-a");
  add_output_option(command, options->output, "FILE.npy");
  add_trace_option(command, options->trace);
  command.option("--emit-model", options->emitted_model, "write the layer as a model, for run, compare, explain and verify")
      .value_name("FILE.json|.tflite");
  add_memory_option(command);
  add_force_option(command);
  add_json_option(command, options->json);
  command.note(
      "Every other option is an attribute of the operation: --stride 2,2 --padding same --activation relu --axis 3 …\n"
      "--a: compute the layer there too, and show where --backend differs. --output: in the layout of the input; --trace: channels last.");
  command.footer("Exit status: 0 done (with --a: every value equal), 1 some differ, 2 error.");
  command.runs([options, attributes = command.keep_unknown()] {
    options->request.attributes = attributes();
    return run(*options);
  });
}

}  // namespace lastbit::tool
