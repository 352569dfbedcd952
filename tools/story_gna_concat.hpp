// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The GNA story: a concat before a convolution, and what happens when the memory between them is read in another order.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "lastbit/registry.hpp"
#include "lastbit/tensor.hpp"

namespace lastbit::tool::gna_concat {

/// Three times [2, 255] joined to [6, 255], then a convolution of 3 taps and stride 2: in float, or in integers that are value * factor.
struct Network {
  Tensor input;    ///< [1, 2, 255]
  Tensor weights;  ///< [4, 6, 3]
  Tensor bias;     ///< [4]
  double input_factor = 1, output_factor = 1;
};

/// Input uniform in [0, 1), weights and bias in +-1/sqrt(18), as PyTorch draws them.
[[nodiscard]] Network random_network(std::uint64_t seed);

/// What the convolution finds in memory: [time][channel], as it reads, or [channel][time], as the joined inputs lie there; permuted: these
/// with a transposition in between, which undoes the wrong order.
enum class Memory : std::uint8_t { time_major, channel_major, permuted };
enum class Part : std::uint8_t { convolution, concat, whole };

/// By the vendor's rules: half away from zero to int16, the bias to int32, weights 16384/max, bias within 2^30.
[[nodiscard]] Network quantized(const Network& network, double input_factor);

struct Figures {
  std::vector<std::int64_t> integers;  ///< of a convolution [time][filter], of the concat alone [channel][time]
  double cosine = 0, mean_absolute_error = 0;
  std::int64_t saturations = 0;
};
/// One part on a backend, against the float network.
[[nodiscard]] Figures run_part(const Network& network, double input_factor, Part part, Memory memory, const SpecSheet& sheet);

/// The sixteen recorded runs.
struct Recording {
  Network network;
  double input_factor = 1;
  Memory memory = Memory::time_major;
  Figures found;
};
[[nodiscard]] std::vector<Recording> recordings(const std::filesystem::path& folder);

}  // namespace lastbit::tool::gna_concat
