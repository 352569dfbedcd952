// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Whole networks to run: the demo's digits, and those of the folder of recorded networks (LASTBIT_MODELS_DIR in the environment, or as
// configured).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "case.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/model.hpp"

namespace lastbit::bench {

[[nodiscard]] bool has_network(const std::string& name);
/// "ic_resnet8_int8": the model of that folder, or nothing where it is missing.
[[nodiscard]] std::optional<Model> recorded_network(const std::string& name);

/// A network on a backend with one sample for it; quantised for it where the backend cannot run the int8 network as it is.
struct Prepared {
  Model model;
  std::vector<Tensor> inputs;
  std::unique_ptr<Emulator> emulator;

  [[nodiscard]] Tensor output(const RunOptions& options = {}) const;
};
[[nodiscard]] std::shared_ptr<Prepared> prepare_network(const std::string& name, const std::string& backend);

/// A model of one or more operations on a backend, with random data.
[[nodiscard]] std::shared_ptr<Prepared> prepare_model(Model model, const Backend& backend);

/// Runs the only operation of a layer: tensor in, tensor out, without what surrounds a run of a network.
[[nodiscard]] Trial layer_trial(const std::shared_ptr<Prepared>& layer);

}  // namespace lastbit::bench
