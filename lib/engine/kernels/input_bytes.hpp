// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Codes of 8 bits as products of bytes read them: `flip` turns the sign bit of those that have one. The text is input_bytes.inc.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lastbit::kernels {

/// to[i] = from[i] ^ flip
using FlipBytes = void (*)(const std::uint8_t* from, std::size_t count, std::uint8_t flip, std::uint8_t* to);

/// Codes of some rows side by side, column by column: to[4 i + j] = rows[j][i] ^ flip for the channels of a column, and flip alone where there is no
/// row j. Columns are written in whole vectors; what stands behind the channels counts for nothing.
struct RowsOfBytes {
  const std::uint8_t* rows[4] = {};  ///< the first `row_count`, at least one
  std::size_t row_count = 0;
  std::size_t columns = 0, channels = 0;
  std::size_t readable = 0;  ///< bytes of every row, which may be more than its columns have
};
using InterleaveBytes = void (*)(const RowsOfBytes& rows, std::uint8_t flip, std::uint8_t* to);

struct InputKernels {
  FlipBytes flip;
  InterleaveBytes interleave;
};

#if defined(__x86_64__)
namespace avxvnni {
extern const InputKernels input;
}
namespace avx512vnni {
extern const InputKernels input;
}
#endif

}  // namespace lastbit::kernels
