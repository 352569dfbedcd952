// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A network of one layer and devices of one operation: what is read beside the fuzzer's bytes is short, and so are seeds.
#pragma once

#include <string>

#include "lastbit/model_builder.hpp"
#include "lastbit/registry.hpp"

namespace lastbit::fuzz {

inline Model one_relu() {
  ModelBuilder builder("one relu");
  const auto x = builder.input({"x", ElementType::int8, {1, 4}, {{0.5}, {0}}});
  return builder.finished({builder.operation(OperationKind::relu, {x}, {"y", ElementType::int8, {1, 4}, {{1}, {0}}})});
}

/// A device that has nothing but relu, and rounds as it is called.
inline SpecSheet relu_alone(const std::string& rounding) {
  return backend_from_json(R"({"format": "lastbit.backend.v1", "name": ")" + rounding +
                               R"(", "rules": {"domain": "integer", "relu": {"by": "in*weight/out", "scale": {"arithmetic": "f64"},
                                   "chain": [{"kind": "float_scale", "rounding": ")" +
                               rounding + R"(", "arithmetic": "f32"}, {"kind": "clamp"}]}}})",
                           "relu_alone");
}

}  // namespace lastbit::fuzz
