// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The inputs of a model on the command line.
#pragma once

#include <string>
#include <vector>

#include "command_line.hpp"
#include "lastbit/model.hpp"

namespace lastbit::tool {

/// Declares `--input [NAME=]FILE.npy`, which may be given several times.
void add_input_option(Command& command, std::vector<std::string>& inputs);

/// What [NAME=]PLACE says for each input of the model: those with a name where it says, the others in the order given. Throws Error naming
/// `option` and what is missing.
[[nodiscard]] std::vector<std::string> by_input(const Model& model, const std::string& option, const std::vector<std::string>& texts);

/// The tensors in the model's order: those with a name where it says, the others in the order given. Throws Error naming what is missing.
[[nodiscard]] std::vector<Tensor> read_inputs(const Model& model, const std::vector<std::string>& inputs);

}  // namespace lastbit::tool
