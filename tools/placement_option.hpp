// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Mixed execution on the command line: what a board computes beside its NPU; and networks of floats, of which an NPU computes nothing.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "backend_option.hpp"
#include "command_line.hpp"
#include "lastbit/backend.hpp"
#include "lastbit/model.hpp"

namespace lastbit::tool {

/// Declares `--fallback BACKEND` and `--keep LAYER,…=BACKEND`, which may be given several times, and `--allow-float`.
void add_placement_options(Command& command);
/// `--allow-float`, of a command that places nothing.
void add_allow_float_option(Command& command);

/// The network of a command, and the file that it is from.
struct UsersModel {
  const Model& model;
  const std::string& file;
};

/// The backend of the command, or the one that is judged, with what computes the rest; the network says which layers are meant. Throws Error
/// naming a layer that it does not have; and, but for --allow-float, where no sum of the network would be the device's or another integer backend's.
[[nodiscard]] SpecSheet with_placements(SpecSheet sheet, const UsersModel& network);
/// The backend that it is compared with: its layers stay where they are.
[[nodiscard]] SpecSheet with_fallbacks(SpecSheet sheet, const UsersModel& network);

/// Two backends, a is expected, b judged: of a network that suits neither, b is told about.
struct Sides {
  SpecSheet a, b;
};
[[nodiscard]] Sides placed_sides(const ChosenBackend& a, const ChosenBackend& b, const UsersModel& network);

/// Whether the command would refuse the network on this backend, beside which Backend::elsewhere computes, for its floats.
[[nodiscard]] bool is_refused_for_floats(const Model& model, const Backend& backend);
/// The same of one beside which the command's fallbacks compute, but for layers that are kept elsewhere.
[[nodiscard]] bool is_refused_for_floats(const Model& model, const SpecSheet& sheet);

/// A line for each backend that computes something in another one's place; with --json the report has them as "elsewhere".
[[nodiscard]] std::string placement_text(const Model& model, std::initializer_list<const SpecSheet*> sheets);
[[nodiscard]] std::string json_with_placements(const std::string& report, const Model& model,
                                               std::initializer_list<const SpecSheet*> sheets);

}  // namespace lastbit::tool
