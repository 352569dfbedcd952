// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The inputs of a model on the command line.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "lastbit/model.hpp"
#include "lastbit/samples.hpp"

namespace lastbit::tool {

inline constexpr const char* input_meaning = "an input, of several the next one (repeatable)";

/// Declares `--input [NAME=]FILE|DIR`, which may be given several times, and the options of images.
Option add_input_option(Command& command, std::vector<std::string>& inputs);

/// Where each input of the model is: those with a name where it says, the others in the order given; or one folder for all of them. Throws
/// Error naming what is missing.
[[nodiscard]] std::vector<std::filesystem::path> places_of(const Model& model, const std::vector<std::string>& inputs);

/// What was given, opened, whatever its form.
[[nodiscard]] SampleSource open_samples(const Model& model, const std::vector<std::string>& inputs);

/// Throws MemoryRefused where so many bytes of inputs are more than the budget allows.
void require_room(std::size_t bytes);

/// The tensors in the model's order. Of a folder all its samples, as a batch. `readings`: what is to be said of how files were read.
[[nodiscard]] std::vector<Tensor> read_inputs(const Model& model, const std::vector<std::string>& inputs,
                                              std::vector<std::string>* readings = nullptr);

}  // namespace lastbit::tool
