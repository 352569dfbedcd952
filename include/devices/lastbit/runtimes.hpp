// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which backend computes what a runtime computes on a CPU: by its name, version, processor and way of running.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lastbit/chips.hpp"

namespace lastbit {

/// Both ends belong to it; an empty end is open. As many numbers are compared as both have: 2.13.1 lies in "up to 2.13".
struct VersionRange {
  std::string_view from;
  std::string_view to;
  [[nodiscard]] bool contains(std::string_view version) const;
  /// "2.5 to 2.13", "1.2 and later", "up to 2.4", or "every version".
  [[nodiscard]] std::string text() const;
};

enum class Nearness { equal, nearest, none };

/// A group of operators in one case.
struct RuntimeRow {
  std::string_view operators;
  Nearness fit;
  std::string_view backend;   ///< equal: what computes it; nearest and none: what comes nearest
  std::string_view settings;  ///< rules to set in it: "RULE=VALUE RULE=VALUE"
  std::string_view why;       ///< empty: its sheet says so
  /// Of nearest and none: the open points of the backend's sheet that say how it differs (OpenPoint).
  std::string_view open = {};
  std::string_view program = {};
};

/// Why a row fits, or what its backend's sheet says of the difference.
[[nodiscard]] std::string why(const RuntimeRow& row);

/// A runtime on a kind of processor, built and asked in one way.
struct RuntimeCase {
  std::string_view runtime;           ///< as it is written: "TensorFlow Lite"
  VersionRange versions;              ///< in which the case exists
  std::optional<VersionRange> usual;  ///< in which it is what a user gets who asks for nothing
  std::string_view machine;           ///< "64-bit Arm"
  std::string_view way;               ///< "built-in kernels, matrix products by ruy"
  std::string_view words;             ///< all words of a question that it fits
  std::span<const RuntimeRow> rows;
  std::string_view open;    ///< what is not certain
  std::string_view source;  ///< what was read or run
};

/// All that is known, each runtime's cases together, the likelier first.
[[nodiscard]] std::span<const RuntimeCase> runtime_cases();

/// What a question like "tflite 2.9 aarch64" names.
struct RuntimeAnswer {
  std::vector<Chip> chips;                ///< that the question names
  std::vector<const RuntimeCase*> cases;  ///< that fit, best first
};

/// The answer to a question such as "tflite 2.9 aarch64" or "imx8mp"; neither case nor order of the words matters, and without a version every
/// version fits. Throws Error for a word that is not known (with the nearest), a version of nothing, and where nothing fits.
[[nodiscard]] RuntimeAnswer runtimes_for(std::string_view question);

/// Whether a word names a runtime, such as "tflite", which is no backend's name.
[[nodiscard]] bool is_runtime(std::string_view word);

/// docs/which-backend.md, in Markdown.
[[nodiscard]] std::string runtimes_page();

}  // namespace lastbit
