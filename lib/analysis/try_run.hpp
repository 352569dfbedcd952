// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A run on a backend that may not be able to do it: one that is tried, and not the user's.
#pragma once

#include <optional>
#include <span>

#include "lastbit/emulator.hpp"
#include "lastbit/memory.hpp"

namespace lastbit {

/// Nothing where the backend has no arithmetic for the model, or none for these inputs (a sum that its output does not hold). Throws Error for
/// inputs that are not the model's, and where memory is refused.
[[nodiscard]] inline std::optional<Trace> try_run(const Model& model, const Backend& backend, std::span<const Tensor> inputs,
                                                  const RunOptions& options = {}) {
  std::optional<Emulator> emulator;
  try {
    emulator.emplace(model, backend);
    return emulator->run(inputs, options);
  } catch (const MemoryRefused&) {
    throw;
  } catch (const Error& error) {
    if (emulator && error.diagnostics().front().code != ErrorCode::unsupported_operation) throw;
    return std::nullopt;
  }
}

}  // namespace lastbit
