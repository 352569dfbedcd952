// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Proofs of real networks: the width that is said to be enough is given to every accumulator of the device, and nothing overflows.
#include <filesystem>
#include <iostream>

#include "lastbit/error.hpp"
#include "lastbit/io/model_file.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/prove.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"

using namespace lastbit;

namespace {

Backend with_width(Backend backend, int bits) {
  for (const char* rule : {"conv.i8", "depthwise_conv.i8", "transposed_conv.i8", "fully_connected.i8", "lstm.gate_i8", "svdf"})
    set_rule(backend, std::string(rule) + ".accumulator.bits", std::to_string(bits));
  return backend;
}

/// Of the sums that follow those rules.
int width_needed(const ProveReport& report) {
  int bits = 2;
  for (const LayerProof& layer : report.layers) {
    const bool follows = layer.kind != "add" && layer.kind != "mean" && layer.has_width;
    if (follows) bits = std::max(bits, layer.bits());
  }
  return bits;
}

std::int64_t overflows(const Model& model, const Backend& backend, const std::vector<Tensor>& inputs) {
  std::int64_t all = 0;
  for (const Events& events : run(model, backend, inputs, {.count_events = true}).events) all += events.accumulator_overflows;
  return all;
}

}  // namespace

TEST_CASE("prove: recorded networks do not overflow the accumulators that are proven to be wide enough") {
  const auto directory = test::models_directory();
  if (!directory) return;
  int networks = 0;
  for (const auto& folder : std::filesystem::directory_iterator(*directory)) {
    if (!std::filesystem::exists(folder.path() / "model.tflite")) continue;
    const Model model = read_model(folder.path() / "model.tflite");
    const std::vector<Tensor> inputs{read_npy(folder.path() / "input.npy")};
    const SpecSheet sheet = find_backend("tflite_double");
    const ProveReport by_type = prove(model, sheet, {}), by_data = prove(model, sheet, inputs, {.range = InputRange::data});
    INFO(folder.path());
    REQUIRE(by_type.safe());
    REQUIRE(by_data.safe());
    for (std::size_t i = 0; i < by_type.layers.size(); ++i) REQUIRE(by_data.layers[i].bits() <= by_type.layers[i].bits());
    // What the data needs is enough for the data.
    REQUIRE(overflows(model, with_width(sheet.backend, width_needed(by_data)), inputs) == 0);
    std::cout << folder.path().filename().string() << ": " << width_needed(by_type) << " bits for every input, " << width_needed(by_data)
              << " on the data\n";
    ++networks;
  }
  REQUIRE(networks >= 8);
}
