// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a network is, and which devices run it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lastbit/backend.hpp"
#include "lastbit/device.hpp"
#include "lastbit/model.hpp"

namespace lastbit {

/// How often something occurs, in the order in which it is met first.
using Occurrences = std::vector<std::pair<std::string, std::int64_t>>;

enum class Fit : std::uint8_t {
  runs,
  runs_in_float32,  ///< but some operations are on float32 tensors, which nothing of the device computes
  needs_quantize,   ///< it is a float network, or so quantised that nothing of it runs; the device has a quantiser
  needs_quantized,  ///< it is a float network of which nothing runs, and the device has no quantiser: another tool's result is needed
  lacks,            ///< some operations
};

/// A device and the network.
struct DeviceFit {
  std::string backend;
  Fit fit = Fit::runs;
  Occurrences operations;                 ///< that it lacks, or that are in float32, by their kind
  std::int64_t multiply_accumulates = 0;  ///< of the other operations
  std::string reason;                     ///< of `lacks`: what is said of the first operation
  bool has_quantizer = false;
  /// Of `lacks`, where the device has some of the multiply-accumulates: the backends, each given by --fallback, that compute the rest.
  std::vector<std::string> fallbacks{};
};

/// What a network is, and which devices run it.
struct NetworkInfo {
  std::string name;
  std::vector<ModelTensor> inputs, outputs;  ///< without values
  Occurrences operations;                    ///< by their kind
  std::int64_t operation_count = 0, multiply_accumulates = 0;
  std::int64_t constants = 0, constant_bytes = 0;  ///< values of the file: weights, biases, tables
  std::vector<DeviceFit> devices;
};

/// Throws Error where a network does not fit into memory (require_budget).
[[nodiscard]] NetworkInfo network_info(const Model& model, const Devices& devices);

/// At most 100 columns, but for names.
[[nodiscard]] std::string to_text(const NetworkInfo& info);
[[nodiscard]] std::string to_json(const NetworkInfo& info);

}  // namespace lastbit
