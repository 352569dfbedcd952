// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/conv_weights.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "lastbit/arith/overflow.hpp"

namespace lastbit {
namespace {

using kernels::group_bytes;

std::int16_t in_form(std::int16_t weight, BandForm form) {
  if (form != BandForm::magnitudes) return weight;
  return static_cast<std::int16_t>(std::min(std::abs(std::int32_t{weight}), 32767));
}

/// Calls visit(position in the packed weights, in values; weight index) for every weight.
template <class Visit>
void each_packed(const ConvGeometry& geometry, const PackedWeights& packed, std::size_t values_per_group, std::size_t lanes,
                 Visit&& visit) {
  const ConvShape& s = geometry.shape;
  const auto taps = static_cast<std::size_t>(s.taps());
  const auto kernel_width = static_cast<std::size_t>(s.kernel_width), kernel_height = static_cast<std::size_t>(s.kernel_height);
  const std::size_t run_values = packed.groups * lanes * values_per_group, vector_values = packed.runs.runs.size() * run_values;
  for (std::size_t o = 0; o < static_cast<std::size_t>(s.out_channels); ++o) {
    const std::size_t group = o / packed.group_channels, within = o % packed.group_channels;
    const std::size_t vector = group * packed.group_vectors + within / lanes, lane = within % lanes;
    for (std::size_t r = 0; r < packed.runs.runs.size(); ++r) {
      const std::size_t first = vector * vector_values + r * run_values;
      if (packed.runs.depthwise) {
        const auto run = packed.runs.runs[r];
        for (std::size_t j = 0; j < values_per_group; ++j) {
          const std::size_t ky = static_cast<std::size_t>(run.ky) * values_per_group + j;
          if (ky < kernel_height)
            visit(first + lane * values_per_group + j, o * taps + ky * kernel_width + static_cast<std::size_t>(run.kx));
        }
        continue;
      }
      const std::size_t length = packed.runs.length, weight = o * taps + r * length;
      std::size_t at = first + lane * values_per_group;
      for (std::size_t i = 0; i < length; i += values_per_group, at += lanes * values_per_group)
        for (std::size_t j = 0; j < std::min(values_per_group, length - i); ++j) visit(at + j, weight + i + j);
    }
  }
}

}  // namespace

ConvRuns conv_runs(const ConvGeometry& geometry, BandForm form, bool by_position) {
  const ConvShape& s = geometry.shape;
  ConvRuns out;
  out.depthwise = is_depthwise(s);
  const auto together = static_cast<std::int64_t>(group_bytes / bytes_of(form));
  const bool whole_rows = !out.depthwise && s.groups == 1 && s.dilation_width == 1 && !by_position;
  const std::int64_t rows = out.depthwise ? (s.kernel_height + together - 1) / together : s.kernel_height;
  for (std::int64_t ky = 0; ky < rows; ++ky) {
    for (std::int64_t kx = 0; kx < (whole_rows ? 1 : s.kernel_width); ++kx) out.runs.push_back({ky, kx});
  }
  out.length = static_cast<std::size_t>(out.depthwise ? together : s.group_channels() * (whole_rows ? s.kernel_width : 1));
  return out;
}

namespace {

/// Room for the weights, groups of `per_group` values in vectors of `lanes` channels.
PackedWeights room_for(const ConvGeometry& geometry, ConvRuns runs, std::size_t per_group, std::size_t lanes, std::size_t value_bytes) {
  const ConvShape& s = geometry.shape;
  PackedWeights packed;
  packed.runs = std::move(runs);
  packed.lanes = lanes;
  packed.groups = (packed.runs.length + per_group - 1) / per_group;
  packed.conv_groups = packed.runs.depthwise ? 1 : static_cast<std::size_t>(s.groups);
  packed.group_channels = static_cast<std::size_t>(s.out_channels) / packed.conv_groups;
  packed.group_vectors = (packed.group_channels + lanes - 1) / lanes;
  packed.vector_bytes = packed.runs.runs.size() * packed.groups * lanes * per_group * value_bytes;
  packed.bytes.resize(packed.conv_groups * packed.group_vectors * packed.vector_bytes);
  return packed;
}

void put_bytes(const ConvGeometry& geometry, std::span<const std::int16_t> weights, std::size_t per_group, PackedWeights& packed) {
  auto* const to = reinterpret_cast<std::int8_t*>(packed.bytes.data());
  each_packed(geometry, packed, per_group, packed.lanes,
              [&](std::size_t at, std::size_t w) { to[at] = static_cast<std::int8_t>(weights[w]); });
}

}  // namespace

PackedWeights pack_weights(const ConvGeometry& geometry, std::span<const std::int16_t> weights, BandForm form, std::size_t lanes) {
  const std::size_t per_group = group_bytes / bytes_of(form);
  PackedWeights packed = room_for(geometry, conv_runs(geometry, form), per_group, lanes, bytes_of(form));
  if (form == BandForm::unsigned_bytes) {
    put_bytes(geometry, weights, per_group, packed);
  } else {
    auto* const to = reinterpret_cast<std::int16_t*>(packed.bytes.data());
    each_packed(geometry, packed, per_group, lanes, [&](std::size_t at, std::size_t w) { to[at] = in_form(weights[w], form); });
  }
  return packed;
}

PackedWeights pack_pairs(const ConvGeometry& geometry, std::span<const std::int16_t> weights, std::size_t lanes, bool emptied) {
  const bool by_position = emptied || geometry.shape.group_channels() % 2 != 0;
  const std::size_t per_group = emptied ? 2 : group_bytes;
  PackedWeights packed = room_for(geometry, conv_runs(geometry, BandForm::codes, by_position), per_group, emptied ? 2 * lanes : lanes,
                                  bytes_of(BandForm::codes));
  put_bytes(geometry, weights, per_group, packed);
  return packed;
}

PackedLines pack_lines(const PackedWeights& packed, const ChannelLines& lines) {
  const auto spread = [&](const std::vector<float>& values, float beside) {
    const std::size_t channels = packed.conv_groups * packed.group_channels;
    return spread_channels<float>(packed, values.size() == 1 ? std::vector<float>(channels, values[0]) : values, beside);
  };
  return {spread(lines.slope, 0), spread(lines.above, 1), spread(lines.below, 1), lines.fraction_bits,
          lines.by_sign(),        lines.smallest,         lines.largest};
}

WeightSums::WeightSums(std::span<const std::int16_t> weights, std::size_t channels)
    : positive_(channels), negative_(channels), least_(channels) {
  const std::size_t taps = weights.size() / channels;
  constexpr std::size_t chunk = 32768;  // of which 32 bits hold the sums
  for (std::size_t o = 0; o < channels; ++o) {
    for (std::size_t first = 0; first < taps; first += chunk) {
      std::int32_t positive = 0, all = 0, least = 0;
      for (const std::int16_t weight : weights.subspan(o * taps + first, std::min(chunk, taps - first))) {
        positive += std::max<std::int16_t>(weight, 0);
        all += weight;
        least += weight == std::numeric_limits<std::int16_t>::min() ? 1 : 0;
      }
      positive_[o] += positive;
      negative_[o] += positive - all;
      least_[o] += least;
    }
  }
}

SumBounds WeightSums::bounds(std::size_t channel, const IntegerRange& range, std::int64_t multiplier) const {
  const Int128 up = std::max<std::int64_t>(range.max, 0), down = std::max<std::int64_t>(-range.min, 0);
  const Int128 plus = positive_[channel], minus = negative_[channel];
  return {-(plus * down + minus * up) * multiplier, (plus * up + minus * down) * multiplier};
}

std::vector<std::size_t> sum_cuts(const ConvGeometry& geometry, std::span<const std::int16_t> weights, const PackedWeights& packed,
                                  std::int64_t largest_input) {
  const std::int64_t most = largest_input == 0 ? max_of_width(62) : max_of_width(32) / largest_input;
  const auto channels = static_cast<std::size_t>(geometry.shape.out_channels);
  const std::size_t groups = packed.runs.runs.size() * packed.groups, values = group_bytes / 2;
  std::vector<std::int64_t> magnitudes(groups * channels);  // of every group, for every channel
  each_packed(geometry, {packed.runs, packed.groups, {}, 0, 1, 1, 1, 1}, values, 1, [&](std::size_t at, std::size_t w) {
    magnitudes[at / values % groups * channels + at / values / groups] += std::abs(std::int64_t{weights[w]});
  });
  std::vector<std::size_t> cuts{0};
  std::vector<std::int64_t> sums(channels, 0);
  for (std::size_t g = 0; g < groups; ++g) {
    const std::int64_t* const added = magnitudes.data() + g * channels;
    bool fits = true;
    for (std::size_t o = 0; o < channels; ++o) {
      if (added[o] > most) return {};
      fits = fits && sums[o] + added[o] <= most;
    }
    if (!fits) {
      cuts.push_back(g);
      std::fill(sums.begin(), sums.end(), 0);
    }
    for (std::size_t o = 0; o < channels; ++o) sums[o] += added[o];
  }
  return cuts;
}

}  // namespace lastbit
