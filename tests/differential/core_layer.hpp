// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A model of one operation as a call of lastbit/core.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "lastbit/backend.hpp"
#include "lastbit/model.hpp"

namespace lastbit::test {

/// Why no call of the core says a layer.
enum class Unsaid : std::uint8_t {
  nothing,     ///< a call does
  operations,  ///< several operations
  kind,        ///< an operation that the core has no call for
  real,        ///< the golden float path, which has no codes
  shape,       ///< axes that the call does not take
  scales,      ///< no scale, or several scales or zero points where a call takes one
  bounds,      ///< clamps, registers or segments that the layer states
  types,       ///< types that the call does not take
  attributes,  ///< what the layer states beyond the call's arguments
  not_made     ///< constants: a device or types that the test compiles no code for
};
[[nodiscard]] constexpr std::string_view text_of(Unsaid why) {
  switch (why) {
    case Unsaid::nothing: return "said";
    case Unsaid::operations: return "several operations";
    case Unsaid::kind: return "an operation without a call";
    case Unsaid::real: return "the float path";
    case Unsaid::shape: return "axes that the call does not take";
    case Unsaid::scales: return "no scale, or several where the call takes one";
    case Unsaid::bounds: return "clamps, registers or segments of the layer";
    case Unsaid::types: return "types that the call does not take";
    case Unsaid::attributes: return "attributes beyond the call's";
    case Unsaid::not_made: return "no code of this constant for the types";
  }
  return "";
}

struct CoreOutcome {
  std::optional<Tensor> tensor;  ///< what the core computes
  Unsaid why = Unsaid::nothing;
};

/// On a device that is given. Throws Error where the call refuses the layer.
[[nodiscard]] CoreOutcome by_core(const Model& model, const Backend& backend, std::span<const Tensor> inputs);

/// The same by the form whose device is a constant: the built-in one of that name.
[[nodiscard]] CoreOutcome by_constant(const Model& model, std::string_view device, std::span<const Tensor> inputs);

}  // namespace lastbit::test
