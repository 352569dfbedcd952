// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "memory_section.hpp"

#include <algorithm>
#include <functional>

#include "lastbit/backend.hpp"
#include "lastbit/error.hpp"
#include "lastbit/registry.hpp"
#include "layers.hpp"
#include "networks.hpp"
#include "own_process.hpp"

namespace lastbit::bench {
namespace {

constexpr const char* nothing = "memory/nothing";
constexpr const char* mobilenet = "mobilenet_v2_224_int8";
constexpr TimedLayer large_image{LayerKind::dense, 1024, 16, 32, 3, 1};

double bytes_of(const ModelTensor& tensor) {
  return static_cast<double>(tensor.shape.element_count()) * static_cast<double>(size_of(tensor.type));
}

/// Constants, and the largest set of tensors that are alive between two operations or while one runs.
double least_of(const Model& model) {
  double constants = 0, most = 0;
  for (const ModelTensor& tensor : model.tensors) constants += tensor.constant ? bytes_of(tensor) : 0;
  for (std::size_t now = 0; now < model.operations.size(); ++now) {
    double alive = 0;
    for (std::size_t t = 0; t < model.tensors.size(); ++t) {
      const auto index = static_cast<std::int32_t>(t);
      const auto names = [&](const std::vector<std::int32_t>& list) { return std::find(list.begin(), list.end(), index) != list.end(); };
      bool written = names(model.inputs), read = names(model.outputs);
      for (std::size_t i = 0; i < model.operations.size(); ++i) {
        written = written || (i <= now && names(model.operations[i].outputs));
        read = read || (i >= now && names(model.operations[i].inputs));
      }
      if (!model.tensors[t].constant && written && (read || names(model.operations[now].outputs))) alive += bytes_of(model.tensors[t]);
    }
    most = std::max(most, alive);
  }
  return constants + most;
}

Model large_layer() { return model_of(large_image, {}); }

void run_once(const std::shared_ptr<Prepared>& prepared) { static_cast<void>(prepared->emulator->run(prepared->inputs)); }

}  // namespace

std::vector<MemoryCase> memory_cases() {
  std::vector<MemoryCase> cases{{"memory/tflite_double/conv_3x3_1024x1024x16_32",
                                 [] { run_once(prepare_model(large_layer(), find_backend("tflite_double").backend)); },
                                 [] { return least_of(large_layer()); }}};
  if (has_network(mobilenet)) {
    cases.push_back({"memory/tflite_double/mobilenet_v2_224_int8", [] { run_once(prepare_network(mobilenet, "tflite_double")); },
                     [] { return least_of(*recorded_network(mobilenet)); }});
  }
  return cases;
}

double memory_of(const std::string& name) {
  for (const MemoryCase& one : memory_cases()) {
    if (one.name == name) one.run();
  }
  return peak_memory();
}

Result measure_memory(const MemoryCase& one) {
  const double peak = number_from_own_process({"--alone", one.name}, {}), empty = number_from_own_process({"--alone", nothing}, {});
  const double least = one.least();
  return {one.name,
          Unit::megabytes,
          peak * 1e-6,
          0,
          {{"the program alone", empty * 1e-6, empty / peak},
           {"program, weights, live tensors", (empty + least) * 1e-6, (empty + least) / peak}}};
}

}  // namespace lastbit::bench
