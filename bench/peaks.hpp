// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What this machine can do at most on one thread, measured as cases of their own: multiply-adds per second of the widest dot product
// instructions (left out where it has none), bytes per second that a copy within the second-level cache reads and writes.
#pragma once

namespace lastbit::bench::peak {

inline constexpr const char* byte_dot_product = "peak/byte_dot_product";
inline constexpr const char* word_dot_product = "peak/word_dot_product";
inline constexpr const char* cache_copy = "peak/cache_copy";

}  // namespace lastbit::bench::peak
