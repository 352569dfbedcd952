// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Operations other than convolutions: sums, products, pools, functions, the devices' own layers. Their rules are looked for by walking from
// sheet to sheet: the built-in backends are where the walk begins, a step changes one rule to another of its values, or one way of rescaling
// to one that any backend has for any purpose, and the nearest device so far is the next one whose neighbours are tried.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "analysis/identify/deadline.hpp"
#include "analysis/identify/device_list.hpp"
#include "lastbit/identify.hpp"

namespace lastbit {

/// Whether the operation's rules can be looked for: it reads some, and has one output.
[[nodiscard]] bool is_covered(OperationKind kind);

/// Why the pair cannot be used; empty: it can.
[[nodiscard]] std::string reason_to_skip(const IdentifyPair& pair);

/// The paths of the rules that the layer reads from a backend.
[[nodiscard]] std::vector<std::string> read_rules(const Model& layer, const Backend& backend);

struct RulesFound {
  OperationIdentification result;
  std::vector<std::uint64_t> outputs;  ///< a hash per class
  DeviceList left;                     ///< the devices of the best class, with nothing but the rules that the pairs read
};
/// `pairs` read the same rules.
[[nodiscard]] RulesFound search_rules(const std::string& rules, const std::vector<const IdentifyPair*>& pairs, std::size_t most_classes,
                                      const std::function<void(double)>& progress, const Deadline& deadline);

/// The best class of devices that a walk has met, with nothing but the rules that the pairs read.
struct DevicesLeft {
  DeviceList all;
  std::vector<Backend> some;  ///< at most as many as were asked for, from all over the class
};
[[nodiscard]] DevicesLeft devices_left(const std::vector<const IdentifyPair*>& pairs, std::size_t most);

}  // namespace lastbit
