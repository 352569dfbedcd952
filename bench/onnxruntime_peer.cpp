// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "onnxruntime_peer.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include "lastbit/fuzz_against.hpp"
#include "layers.hpp"
#include "other_process.hpp"

namespace lastbit::bench {
namespace {

constexpr int chain_length = 16;  // so that the call itself is not what is measured

/// The layer as often, each fed with the output of the one before.
Model chain_of(const Model& layer) {
  Model chain = layer;
  chain.operations.clear();
  Operation next = layer.operations[0];
  for (int i = 0; i < chain_length; ++i) {
    chain.operations.push_back(next);
    next.inputs[0] = next.outputs[0];
    if (i + 1 == chain_length) break;
    chain.tensors.push_back(layer.tensor(layer.outputs[0]));
    chain.tensors.back().name += std::to_string(i);
    next.name += "'";
    next.outputs[0] = static_cast<std::int32_t>(chain.tensors.size() - 1);
  }
  chain.outputs = {chain.operations.back().outputs[0]};
  return chain;
}

/// `times`: how often what is measured is in it.
Trial onnxruntime_trial(const Model& network, double multiply_adds, int times, const char* package) {
  const auto file = std::filesystem::temp_directory_path() / ("lastbit_bench_" + std::to_string(getpid()) + ".onnx");
  std::ofstream(file, std::ios::binary) << onnx_bytes(network);
  const ModelTensor& in = network.tensor(network.inputs[0]);
  std::vector<std::string> command{"node", LASTBIT_SOURCE_DIR "/bench/onnxruntime_peer.js", package, file.string(),
                                   std::string(name_of(in.type))};
  for (const std::size_t axis : {std::size_t{0}, std::size_t{3}, std::size_t{1}, std::size_t{2}})
    command.push_back(std::to_string(in.shape[axis]));
  const auto process = std::make_shared<OtherProcess>(command, "");
  static_cast<void>(process->seconds(1));  // it has read the file
  std::filesystem::remove(file);
  return {multiply_adds, {}, {}, [process, times](std::int64_t runs) { return process->seconds(runs) / times; }};
}

}  // namespace

std::vector<Side> onnxruntime_layer(const std::function<Model()>& layer) {
  const char* const package = std::getenv("LASTBIT_ONNXRUNTIME");
  if (package == nullptr) return {};
  const auto trial = [=] {
    const Model one = layer();
    return onnxruntime_trial(chain_of(one), static_cast<double>(multiply_adds_of(one)), chain_length, package);
  };
  return {{"onnxruntime", trial, Clock::other_process}};
}

std::vector<Side> onnxruntime_network(const std::function<Model()>& network) {
  const char* const package = std::getenv("LASTBIT_ONNXRUNTIME");
  if (package == nullptr) return {};
  return {{"onnxruntime", [=] { return onnxruntime_trial(network(), 0, 1, package); }, Clock::other_process}};
}

}  // namespace lastbit::bench
