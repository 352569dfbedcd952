// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// From a case to its result: compared first, then timed.
#pragma once

#include <optional>
#include <string>

#include "case.hpp"
#include "report.hpp"

namespace lastbit::bench {

/// The fingerprint of the output of every case on the scalar path, nothing where the backend cannot do it (said on stderr). A path is chosen once per process, so this is a process of its own, and it
/// must come before anything has chosen one.
[[nodiscard]] std::vector<std::optional<std::uint64_t>> scalar_fingerprints(const Cases& cases);

/// Throws std::runtime_error where our output differs from the scalar path's or from a peer's of the same arithmetic.
[[nodiscard]] Result measure(const Case& one, std::uint64_t expected, const Peaks& peaks, double budget);

/// Seconds of one run of the named peer: what a process of its own prints (measured by `measure` where a peer has an environment).
[[nodiscard]] double seconds_of_peer(const Case& one, const std::string& peer, double budget);

}  // namespace lastbit::bench
