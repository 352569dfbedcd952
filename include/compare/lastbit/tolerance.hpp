// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a user lets pass where values differ, and the verdict on a comparison. Nothing else in lastbit compares with a tolerance.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lastbit/compare.hpp"

namespace lastbit {

/// Every limit that is given must be kept. max_lsb says nothing of tensors that are compared as real values; where no limit says anything,
/// no difference is allowed.
struct Tolerance {
  std::optional<std::int64_t> max_lsb;
  std::optional<double> max_share;  ///< of the values, that differ: 0 to 1
  std::optional<double> min_cosine;
  [[nodiscard]] bool given() const { return max_lsb || max_share || min_cosine; }
};

/// A tolerance for everything, and others for layers by name.
struct Tolerances {
  /// The tolerance of the layers that a pattern names.
  struct OfLayer {
    std::string layer;  ///< a number, a name, or a pattern with * and ?
    Tolerance tolerance;
  };
  Tolerance all;
  std::vector<OfLayer> layers;
  [[nodiscard]] bool given() const { return all.given() || !layers.empty(); }
  /// What holds for a layer: of its number or name, else of the longest pattern that fits it; what that leaves out is as for all.
  [[nodiscard]] Tolerance of(const std::optional<std::size_t>& number, std::string_view name) const;
};

/// {"default": {"max_lsb": 1, "max_share": "0.1%", "min_cosine": 0.999}, "layers": {"conv1": {…}, "*Softmax": {…}}}. Throws Error.
[[nodiscard]] Tolerances read_tolerances(const std::filesystem::path& file);
/// "0.1%" or "0.001". Throws Error(bad_input, where).
[[nodiscard]] double share_from(const std::string& text, const std::string& where);

/// A layer, or what else a tolerance may be stated for: without a number it is called by its name alone.
struct NamedLayer {
  std::optional<std::size_t> number;
  std::string_view name;
};
/// Throws Error(bad_input) where tolerances are stated for layers that are none of these, all of them at once, each with the nearest names.
void require_layers(const Tolerances& tolerances, std::span<const NamedLayer> layers);

/// What exceeds the tolerance, or nothing.
[[nodiscard]] std::string excess(const TensorDifference& difference, const Tolerance& tolerance);

/// Which tensors are beyond their tolerance.
struct ToleranceVerdict {
  /// A tensor beyond its tolerance, and in what.
  struct Outside {
    std::optional<std::size_t> number;
    std::string name;
    std::string reason;
  };
  std::vector<Outside> outside;
  std::int64_t within = 0;  ///< tensors that differ, and are allowed to
};

/// Of the accumulated differences. Throws Error as require_layers() does.
[[nodiscard]] ToleranceVerdict judge(const CompareReport& report, const Tolerances& tolerances);

}  // namespace lastbit
