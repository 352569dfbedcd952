// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The most memory that a run holds, its network included, beyond what the process held before: beside weights and tensors alive at one time.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <algorithm>
#include <fstream>
#include <functional>

#include "case.hpp"
#include "lastbit/backend.hpp"
#include "lastbit/error.hpp"
#include "lastbit/registry.hpp"
#include "layers.hpp"
#include "networks.hpp"

namespace lastbit::bench {
namespace {

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

/// Of /proc/self/status, in bytes.
double status_of(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double kilobytes = 0;
    if (word == field && status >> kilobytes) return kilobytes * 1024;
  }
  throw Error(ErrorCode::unreadable_file, "/proc/self/status", "has no " + field);
}

/// What the process holds at most while `run` runs, beyond what it held before, in bytes.
double held_by(const std::function<void()>& run) {
  malloc_trim(0);
  if (!(std::ofstream("/proc/self/clear_refs") << 5 << std::flush))
    throw Error(ErrorCode::unreadable_file, "/proc/self/clear_refs", "cannot be written");
  const double before = status_of("VmRSS:");
  run();
  return status_of("VmHWM:") - before;
}

void register_bytes(const std::string& name, const std::function<double()>& bytes) {
  const auto run = [bytes](benchmark::State& state) {
    for (auto _ : state) try {
        state.counters["held_bytes"] = bytes();
      } catch (const Error& error) {
        state.SkipWithError(error.what());
      }
  };
  benchmark::RegisterBenchmark(name.c_str(), run)->Iterations(1);
}

void register_pair(const std::string& name, void (*run)(), double (*least)()) {
  register_bytes("memory/" + name + "/lastbit", [run] { return held_by(run); });
  register_bytes("memory/" + name + "/weights_and_live_tensors", least);
}

}  // namespace

void register_memory() {
  register_pair(
      "tflite_double/conv_3x3_1024x1024x16_32", [] { run_once(prepare_model(large_layer(), find_backend("tflite_double").backend)); },
      [] { return least_of(large_layer()); });
  if (has_network(mobilenet)) {
    register_pair(
        "tflite_double/mobilenet_v2_224_int8", [] { run_once(prepare_network(mobilenet, "tflite_double")); },
        [] { return least_of(*recorded_network(mobilenet)); });
  }
}

}  // namespace lastbit::bench
