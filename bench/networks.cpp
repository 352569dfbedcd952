// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "networks.hpp"

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>

#include "lastbit/io/model_file.hpp"
#include "lastbit/quantizer.hpp"
#include "lastbit/registry.hpp"
#include "layers.hpp"

namespace lastbit::bench {
namespace {

namespace fs = std::filesystem;

fs::path models_folder() {
  const char* const chosen = std::getenv("LASTBIT_MODELS_DIR");
  return chosen != nullptr ? chosen : LASTBIT_MODELS_DIR;
}

/// Data to calibrate with; what it is changes scales, not speed.
std::vector<std::vector<Tensor>> random_samples(const Model& model) {
  std::vector<std::vector<Tensor>> samples(2);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    for (const auto input : model.inputs) samples[i].push_back(random_tensor(model.tensor(input).type, model.tensor(input).shape, i));
  }
  return samples;
}

fs::path file_of(const std::string& name) {
  return name == "digits" ? fs::path(LASTBIT_SOURCE_DIR) / "examples/digits/model.json" : models_folder() / name / "model.tflite";
}

bool takes_int8_networks(const SpecSheet& sheet) { return sheet.quantizer == "int8"; }

}  // namespace

bool has_network(const std::string& name) { return fs::exists(file_of(name)); }

std::optional<Model> recorded_network(const std::string& name) {
  if (!has_network(name)) return {};
  return read_model(file_of(name));
}

Tensor Prepared::output(const RunOptions& options) const {
  return *emulator->run(inputs, options).tensors[static_cast<std::size_t>(model.outputs[0])];
}

std::shared_ptr<Prepared> prepare_model(Model model, const Backend& backend) {
  auto prepared = std::make_shared<Prepared>(Prepared{std::move(model), {}, {}});
  for (const auto index : prepared->model.inputs) {
    const ModelTensor& input = prepared->model.tensor(index);
    prepared->inputs.push_back(random_tensor(input.type, input.shape, 3));
  }
  prepared->emulator = std::make_unique<Emulator>(prepared->model, backend);
  return prepared;
}

std::shared_ptr<Prepared> prepare_network(const std::string& name, const std::string& backend) {
  const SpecSheet sheet = find_backend(backend);
  Model model = recorded_network(name).value();
  if (!takes_int8_networks(sheet)) model = quantize(model, sheet, random_samples(model)).model;
  return prepare_model(std::move(model), sheet.backend);
}

Trial layer_trial(const std::shared_ptr<Prepared>& layer) {
  const auto run = [layer] {
    std::vector<const Tensor*> inputs(layer->model.operations[0].inputs.size(), nullptr);
    for (std::size_t i = 0; i < layer->inputs.size(); ++i) inputs[i] = &layer->inputs[i];
    return layer->emulator->run_operation(0, inputs);
  };
  return {static_cast<double>(multiply_adds_of(layer->model)), [run] { benchmark::DoNotOptimize(run()); }, [run] { return run()[0]; }};
}

}  // namespace lastbit::bench
