// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The first images of the digits example: all 360 decide no more, and take long where a test judges many dumps.
#pragma once

#include <algorithm>

#include "lastbit/io/npy.hpp"
#include "support/paths.hpp"

namespace lastbit::test {

/// int8 [count,1,8,8,1]: pixel - 128.
inline Tensor digit_images(std::int64_t count) {
  const Tensor all = read_npy(source_directory() / "examples/digits/test_images.npy");
  Tensor some(all.type(), {count, 1, 8, 8, 1});
  std::copy_n(all.bytes().begin(), some.bytes().size(), some.bytes().begin());
  return some;
}

}  // namespace lastbit::test
