// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a device computes of one layer, on arrays: header-only, the standard library alone.
//
//   auto y = conv2d<vipnano_v8>(x, w, bias, {.scale = 0.0352, .stride = 2, .padding = same});   // a constant: unrolled, and in static_assert
//   auto y = conv2d(device, x, w, bias, {…});                                                 // any Backend, known when the program runs
//
// x and w are views of the caller's memory (core/arrays.hpp), y is an array of its own. Compile with -ffp-contract=off, as lastbit::core does: which
// float operations a device fuses is its own rule.
#pragma once

#include "lastbit/core/devices.hpp"
#include "lastbit/core/elementwise.hpp"
#include "lastbit/core/float16.hpp"
#include "lastbit/core/functions.hpp"
#include "lastbit/core/golden.hpp"
#include "lastbit/core/pools.hpp"
#include "lastbit/core/products.hpp"
