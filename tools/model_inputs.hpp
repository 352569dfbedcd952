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

/// Real values that were given for codes.
struct RealInput {
  std::string name;
  double least = 0, largest = 0;                ///< of the values
  double lowest = 0, highest = 0;               ///< that codes stand for
  std::int64_t codes_used = 0, codes = 0;       ///< different ones, of so many
  std::int64_t clipped = 0, values = 0;         ///< beyond what codes stand for, of so many
  [[nodiscard]] std::string suspicion() const;  ///< that they are scaled otherwise than the network was trained, or codes; empty: none
  bool whole = false;                           ///< every value is a whole number
};

/// Of the inputs those that are float32 where the model has codes.
[[nodiscard]] std::vector<RealInput> real_inputs(const Model& model, const std::vector<Tensor>& inputs);

/// "input 'image': real values 0 … 1 become 3 of 256 codes, which stand for 0 … 127.5; 0 % lie beyond", and what is suspicious about it.
[[nodiscard]] std::string text_of(const RealInput& input);

}  // namespace lastbit::tool
