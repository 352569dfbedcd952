// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Devices beside the built-in ones: one rule of a sheet with another value. Most of them are in no space of combinations.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analysis/identify/conv_search.hpp"
#include "analysis/identify/deadline.hpp"
#include "lastbit/identify.hpp"

namespace lastbit {

/// A built-in device's way to compute a layer of products, as it is or with one rule changed.
struct ConvNeighbour {
  ConvArithmetic arithmetic;
  std::string name;  ///< "tflite_single", "tflite_single with output.scale.significant_bits 31 -> 13"
  bool is_built_in = false;
};

/// Those that compute every value of the data, the built-in ones first. Left out is what a stage is, how many there are, what an exponent may
/// be, and what the space's sums do not have (another centring, cross terms). After the deadline only the built-in ones are tried.
[[nodiscard]] std::vector<ConvNeighbour> explaining_neighbours(const Model& layer, const SpaceScope& scope, std::span<const ConvData> data,
                                                               const Deadline& deadline = {});

/// The space with their sums and chains. Returns one combination for each of them that was not in it.
std::vector<Block> extend(ConvSpace& space, std::span<const ConvNeighbour> neighbours, const SpaceScope& scope);

}  // namespace lastbit
