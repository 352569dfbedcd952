// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Loops over the registers of a block have constant bounds and must vanish, so that what they index stays in registers.
#pragma once

#if defined(__clang__)
#define LASTBIT_UNROLL _Pragma("clang loop unroll(full)")
#else
#define LASTBIT_UNROLL _Pragma("GCC unroll 32")
#endif
