// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What each generation of GNA can hold, as data. Source: Intel GNA library 3.0 and OpenVINO's GNA plugin, read (docs/backends/gna.md).
#pragma once

#include <cstdint>

#include "lastbit/model.hpp"

namespace lastbit::gna {

struct Range {
  std::int64_t least = 1, most = 1, multiple = 1;
};

struct Limits {
  const char* generation;
  Range dense_inputs;       ///< columns of an affine layer's weights, filled up with zeros to the multiple
  std::int64_t dense_rows;  ///< vectors in one affine layer
  Range line_filters;       ///< of a one-dimensional convolution
  Range line_coefficients;  ///< of one of its filters, filled up with zeros to the multiple
  Range line_pool;          ///< window and step
  bool two_dimensional;     ///< whether there is a two-dimensional convolution; what follows is its
  Range height, width, channels, filters, kernel, pool;
  PartialWindows pool_windows;  ///< what a pool does at the end of the image
  bool flat_ends;               ///< tables in convolutions get flat segments where 16 bits end
};

inline constexpr Limits gna2_limits{.generation = "GNA 1.0 to 2.0",
                                    .dense_inputs = {1, 65528, 8},
                                    .dense_rows = 8,
                                    .line_filters = {4, 65532, 4},
                                    .line_coefficients = {8, 768, 8},
                                    .line_pool = {1, 6, 1},
                                    .two_dimensional = false,
                                    .height = {},
                                    .width = {},
                                    .channels = {},
                                    .filters = {},
                                    .kernel = {},
                                    .pool = {},
                                    .pool_windows = PartialWindows::every_start,
                                    .flat_ends = false};

inline constexpr Limits gna3_0_limits{.generation = "GNA 3.0",
                                      .dense_inputs = {1, 65528, 8},
                                      .dense_rows = 8,
                                      .line_filters = {4, 65532, 4},
                                      .line_coefficients = {8, 768, 8},
                                      .line_pool = {1, 6, 1},
                                      .two_dimensional = true,
                                      .height = {16, 384, 1},
                                      .width = {16, 240, 1},
                                      .channels = {8, 384, 8},
                                      .filters = {8, 1024, 8},
                                      .kernel = {1, 7, 1},
                                      .pool = {1, 3, 1},
                                      .pool_windows = PartialWindows::last_truncated,
                                      .flat_ends = true};

inline constexpr Limits gna3_1_limits{.generation = "GNA 3.1",
                                      .dense_inputs = {1, 65528, 8},
                                      .dense_rows = 8,
                                      .line_filters = {4, 65532, 4},
                                      .line_coefficients = {8, 768, 8},
                                      .line_pool = {1, 6, 1},
                                      .two_dimensional = true,
                                      .height = {1, 65535, 1},
                                      .width = {1, 65535, 1},
                                      .channels = {1, 2048, 1},
                                      .filters = {1, 1024, 1},
                                      .kernel = {1, 255, 1},
                                      .pool = {1, 255, 1},
                                      .pool_windows = PartialWindows::last_truncated,
                                      .flat_ends = true};

}  // namespace lastbit::gna
