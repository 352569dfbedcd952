// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a backend computes of a network for every input, in one line: two machines, versions or devices with the same fingerprint compute the same codes.
// Behind sums of integers it is made of the sums and the staircases (staircase.hpp), so that it does not change with rules that never matter here; of
// operations on codes, of what every code becomes; where neither can be listed, of the rules that the layer reads.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "lastbit/certify.hpp"
#include "lastbit/device.hpp"

namespace lastbit {

/// What a backend computes of one layer for every input, as a checksum.
struct LayerFingerprint {
  std::size_t operation = 0;  ///< position in the model
  std::string name;           ///< layer_name()
  std::string kind;
  DecidedBy by = DecidedBy::same_rules;  ///< same_rules: made of the rules' names and values
  std::string checksum;                  ///< "fnv1a64:0123456789abcdef": enough to notice a change, not to withstand a forger
};

/// What a backend computes of a network for every input, as a checksum of those of its layers.
struct Fingerprint {
  std::string model, backend;
  std::vector<LayerFingerprint> layers;  ///< in order
  std::string checksum;                  ///< of all layers and of how they follow each other
};

/// For fingerprint().
struct FingerprintOptions {
  int threads = 1;
  std::function<void(std::size_t done, std::size_t all)> on_progress{};
};

/// Codes of the network's inputs are what it begins with; how a device makes them of real numbers is not part of it. Throws Error where the backend cannot
/// run the model.
[[nodiscard]] Fingerprint fingerprint(const Model& model, const Device& sheet, const FingerprintOptions& options = {});

[[nodiscard]] std::string to_text(const Fingerprint& fingerprint);
[[nodiscard]] std::string to_json(const Fingerprint& fingerprint);

}  // namespace lastbit
