// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/identify.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <system_error>
#include <utility>

#include "backend_option.hpp"
#include "common_options.hpp"
#include "dump_option.hpp"
#include "html_option.hpp"
#include "lastbit/compare.hpp"
#include "lastbit/error.hpp"
#include "lastbit/io/model_file.hpp"
#include "lastbit/io/npz.hpp"
#include "lastbit/io/output.hpp"
#include "lastbit/layer.hpp"
#include "lastbit/misread.hpp"
#include "lastbit/printable.hpp"
#include "lastbit/rules.hpp"
#include "log.hpp"
#include "memory_option.hpp"
#include "model_inputs.hpp"
#include "output_option.hpp"
#include "problem.hpp"
#include "progress.hpp"
#include "report/documents.hpp"
#include "subcommand.hpp"

namespace lastbit::tool {
namespace {

struct IdentifyArguments {
  std::string model, output, name = "identified", base, probe;
  std::vector<std::string> layers, inputs, dumps;
  std::size_t top = 3;
  unsigned seed = 1;
  double max_time = 600;
  int threads = 1;
  std::filesystem::path html{};
  bool json = false, free_weights = false, as_is = false;
};

[[noreturn]] void fail(const std::string& where, const std::string& what) { throw Error(ErrorCode::bad_input, where, what); }

/// An output as the user wrote it, in the layer's own order of axes.
Tensor in_layer_order(const Layer& layer, const std::string& file) {
  Tensor output = read_array(file);
  const Shape& shape = layer.model.tensor(layer.model.outputs[0]).shape;
  if (output.element_count() != shape.element_count())
    throw Error(ErrorCode::shape_mismatch, file, output.shape().text() + "; the layer's output is " + shape.text());
  const auto& permutation = layer.output_permutation;
  if (permutation.empty()) {
    output.reshape(shape);
    return output;
  }
  std::vector<std::int64_t> sizes, back(permutation.size());
  for (std::size_t i = 0; i < permutation.size(); ++i) {
    sizes.push_back(shape[static_cast<std::size_t>(permutation[i])]);
    back[static_cast<std::size_t>(permutation[i])] = static_cast<std::int64_t>(i);
  }
  output.reshape(Shape(std::move(sizes)));
  return permuted(output, back);
}

bool is_layer_description(const std::string& file) {
  std::error_code error;
  if (!file.ends_with(".json") || !std::filesystem::is_regular_file(file, error)) return false;
  std::ifstream stream(file);
  const std::string text((std::istreambuf_iterator<char>(stream)), {});
  return text.find("lastbit.layer.v1") != std::string::npos;
}

/// Files of inputs, layer by layer: each takes as many as it has.
class InputFiles {
 public:
  explicit InputFiles(const std::vector<std::string>& files) : files_(files) {}
  [[nodiscard]] bool given() const { return !files_.empty(); }
  const std::string& next(const std::string& layer) {
    if (used_ == files_.size()) fail("--input", count_of(std::ssize(files_), "input") + "; '" + layer + "' needs another one");
    return files_[used_++];
  }
  void require_all_used() const {
    if (used_ != files_.size()) fail("--input", count_of(std::ssize(files_), "input") + "; the layers have " + std::to_string(used_));
  }

 private:
  const std::vector<std::string>& files_;
  std::size_t used_ = 0;
};

IdentifyPair pair_of_layer(const std::string& file, InputFiles& inputs, const std::string& output) {
  LayerDescription description = read_layer(file);
  const std::size_t count = inputs.given() ? make_layer(description, no_rules).model.inputs.size() : 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string& input = inputs.next(file);
    Tensor values = read_array(input);
    const Shape& shape = description.operands[i]->values.shape();
    if (values.element_count() != shape.element_count())
      throw Error(ErrorCode::shape_mismatch, input, values.shape().text() + "; the layer's input is " + shape.text());
    values.reshape(shape);
    description.operands[i]->values = std::move(values);
  }
  Layer layer = make_layer(description, no_rules);
  Tensor values = in_layer_order(layer, output);
  return {file, std::move(layer.model), std::move(layer.inputs), std::move(values)};
}

/// The one operation of a model that moves more than places: an .onnx file's layer stands between transpositions.
IdentifyPair pair_of_model(const std::string& file, InputFiles& inputs, const std::string& output) {
  const Model model = read_users_model(file);
  const auto computing = std::ranges::count_if(model.operations, [](const Operation& each) { return !is_movement(each.kind); });
  if (computing != 1) fail(file, "has " + count_of(computing, "operation") + "; a layer has one (for a network give MODEL --dump DIR)");
  if (!inputs.given()) fail(file, "a model needs --input");
  if (model.operations.size() == 1) {
    IdentifyPair pair{file, model, {}, read_array(output)};
    for (std::size_t i = 0; i < model.inputs.size(); ++i) pair.inputs.push_back(read_array(inputs.next(file)));
    return pair;
  }
  NamedTrace trace;
  const auto add = [&](std::int32_t index, const std::string& values) {
    const ModelTensor& tensor = model.tensor(index);
    trace.tensors.push_back({index, tensor.name, {}, tensor.quantization, read_array(values)});
  };
  for (const std::int32_t input : model.inputs) add(input, inputs.next(file));
  add(model.outputs[0], output);
  for (IdentifyPair& pair : pairs_of(model, trace)) {
    if (is_movement(pair.layer.operations[0].kind)) continue;
    pair.name = file;
    return std::move(pair);
  }
  fail(file, "its layer does not stand between its inputs and its output (for a network give MODEL --dump DIR)");
}

/// What the device was given and made of it, by the names of the layer's tensors.
NamedTrace trace_of(const IdentifyPair& pair) {
  NamedTrace trace;
  const auto add = [&](std::int32_t index, const Tensor& values) {
    const ModelTensor& tensor = pair.layer.tensor(index);
    trace.tensors.push_back({index, tensor.name, {}, tensor.quantization, values});
  };
  for (std::size_t i = 0; i < pair.inputs.size(); ++i) add(pair.layer.inputs[i], pair.inputs[i]);
  add(pair.layer.outputs[0], pair.output);
  return trace;
}

/// A network and what a device made of it; tensors that may have been misread.
struct Source {
  Model model;
  NamedTrace dump;
  std::vector<Misread> suspected{};
  ReadDump read{};
};

/// Inputs that the dump lacks, as they were given, where that is in codes.
void add_inputs(Source& source, const std::vector<Tensor>& given) {
  for (std::size_t i = 0; i < given.size(); ++i) {
    const std::int32_t index = source.model.inputs[i];
    const ModelTensor& tensor = source.model.tensor(index);
    if (source.dump.find(index) != nullptr || given[i].type() != tensor.type) continue;
    source.dump.tensors.push_back({index, tensor.name, "input", quantization_in(tensor, given[i].shape()), given[i]});
  }
}

/// Refuses what was certainly misread, unless it is to be taken as it is. Returns the rest.
std::vector<Misread> well_read(const IdentifyArguments& options, std::vector<Misread> list, ReadDump& read) {
  for (const Misread& one : list) (one.certainty == Certainty::certain ? read.misread : read.suspected).push_back(text_of(one));
  if (options.as_is) return {};
  try {
    require_well_read(list);
  } catch (const Error& error) {
    const Diagnostic& one = error.diagnostics().front();
    throw Error(one.code, one.where, one.message + " (--as-is takes the dump as it is)");
  }
  return list;
}

/// A model and one file of what its output was.
bool is_of_one_layer(const IdentifyArguments& options) {
  std::error_code error;
  return options.layers.empty() && options.dumps.size() == 1 && std::filesystem::is_regular_file(options.dumps[0], error) &&
         options.dumps[0].ends_with(".npy");
}

std::vector<IdentifyPair> read_pairs(const IdentifyArguments& options, Source& source, std::vector<SkippedPair>& skipped) {
  const std::size_t count = options.dumps.size();
  if (count == 0) fail("identify", "--dump is needed: of MODEL a folder (of one layer a .npy), of each --layer-file a .npy of its output");
  if (options.layers.empty()) {
    if (options.model.empty()) fail("identify", "a MODEL is needed, or --layer-file");
    if (count != 1) fail("--dump", std::to_string(count) + " of them; a network has one, a folder");
    source.model = read_users_model(options.model);
    const std::vector<Tensor> given = options.inputs.empty() ? std::vector<Tensor>() : read_inputs(source.model, options.inputs);
    source.dump = read_given_dump(options.dumps[0], source.model, given);
    add_inputs(source, given);
    source.read.readings = source.dump.readings;
    if (const std::string matched = text_of(match_of(source.model, source.dump)); !matched.empty())
      source.read.readings.push_back(matched.substr(0, matched.size() - 1));
    if (const SampleCounts counts = sample_counts(source.model, source.dump); !counts.are_equal())
      source.read.readings.push_back(text_of(counts) + "; a layer is judged by the first that its own all hold");
    for (const std::string& reading : source.read.readings) log_note("dump: " + reading);
    source.suspected = well_read(options, find_misread(source.model, source.dump), source.read);
    return pairs_of(source.model, source.dump, &skipped);
  }
  if (!options.model.empty()) fail("identify", "a MODEL and --layer-file exclude each other");
  if (options.layers.size() != 1 && options.layers.size() != count)
    fail("--layer-file",
         std::to_string(options.layers.size()) + " layers for " + std::to_string(count) + " dumps: one each, or one for all");
  std::vector<IdentifyPair> pairs;
  InputFiles inputs(options.inputs);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string& layer = options.layers[options.layers.size() == 1 ? 0 : i];
    pairs.push_back(is_layer_description(layer) ? pair_of_layer(layer, inputs, options.dumps[i])
                                                : pair_of_model(layer, inputs, options.dumps[i]));
  }
  inputs.require_all_used();
  for (const IdentifyPair& pair : pairs) {
    for (Misread& one : well_read(options, find_misread(pair.layer, trace_of(pair)), source.read))
      source.suspected.push_back(std::move(one));
  }
  return pairs;
}

void save(const IdentifyArguments& options, const SpecSheet& sheet) { write_text_file(options.output, backend_to_json(sheet)); }

/// Why there is no probe.
std::string one_class_text(const IdentifyArguments& options, const Identification& found) {
  const bool is_proven =
      std::ranges::any_of(found.operations, [](const auto& one) { return one.best().proof && one.best().proof->is_one(); });
  if (is_proven && !options.free_weights)
    return "no input of this layer tells the remaining combinations apart, which is proven: one class is left; other scales may "
           "(--free-weights)";
  return "no input was found on which the remaining combinations differ: one class is left";
}

void probe(const IdentifyArguments& options, const std::vector<IdentifyPair>& pairs, const Identification& found) {
  const auto designed =
      design_probe(pairs, {.weights = options.free_weights ? ProbeWeights::free : ProbeWeights::of_the_layer, .seed = options.seed});
  if (!designed) {
    log_note(one_class_text(options, found));
    return;
  }
  write_probe(options.probe, *designed);
  log_note(options.probe + ": " + count_of(std::ssize(designed->layers), "layer") + ", " + count_of(designed->outcomes, "outcome") +
           " among " + std::to_string(designed->considered) + " of the remaining combinations; " + options.probe +
           "/README.txt says how to go on");
}

/// What may be the reason that nothing explains the dump.
void add_suspects(const Source& source) {
  for (const Misread& one : source.suspected) log_warning("suspected: " + text_of(one));
}

int verdict(const IdentifyArguments& options, const Identification& found, const std::optional<Reproduction>& network) {
  const bool differs = network && network->differing > 0;
  if (found.exact() && !differs) return equal;
  if (found.decided()) return different;
  std::ostringstream seconds;
  seconds << options.max_time;
  log_error("undecided: stopped after " + seconds.str() + " s (--max-time) before a combination was found that explains every value");
  return failed;
}

int run(IdentifyArguments options) {
  if (is_of_one_layer(options)) options.layers = {std::exchange(options.model, {})};
  if (!options.output.empty() && !options.output.ends_with(".json")) fail("--output " + options.output, "a backend is written as .json");
  std::vector<SkippedPair> skipped;
  Source source;
  const std::vector<IdentifyPair> pairs = read_pairs(options, source, skipped);
  Progress bar("identify: percent");
  Identification found = identify(
      pairs, {.runners_up = options.top, .most_seconds = options.max_time, .threads = options.threads, .progress = [&](double share) {
                bar.show(static_cast<std::size_t>(share * 100), 100);
              }});
  bar.clear();
  found.skipped.insert(found.skipped.end(), skipped.begin(), skipped.end());
  const auto base = options.base.empty() ? std::nullopt : std::optional(named_backend(options.base));
  const SpecSheet sheet = identified_backend(found, options.name, base ? &*base : nullptr);
  if (!found.exact()) add_suspects(source);
  std::optional<Reproduction> network;
  if (options.layers.empty()) network = reproduce(source.model, source.dump, sheet.backend);
  std::cout << (options.json ? to_json(found, network, source.read) : to_text(found) + (network ? to_text(*network) : "")) << std::flush;
  if (!options.html.empty()) write_html(document_of(found, network, sheet), options.html);
  if (!options.output.empty()) save(options, sheet);
  if (!options.probe.empty()) probe(options, pairs, found);
  return verdict(options, found, network);
}

}  // namespace

void add_identify(CommandLine& line) {
  Command command = line.add("identify", "find the rules of a device from what it computed");
  const auto options = std::make_shared<IdentifyArguments>();
  add_model(command, options->model);
  add_dump_options(command, options->dumps);
  command.option("--layer-file", options->layers, "a layer (JSON as `lastbit layer` takes it, or a model of one operation); repeatable")
      .value_name("FILE");
  command.renamed("--layer", "--layer-file");
  command.option("--input", options->inputs, input_meaning).value_name("FILE.npy");
  add_output_option(command, options->output, "FILE.json");
  command.renamed("--save", "--output");
  command.option("--name", options->name, "of that backend").shows_default();
  command.option("--base", options->base, "that backend's rules for operations that were not identified: a built-in one, or a file")
      .value_name("BACKEND")
      .suggests(ValueKind::backend);
  command.option("--probe", options->probe, "write a layer and an input on which the remaining combinations differ").value_name("DIR");
  command.flag("--free-weights", options->free_weights, "the probe may bring weights, bias and scales of its own");
  command.flag("--as-is", options->as_is, "take the dump as it is, also where a tensor was misread");
  command.option("--seed", options->seed, "of the random numbers").shows_default();
  command.option("--max-time", options->max_time, "seconds, after which what has been found so far is told; 0: no limit")
      .value_name("SECONDS")
      .shows_default()
      .not_negative();
  add_top_option(command, options->top);
  add_html_option(command, options->html);
  add_threads_option(command, options->threads);
  add_memory_option(command);
  add_force_option(command);
  add_json_option(command, options->json);
  command.note(
      "--input: what the network was given, where the dump does not have it. With --layer-file: what the layers were given (default: what "
      "their\n"
      "JSON names); --dump is one .npy of each layer's output; so it is of a MODEL of one layer.\n"
      "--output: the best combination, as a backend file. --top: classes behind the best one. --seed: of the probe.");
  command.footer(
      "Exit status: 0 some combination explains every value and no layer that was compared differs, 1 none does or one differs, "
      "2 error, or undecided at --max-time.");
  command.runs([options] { return run(*options); });
}

}  // namespace lastbit::tool
