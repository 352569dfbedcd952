// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Whole networks, one sample, one thread: the digits of the demo, and every .tflite of the folder of recorded networks that a backend
// can run (LASTBIT_MODELS_DIR in the environment, or as configured).
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "bench_case.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/io/model_file.hpp"
#include "layers.hpp"

namespace lastbit::bench {
namespace {

namespace fs = std::filesystem;

struct Prepared {
  Model model;
  std::vector<Tensor> inputs;
  std::unique_ptr<Emulator> emulator;
};

/// Any values will do: the arithmetic of a feed-forward network takes the same time for all.
Tensor random_input(const ModelTensor& tensor) {
  if (tensor.type == ElementType::uint8) return random_values<std::uint8_t>(tensor.shape, 0, 255, 5);
  if (tensor.type == ElementType::int16) return random_values<std::int16_t>(tensor.shape, -32768, 32767, 5);
  if (tensor.type == ElementType::float32) return random_values<float>(tensor.shape, -2, 2, 5);
  return random_values<std::int8_t>(tensor.shape, -128, 127, 5);
}

std::vector<fs::path> model_files() {
  std::vector<fs::path> files;
  const char* const chosen = std::getenv("LASTBIT_MODELS_DIR");
  const fs::path directory = chosen != nullptr ? chosen : LASTBIT_MODELS_DIR;
  if (fs::is_directory(directory)) {
    for (const auto& entry : fs::directory_iterator(directory)) {
      if (fs::exists(entry.path() / "model.tflite")) files.push_back(entry.path() / "model.tflite");
    }
  }
  std::sort(files.begin(), files.end());
  files.insert(files.begin(), fs::path(LASTBIT_SOURCE_DIR) / "examples/digits/model.json");
  return files;
}

/// Nothing if the reader does not know an operation of the file.
std::shared_ptr<Prepared> prepare(const fs::path& file) try {
  auto prepared = std::make_shared<Prepared>(Prepared{read_model(file), {}, {}});
  for (const auto index : prepared->model.inputs) prepared->inputs.push_back(random_input(prepared->model.tensor(index)));
  return prepared;
} catch (const Error&) {
  return nullptr;
}

std::vector<Case> make_cases() {
  std::vector<Case> cases;
  for (const fs::path& file : model_files()) {
    for (const char* name : {"tflite_double", "xnnpack", "vipnano_v8"}) {
      const auto prepared = prepare(file);
      const Backend backend = find_backend(name).backend;
      if (prepared == nullptr || !check(prepared->model, backend).empty()) continue;
      prepared->emulator = std::make_unique<Emulator>(prepared->model, backend);
      const auto output = static_cast<std::size_t>(prepared->model.outputs[0]);
      cases.push_back({"network/" + std::string(name) + "/" + std::string(host_path()) + "/" + file.parent_path().filename().string(),
                       multiply_adds_of(prepared->model),
                       [prepared, output] { return *prepared->emulator->run(prepared->inputs).tensors[output]; },
                       {}});
    }
  }
  return cases;
}

}  // namespace
}  // namespace lastbit::bench

int main(int argc, char** argv) { return lastbit::bench::run_cases(argc, argv, lastbit::bench::make_cases); }
