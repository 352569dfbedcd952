// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A benchmark that may be timed only if its path gives the bits of the scalar path.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lastbit/model.hpp"

namespace lastbit::bench {

struct Case {
  std::string name;  ///< <operation>/<backend>/<path>/<shape>
  std::int64_t multiply_adds = 0;
  std::function<Tensor()> run;
  std::function<Tensor()> peer;  ///< another library's way to the same output; may be empty
};

/// Compares every case with the scalar path (and with its peer), then hands them to Google Benchmark. A `main` returns what this returns:
/// not 0 if any output differed.
int run_cases(int argc, char** argv, const std::function<std::vector<Case>()>& make_cases);

/// Multiply-adds of the convolutions and matrix products of a model, for one sample.
[[nodiscard]] std::int64_t multiply_adds_of(const Model& model);

}  // namespace lastbit::bench
