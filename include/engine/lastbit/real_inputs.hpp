// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What becomes of real values that are given for codes: how many lie beyond what codes stand for, and what looks wrong about them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lastbit/backend.hpp"
#include "lastbit/device.hpp"
#include "lastbit/model.hpp"
#include "lastbit/tensor_view.hpp"

namespace lastbit {

/// Real values that were given for codes.
struct RealInput {
  std::string name;
  double least = 0, largest = 0;                ///< of the values
  double lowest = 0, highest = 0;               ///< that codes stand for
  std::int64_t codes_used = 0, codes = 0;       ///< different ones, of so many
  std::int64_t clipped = 0, values = 0;         ///< beyond what codes stand for, of so many
  [[nodiscard]] std::string suspicion() const;  ///< that they are scaled otherwise than the network was trained, or codes; empty: none
  bool whole = false;                           ///< every value is a whole number
};

/// Of the inputs those that are float32 where the model has codes, and the backend makes codes of them.
[[nodiscard]] std::vector<RealInput> real_inputs(const Model& model, const Device& device, std::span<const TensorView> inputs);

/// "input 'image': real values 0 … 1 become 3 of 256 codes, which stand for 0 … 127.5; 0 % lie beyond", and what is suspicious about it, a line each.
[[nodiscard]] std::string text_of(const RealInput& input);

}  // namespace lastbit
