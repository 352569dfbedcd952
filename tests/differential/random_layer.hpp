// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A layer of any kind on a device of any kind, rules changed at random: small, but with the values that separate one path from another.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "differential/choices.hpp"
#include "lastbit/backend.hpp"
#include "lastbit/model.hpp"

namespace lastbit::test {

struct RandomLayer {
  Model model;  ///< of one operation
  Backend backend = no_rules;
  std::string device;  ///< the built-in backend, and the rules that were changed
  std::vector<Tensor> inputs;
};

/// Nothing where the choices do not make a layer that the device has.
[[nodiscard]] std::optional<RandomLayer> random_layer(Choices& choose);
/// The same of a device and a kind of operation, by the device's own rules or now and then by others.
enum class Rules : std::uint8_t { own, changed };
[[nodiscard]] std::optional<RandomLayer> random_layer(const SpecSheet& sheet, OperationKind kind, Choices& choose,
                                                      Rules rules = Rules::changed);

}  // namespace lastbit::test
