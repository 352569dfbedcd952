// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The figures of the GNA story: a concat before a convolution, and what happens when the memory between them is read in another order.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "lastbit/backend.hpp"
#include "lastbit/model.hpp"
#include "story.hpp"

namespace lastbit::tool::gna_concat {

inline constexpr const char* device = "gna2";
inline constexpr std::int64_t channels = 6, times = 255, filters = 4, taps = 3, stride = 2, positions = 127;
inline constexpr std::array<double, 2> scale_factors{1, 2048};

/// The float network: three times [2, 255] joined to [6, 255], then a convolution.
struct Network {
  Tensor input;    ///< [1, 2, 255]
  Tensor weights;  ///< [4, 6, 3]
  Tensor bias;     ///< [4]
};

/// Input uniform in [0, 1), weights and bias in +-1/sqrt(18), as PyTorch draws them.
[[nodiscard]] Network random_network(std::uint64_t seed);

/// What the convolution finds in memory: [time][channel], as it reads, or [channel][time], as the joined inputs lie there; permuted: these
/// with a transposition in between, which undoes the wrong order.
enum class Memory : std::uint8_t { time_major, channel_major, permuted };
enum class Part : std::uint8_t { convolution, concat, whole };

/// Quantised by the vendor's rules: integers = half away from zero of value * factor, weights 16384/max, bias within 2^30.
struct Quantized {
  double input_factor = 1, output_factor = 1;
  Tensor input;    ///< int16 [1, 2, 255]
  Tensor weights;  ///< int16 [4, 1, 3, 6]
  Tensor bias;     ///< int32 [4]
};
[[nodiscard]] Quantized quantized(const Network& network, double input_factor);

struct Figures {
  std::vector<std::int64_t> integers;  ///< of a convolution [time][filter], of the concat alone [channel][time]
  double cosine = 0;
  double mean_absolute_error = 0;
  std::int64_t saturations = 0;
};
/// One part on a backend, against the float network in double.
[[nodiscard]] Figures run_part(const Network& network, double input_factor, Part part, Memory memory, const SpecSheet& sheet);

/// The sixteen recorded runs.
struct Recording {
  Network network;
  double input_factor = 1;
  Memory memory = Memory::time_major;
  std::vector<std::int64_t> integers;  ///< [time][filter]
  double cosine = 0, mean_absolute_error = 0;
};
[[nodiscard]] std::vector<Recording> recordings(const std::filesystem::path& folder);

/// Every net, scale factor and memory order over so many random networks.
struct Row {
  Part part = Part::whole;
  double input_factor = 1;
  Memory memory = Memory::time_major;
  Spread cosine, mean_absolute_error;
  std::vector<double> cosines;  ///< sorted
};
[[nodiscard]] std::vector<Row> table_over(int networks);

/// Every rule that the convolution reads, set to each of its other values: the best cosine that any of them reaches with the wrong memory.
struct RuleSearch {
  int settings = 0;   ///< values tried
  int changed = 0;    ///< those that change any integer of the right or of the wrong run
  double cosine = 0;  ///< as the device is
  double best = 0;    ///< of all settings
};
[[nodiscard]] RuleSearch search_rules(const Network& network);

}  // namespace lastbit::tool::gna_concat
