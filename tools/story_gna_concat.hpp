// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The GNA story: a concat before a convolution, and what happens when the memory between them is read in another order.
#pragma once

#include <filesystem>
#include <vector>

#include "lastbit/registry.hpp"
#include "lastbit/tensor.hpp"

namespace lastbit::tool::gna_concat {

/// Three times [2, 255] joined to [6, 255], then a convolution of 3 taps and stride 2: in float, or in integers that are value * factor.
struct ConcatNetwork {
  Tensor input;    ///< [1, 2, 255]
  Tensor weights;  ///< [4, 6, 3]
  Tensor bias;     ///< [4]
  double input_factor = 1, output_factor = 1;
};
/// Input uniform in [0, 1), weights and bias in +-1/sqrt(18), as PyTorch draws them.
[[nodiscard]] ConcatNetwork random_network(std::uint64_t seed);
/// By the vendor's rules: half away from zero to int16, the bias to int32, weights 16384/max, bias within 2^30.
[[nodiscard]] ConcatNetwork quantized(const ConcatNetwork& network, double input_factor);

/// What the convolution finds in memory: [time][channel], as it reads and as a transposition of the joined inputs puts it there; or
/// [channel][time], as these lie there.
enum class Memory : std::uint8_t { time_major, channel_major };
enum class Part : std::uint8_t { convolution, concat, whole };

struct Figures {
  std::vector<std::int64_t> integers;  ///< of a convolution [time][filter], of the concat alone [channel][time]
  double cosine = 0, mean_absolute_error = 0;
  std::int64_t saturations = 0;
};
/// One part on a backend, against the float network.
[[nodiscard]] Figures run_part(const ConcatNetwork& network, double input_factor, Part part, Memory memory, const SpecSheet& sheet);

/// The sixteen recorded runs, computed again; the distance is to the recorded cosine and mean error.
struct RecordedRuns {
  std::int64_t runs = 0, equal_runs = 0, values = 0, equal_values = 0;
  double largest_distance = 0;
};
[[nodiscard]] RecordedRuns recorded_runs(const std::filesystem::path& folder, const SpecSheet& sheet);

}  // namespace lastbit::tool::gna_concat
