// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The figures of the BPU story: an exponential by an 8-bit table, and a global average pool behind a coarse input scale. Every figure is
// computed by running a layer on the backend.
#pragma once

#include <cstdint>
#include <string_view>

#include "lastbit/backend.hpp"
#include "lastbit/tensor.hpp"

namespace lastbit::tool::bpu_pool_exp {

/// exp as the int8 table that a calibration maximum of x gives: scales x_max / 127 and exp(x_max) / 127.
struct ExpFigures {
  double output_scale = 0;
  double first_answer = 0;          ///< the smallest x whose table entry is not 0
  std::int64_t zero_entries = 0;    ///< of 256
  std::int64_t typical_levels = 0;  ///< distinct outputs for every input code between 0.2 and 2.9
  std::int64_t levels = 0;          ///< distinct outputs for the sample
  double cosine = 0;                ///< of the sample's outputs with exp in float
  double cosine_on_cpu = 0;         ///< of exp in float of the same int8 inputs
};
/// 1000 values around 1.55 with deviation 0.58: 98 % of them lie between 0.2 and 2.9.
[[nodiscard]] Tensor exp_sample(std::uint64_t seed);
[[nodiscard]] ExpFigures exp_figures(const Backend& backend, double largest_input, const Tensor& sample);

struct PoolFigures {
  double input_only = 0;    ///< cosine with the float pool: int8 input, averaged in float
  double own_scale = 0;     ///< int8 input, the backend's pool, output scale of its own
  double input_scale = 0;   ///< the same, output on the input's scale
  std::int64_t levels = 0;  ///< distinct outputs on the input's scale
  double step = 0;          ///< of the input
};
/// Of seeds 1 to 1500 the one whose figures lie nearest to those of the analysis, 0.894, 0.893 and 0.839.
inline constexpr std::uint64_t nearest_seed = 1067;
/// An image of 25x25 pixels and 96 channels: the mean of each channel is normal around `centre` with deviation 0.5, its values scatter around
/// it by `noise`; one value is 127.
[[nodiscard]] Tensor pool_sample(std::uint64_t seed, double centre = 0, double noise = 0.075);
/// `threshold`: of the input's calibration; 0: its largest magnitude.
[[nodiscard]] PoolFigures pool_figures(const Backend& backend, const Tensor& sample, double threshold = 0);

/// The backend with every rounding of exp and the global pool that a tie or a shift may take replaced by `rounding`.
[[nodiscard]] Backend rounded_by(std::string_view rounding);

}  // namespace lastbit::tool::bpu_pool_exp
