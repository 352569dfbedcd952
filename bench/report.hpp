// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a run of the benchmarks found, as a table and as JSON.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "case.hpp"
#include "peaks.hpp"

namespace lastbit::bench {

struct PeerResult {
  std::string name;
  double value = 0;
  double ratio = 0;  ///< our speed in terms of its speed; of memory: its need in terms of ours
};

struct Result {
  std::string name;
  Unit unit = Unit::multiply_adds;
  double value = 0;       ///< in the unit: 10^9 per second, milliseconds, or megabytes
  double roof_share = 0;  ///< 0: there is no roof
  std::vector<PeerResult> peers;
};

/// A time in the case's unit.
[[nodiscard]] double in_unit(Unit unit, double work, double seconds);
[[nodiscard]] const char* name_of(Unit unit);

void print_machine(const Peaks& peaks);
void print_header();
void print(const Result& result);
/// Throws Error(unreadable_file).
void write_json(const std::string& file, const Peaks& peaks, const std::vector<Result>& results);

}  // namespace lastbit::bench
