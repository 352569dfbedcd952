// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// From a case to its result: compared first, then timed.
#pragma once

#include <string>

#include "case.hpp"
#include "report.hpp"

namespace lastbit::bench {

/// Throws std::runtime_error where our output differs from the scalar path's or from a peer's of the same arithmetic, Error where the backend
/// cannot do it.
[[nodiscard]] Result measure(const Case& one, const Peaks& peaks, double budget);

/// Seconds of one run of the named peer: what a process of its own prints (measured by `measure` where a peer has an environment).
[[nodiscard]] double seconds_of_peer(const Case& one, const std::string& peer, double budget);

}  // namespace lastbit::bench
