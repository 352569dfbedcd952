// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Devices that a walk has left, over every code, pair of codes or sum that the layers can have: those that compute the same of all of them are one device
// on these layers, whatever the input; of the others it is known where they differ.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/identify/deadline.hpp"
#include "analysis/identify/device_list.hpp"
#include "analysis/identify/walk_cases.hpp"
#include "lastbit/identify.hpp"

namespace lastbit {

[[nodiscard]] DeviceList list_of(std::vector<Backend> devices);

/// A case at which two parts differ.
struct TellingCase {
  std::size_t layer = 0;  ///< position among those given
  CasePlace place;
  std::int64_t a = 0, b = 0;          ///< what two devices make of it
  std::size_t first = 0, second = 0;  ///< these
};

struct PartedDevices {
  std::vector<std::vector<std::size_t>> parts;  ///< devices that are one on these layers; different parts differ
  std::string over;                             ///< "every code": what was gone through; empty: nothing
  std::int64_t open = 0;                        ///< devices that are in none of them
  std::string why_open;                         ///< of most of them
  std::vector<TellingCase> telling;             ///< at most most_telling
  std::vector<LayerCases> cases;                ///< of each layer

  static constexpr std::size_t most_telling = 4096;
  [[nodiscard]] bool is_one() const { return parts.size() == 1 && open == 0; }
};

/// A layer on an executor costs more than the end of a chain: of as many outputs as a proof may compute, the part that is computed here.
inline constexpr std::int64_t executor_cost = 16;

/// `devices` compute the same on the data of the layers. What is not decided at the deadline, or by so many outputs (of a sum, codes that it adds up), is open.
[[nodiscard]] PartedDevices parted(const DeviceList& devices, std::span<const IdentifyPair* const> layers, const Deadline& deadline = {},
                                   std::int64_t most_outputs = IdentifyOptions{}.most_proof_outputs / executor_cost);

/// "codes 5 and -7: 3 against 4 (add.i8.output.chain.2.rounding half_up against half_away)"
[[nodiscard]] std::string example_of(const TellingCase& one, const PartedDevices& parts, const DeviceList& devices);

/// An input of a layer as it is on which two devices differ, run on both.
struct ShownInput {
  std::vector<Tensor> inputs;
  std::int64_t index = 0;  ///< of an output
  std::int64_t a = 0, b = 0;
};
/// Nothing where no case of the layer, as far as they are gone through, tells the devices apart, or where there is no room for it.
[[nodiscard]] std::optional<ShownInput> shown_between(const Backend& a, const Backend& b, const IdentifyPair& layer);

}  // namespace lastbit
