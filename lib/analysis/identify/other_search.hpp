// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Operations other than convolutions: pools, and the device's own fused layers. Their combinations are few enough to be run one by one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lastbit/identify.hpp"

namespace lastbit {

/// Whether the space has rules for the kind.
[[nodiscard]] bool is_covered(OperationKind kind);

/// Why the pair cannot be used; empty: it can.
[[nodiscard]] std::string reason_to_skip(const IdentifyPair& pair);

/// The paths of the rules that the layer reads from a backend.
[[nodiscard]] std::vector<std::string> read_rules(const Model& layer, const Backend& backend);

struct OtherFound {
  OperationIdentification result;
  std::vector<std::uint64_t> outputs;  ///< a hash per class
};
/// `pairs` read the same rules.
[[nodiscard]] OtherFound identify_other(const std::string& rules, const std::vector<const IdentifyPair*>& pairs, std::size_t most_classes,
                                        const std::function<void(double)>& progress);

}  // namespace lastbit
